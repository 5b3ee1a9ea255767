// LSTM, GRU and RNN: the products of all steps with the input at once, then one step after the other: written out where
// they are few, else as a loop of the network.
#include <algorithm>
#include <optional>

#include "operator_table.h"
#include "recurrent_activations.h"

namespace tenon::parsers::onnx {
namespace {

constexpr int64_t kMostWrittenSteps = 64;

// The operands of one direction; all gates of a row behind each other.
struct Direction {
  Term inputProducts;  // [steps, batch, gates * hidden], with the biases that stand outside of activations
  Term recurrence;     // [gates * hidden, hidden]
  std::optional<Term> recurrentBias;  // of a GRU that resets after its product; elsewhere it is in inputProducts
  std::optional<Term> peepholes;      // [3 * hidden]
  std::optional<Term> hidden;         // [batch, hidden]; absent: zeros
  std::optional<Term> cell;
  bool reverse = false;
  std::vector<GateActivation> activations;
};

// What the node says, in the layout of the standard: [steps, batch, ...].
class Recurrent {
 public:
  Recurrent(OnnxNode& node, int64_t gates, std::vector<std::string> defaults)
      : node_(node), gates_(gates), x_(node.term(0)), w_(node.term(1)), r_(node.term(2)) {
    checkRanks();
    batchFirst_ = node.integer("layout", 0) != 0;
    if (batchFirst_) {
      x_ = x_.transpose({1, 0, 2});
    }
    if (x_.dim(0).is(0)) {
      fail(FaultKind::kUnsupportedShape, "the sequence length of X is 0; expected at least one step");
    }
    hidden_ = r_.fixedDim(2, "the hidden size of R");
    checkWeights();
    const float clip = node.real("clip", 0.0f);
    if (node.has("clip") && !(clip > 0)) {
      fail(FaultKind::kInvalidNode, fmt::format("clip = {}; expected more than 0", clip));
    }
    activations_ = readGateActivations(node, std::move(defaults), directions(), clip);
  }

  int64_t directions() const {
    const std::string text = node_.choice("direction", "forward", {"forward", "reverse", "bidirectional"});
    return text == "bidirectional" ? 2 : 1;
  }
  ParsedExtent steps() const { return x_.dim(0); }
  bool isWritten() const { return steps().known() && steps().value <= kMostWrittenSteps; }
  int64_t hiddenSize() const { return hidden_; }

  // biasOutside: of the last gate, whose recurrent bias is multiplied with another gate (GRU).
  Direction direction(int64_t index, bool biasOutside) const {
    const Term w = w_.at(0, index);
    const ParsedExtents in = x_.dims();
    const int64_t width = gates_ * hidden_;
    Term products = x_.reshape({ParsedExtent::of(-1), in[2]}).multiply(w, false, true);
    products = products.reshape({in[0], in[1], ParsedExtent::of(width)});
    Direction result{products, r_.at(0, index), {}, {}, {}, {}, index == 1, {}};
    result.reverse = index == 1 || node_.text("direction", "forward") == "reverse";
    if (node_.hasInput(3)) {
      const Term bias = node_.term(3).at(0, index);
      const Term recurrent = bias.slice(0, width, width);
      if (biasOutside) {
        result.recurrentBias = recurrent;
        result.inputProducts = products + bias.slice(0, 0, width);
      } else {
        result.inputProducts = products + (bias.slice(0, 0, width) + recurrent);
      }
    }
    result.hidden = initial(5, index);
    result.activations.assign(
        activations_.begin() + index * static_cast<int64_t>(activations_.size()) / directions(),
        activations_.begin() + (index + 1) * static_cast<int64_t>(activations_.size()) / directions());
    return result;
  }

  // [batch, hidden] of one direction; nothing where the state begins at zero.
  std::optional<Term> initial(size_t input, int64_t index) const {
    if (!node_.hasInput(input)) {
      return std::nullopt;
    }
    return node_.term(input).at(batchFirst_ ? 1 : 0, index);
  }

  Term zeros() const {
    const Term zero(node_.writer(), node_.writer().scalar(x_.type(), 0, 2));
    return zero.expand({x_.dim(1), ParsedExtent::of(hidden_)});
  }

  // Whether a row of the batch has a step `index`: [batch, 1]; nothing where all have all steps.
  std::optional<Term> present(int64_t index) const {
    if (!node_.hasInput(4)) {
      return std::nullopt;
    }
    const Term lengths = node_.term(4);
    if (lengths.isConstant()) {
      const std::vector<int64_t> numbers = toInts(lengths.value().constant());
      if (std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) { return number > index; })) {
        return std::nullopt;
      }
    }
    return (lengths > static_cast<double>(index)).unsqueeze({1});
  }

  // The same for an index that is known only at run time.
  std::optional<Term> present(const Term& index) const {
    if (!node_.hasInput(4)) {
      return std::nullopt;
    }
    return (node_.term(4).cast(DataType::kINT64) > index).unsqueeze({1});
  }

  // outputs[direction], each [steps, batch, hidden], to Y; and a state of each direction to Y_h or Y_c.
  Term sequence(const std::vector<Term>& outputs) const {
    std::vector<Term> sides;
    for (const Term& side : outputs) {
      sides.push_back(side.unsqueeze({1}));
    }
    const Term all = concat(sides, 1);  // [steps, directions, batch, hidden]
    return batchFirst_ ? all.transpose({2, 0, 1, 3}) : all;
  }
  Term state(const std::vector<Term>& states) const {
    std::vector<Term> sides;
    for (const Term& side : states) {
      sides.push_back(side.unsqueeze({batchFirst_ ? 1 : 0}));
    }
    return concat(sides, batchFirst_ ? 1 : 0);
  }

 private:
  void checkRanks() const {
    if (x_.rank() != 3 || w_.rank() != 3 || r_.rank() != 3) {
      fail(FaultKind::kInvalidNode,
           fmt::format("X, W and R have ranks {}, {} and {}; expected 3 each", x_.rank(), w_.rank(), r_.rank()));
    }
  }
  void checkWeights() const {
    const int64_t rows = gates_ * hidden_;
    const Dimensions w = w_.shape();
    const Dimensions r = r_.shape();
    if (w[0] != directions() || r[0] != directions() || w[1] != rows || r[1] != rows) {
      fail(FaultKind::kInvalidNode,
           fmt::format("W {} and R {} do not fit; expected [{}, {}, input size] and [{}, {}, {}]", toString(w),
                       toString(r), directions(), rows, directions(), rows, hidden_));
    }
    if (node_.has("hidden_size") && node_.integer("hidden_size", 0) != hidden_) {
      fail(FaultKind::kInvalidNode,
           fmt::format("hidden_size = {}, but R has {} columns", node_.integer("hidden_size", 0), hidden_));
    }
    if (node_.hasInput(3) && node_.shape(3) != Dimensions{directions(), 2 * rows}) {
      fail(FaultKind::kInvalidNode,
           fmt::format("B has shape {}; expected [{}, {}]", toString(node_.shape(3)), directions(), 2 * rows));
    }
  }

  OnnxNode& node_;
  int64_t gates_;
  Term x_;
  Term w_;
  Term r_;
  bool batchFirst_ = false;
  int64_t hidden_ = 0;
  std::vector<GateActivation> activations_;
};

struct States {
  Term hidden;
  std::optional<Term> cell;
};

// One step: the products of the input [batch, gates * hidden] and the states before it to the states after it.
using Step = States (*)(const OnnxNode& node, const Direction& side, const Term& products,
                        const std::optional<Term>& hidden, const std::optional<Term>& cell, int64_t size);

Term gate(const Term& all, int64_t index, int64_t size) { return all.slice(1, index * size, size); }

Term withRecurrence(const Direction& side, const Term& products, const std::optional<Term>& hidden) {
  return hidden ? products + hidden->multiply(side.recurrence, false, true) : products;
}

// Gates i, o, f, c; with peepholes i and f see the cell before, o the cell after.
States stepLstm(const OnnxNode& node, const Direction& side, const Term& products, const std::optional<Term>& hidden,
                const std::optional<Term>& cell, int64_t size) {
  const Term all = withRecurrence(side, products, hidden);
  const auto peephole = [&](const Term& value, int64_t index, const std::optional<Term>& seen) {
    return side.peepholes && seen ? value + side.peepholes->slice(0, index * size, size) * *seen : value;
  };
  const Term i = side.activations[0](peephole(gate(all, 0, size), 0, cell));
  const Term candidate = side.activations[1](gate(all, 3, size));
  Term next = i * candidate;
  if (cell) {
    const bool coupled = node.integer("input_forget", 0) != 0;
    const Term f = coupled ? 1.0 - i : side.activations[0](peephole(gate(all, 2, size), 2, cell));
    next = f * *cell + next;
  }
  const Term o = side.activations[0](peephole(gate(all, 1, size), 1, next));
  return {o * side.activations[2](next), next};
}

// Gates z, r, h.
States stepGru(const OnnxNode& node, const Direction& side, const Term& products, const std::optional<Term>& hidden,
               const std::optional<Term>& /*cell*/, int64_t size) {
  const bool late = node.integer("linear_before_reset", 0) != 0;
  const Term gates = products.slice(1, 0, 2 * size);
  const Term last = products.slice(1, 2 * size, size);
  if (!hidden) {
    const Term both =
        side.activations[0](side.recurrentBias ? gates + side.recurrentBias->slice(0, 0, 2 * size) : gates);
    const Term inner =
        side.recurrentBias ? last + gate(both, 1, size) * side.recurrentBias->slice(0, 2 * size, size) : last;
    return {(1.0 - gate(both, 0, size)) * side.activations[1](inner), {}};
  }
  const Term weights = late ? side.recurrence : side.recurrence.slice(0, 0, 2 * size);
  Term recurrent = hidden->multiply(weights, false, true);
  if (side.recurrentBias) {
    recurrent = recurrent + *side.recurrentBias;
  }
  const Term both = side.activations[0](gates + recurrent.slice(1, 0, 2 * size));
  const Term z = gate(both, 0, size);
  const Term reset = gate(both, 1, size);
  Term inner = last;
  if (late) {
    inner = last + reset * recurrent.slice(1, 2 * size, size);
  } else {
    inner = last + (reset * *hidden).multiply(side.recurrence.slice(0, 2 * size, size), false, true);
  }
  return {(1.0 - z) * side.activations[1](inner) + z * *hidden, {}};
}

States stepRnn(const OnnxNode& /*node*/, const Direction& side, const Term& products, const std::optional<Term>& hidden,
               const std::optional<Term>& /*cell*/, int64_t /*size*/) {
  return {side.activations[0](withRecurrence(side, products, hidden)), {}};
}

// Rows that have no such step keep their states and give zero.
void keepAbsent(const Recurrent& recurrent, const Term& present, States& next, const std::optional<Term>& hidden,
                const std::optional<Term>& cell, Term& output) {
  output = where(present, next.hidden, next.hidden.number(0));
  next.hidden = where(present, next.hidden, hidden ? *hidden : recurrent.zeros());
  if (next.cell) {
    next.cell = where(present, *next.cell, cell ? *cell : recurrent.zeros());
  }
}

// A direction after all steps: its outputs [steps, batch, hidden] and its last states.
struct Passed {
  Term rows;
  States last;
};

Passed writeOut(OnnxNode& node, const Recurrent& recurrent, Step step, const Direction& side) {
  std::vector<Term> rows;
  std::optional<Term> hidden = side.hidden;
  std::optional<Term> cell = side.cell;
  const int64_t steps = recurrent.steps().value;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = side.reverse ? steps - 1 - i : i;
    States next = step(node, side, side.inputProducts.at(0, at), hidden, cell, recurrent.hiddenSize());
    Term output = next.hidden;
    if (const auto present = recurrent.present(at)) {
      keepAbsent(recurrent, *present, next, hidden, cell, output);
    }
    hidden = next.hidden;
    cell = next.cell;
    rows.push_back(output.unsqueeze({0}));
  }
  if (side.reverse) {
    std::reverse(rows.begin(), rows.end());
  }
  return {concat(rows, 0), {*hidden, cell}};
}

Passed loopOver(OnnxNode& node, const Recurrent& recurrent, Step step, const Direction& side, bool hasCell) {
  NetworkWriter& writer = node.writer();
  nvinfer1::ILoop* loop = writer.network().addLoop();
  if (loop == nullptr) {
    fail(FaultKind::kUnsupportedNode, "the network refused addLoop" + writer.networkReason());
  }
  const auto term = [&](nvinfer1::ILayer& layer) { return Term(writer, writer.output(layer)); };
  const auto state = [&](const Term& first) -> nvinfer1::IRecurrenceLayer& {
    return writer.added(loop->addRecurrence(writer.tensor(first)), "addRecurrence");
  };
  const Term steps(writer, writer.fromExtents({recurrent.steps()}, true));
  nvinfer1::ITensor& count = writer.tensor(steps);
  writer.added(loop->addTripLimit(count, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  const Term products =
      term(writer.added(loop->addIterator(writer.tensor(side.inputProducts), 0, side.reverse), "addIterator"));
  auto& hidden = state(side.hidden ? *side.hidden : recurrent.zeros());
  auto* cell = hasCell ? &state(side.cell ? *side.cell : recurrent.zeros()) : nullptr;
  const std::optional<Term> before = cell != nullptr ? std::optional(term(*cell)) : std::nullopt;
  States next = step(node, side, products, term(hidden), before, recurrent.hiddenSize());
  Term output = next.hidden;
  if (node.hasInput(4)) {
    auto& index = state(side.reverse ? steps - 1.0 : steps * 0.0);
    index.setInput(1, writer.tensor(term(index) + (side.reverse ? -1.0 : 1.0)));
    keepAbsent(recurrent, *recurrent.present(term(index)), next, term(hidden), before, output);
  }
  hidden.setInput(1, writer.tensor(next.hidden));
  if (cell != nullptr) {
    cell->setInput(1, writer.tensor(*next.cell));
  }
  const auto kind = side.reverse ? nvinfer1::LoopOutput::kREVERSE : nvinfer1::LoopOutput::kCONCATENATE;
  auto& rows = writer.added(loop->addLoopOutput(writer.tensor(output), kind, 0), "addLoopOutput");
  rows.setInput(1, count);
  const auto last = [&](nvinfer1::IRecurrenceLayer& layer) {
    return term(
        writer.added(loop->addLoopOutput(writer.output(layer), nvinfer1::LoopOutput::kLAST_VALUE), "addLoopOutput"));
  };
  return {term(rows), {last(hidden), cell != nullptr ? std::optional(last(*cell)) : std::nullopt}};
}

ParsedValues importSides(OnnxNode& node, const Recurrent& recurrent, Step step, bool biasOutside, bool hasCell) {
  std::vector<Term> outputs;
  std::vector<Term> lastHidden;
  std::vector<Term> lastCell;
  for (int64_t index = 0; index < recurrent.directions(); ++index) {
    Direction side = recurrent.direction(index, biasOutside);
    if (hasCell) {
      side.cell = recurrent.initial(6, index);
      if (node.hasInput(7)) {
        side.peepholes = node.term(7).at(0, index);
      }
    }
    const Passed passed =
        recurrent.isWritten() ? writeOut(node, recurrent, step, side) : loopOver(node, recurrent, step, side, hasCell);
    outputs.push_back(passed.rows);
    lastHidden.push_back(passed.last.hidden);
    if (passed.last.cell) {
      lastCell.push_back(*passed.last.cell);
    }
  }
  ParsedValues results(3);
  if (node.usesOutput(0)) {
    results[0] = recurrent.sequence(outputs);
  }
  if (node.usesOutput(1)) {
    results[1] = recurrent.state(lastHidden);
  }
  if (node.usesOutput(2) && hasCell) {
    results[2] = recurrent.state(lastCell);
  }
  return results;
}

ParsedValues importLstm(OnnxNode& node) {
  const Recurrent recurrent(node, 4, {"Sigmoid", "Tanh", "Tanh"});
  return importSides(node, recurrent, stepLstm, false, true);
}

ParsedValues importGru(OnnxNode& node) {
  const Recurrent recurrent(node, 3, {"Sigmoid", "Tanh"});
  return importSides(node, recurrent, stepGru, node.integer("linear_before_reset", 0) != 0, false);
}

ParsedValues importRnn(OnnxNode& node) {
  const Recurrent recurrent(node, 1, {"Tanh"});
  return importSides(node, recurrent, stepRnn, false, false);
}

const OperatorImporter kRows[] = {
    {"LSTM", 1, kNewestOpset, importLstm,
     "addMatrixMultiply, addActivation, addElementWise for each step, or in a loop"},
    {"GRU", 1, kNewestOpset, importGru, "addMatrixMultiply, addActivation, addElementWise for each step, or in a loop"},
    {"RNN", 1, kNewestOpset, importRnn, "addMatrixMultiply, addActivation for each step, or in a loop"},
};

}  // namespace

namespace ops_recurrent {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_recurrent
}  // namespace tenon::parsers::onnx
