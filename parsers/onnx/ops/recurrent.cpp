// LSTM, GRU and RNN: the products of all steps with the input at once, then an operator of Tenon for the steps.
#include <algorithm>
#include <optional>

#include "../operator_plugin.h"
#include "operator_table.h"
#include "quantization.h"
#include "recurrent_activations.h"

namespace tenon::parsers::onnx::ops_recurrent {
namespace {

constexpr int64_t kMostGates = 4;

// A kind of cell: its name in the operator's text, gates and functions.
struct CellKind {
  const char* name;
  int64_t gates;
  std::vector<std::string> functions;  // where the model names none
};

// What the node says, in the layout of the standard: [steps, batch, ...].
class Recurrent {
 public:
  Recurrent(OnnxNode& node, CellKind kind) : Recurrent(node, std::move(kind), node.term(1), node.term(2)) {}
  Recurrent(OnnxNode& node, CellKind kind, Term w, Term r)
      : node_(node), kind_(std::move(kind)), x_(node.term(0)), w_(std::move(w)), r_(std::move(r)) {
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
    clip_ = node.real("clip", 0.0f);
    if (node.has("clip") && !(clip_ > 0)) {
      fail(FaultKind::kInvalidNode, fmt::format("clip = {}; expected more than 0", clip_));
    }
    activations_ = readGateActivations(node, kind_.functions, directions());
    isLate_ = std::string_view(kind_.name) == "gru" && node.integer("linear_before_reset", 0) != 0;
  }

  ParsedValues import() {
    const auto half = static_cast<std::ptrdiff_t>(activations_.size() / 2);
    const bool areAlike =
        directions() == 1 || std::equal(activations_.begin(), activations_.begin() + half, activations_.begin() + half);
    std::vector<std::vector<Term>> sides;  // outputs of some directions each
    if (areAlike) {
      sides.push_back(importSide(0, directions()));
    } else {
      sides = {importSide(0, 1), importSide(1, 1)};
    }
    const auto joined = [&](size_t output, int64_t axis) {
      return sides.size() == 1 ? sides[0][output] : concat({sides[0][output], sides[1][output]}, axis);
    };
    ParsedValues results(3);
    if (node_.usesOutput(0)) {  // [steps, batch, directions, hidden]
      results[0] = batchFirst_ ? joined(0, 2).transpose({1, 0, 2, 3}) : joined(0, 2).transpose({0, 2, 1, 3});
    }
    for (size_t output = 1; output < sides[0].size(); ++output) {
      if (node_.usesOutput(output)) {  // [directions, batch, hidden]
        results[output] = batchFirst_ ? joined(output, 0).transpose({1, 0, 2}) : joined(output, 0);
      }
    }
    return results;
  }

 private:
  bool isLstm() const { return kind_.gates == kMostGates; }
  int64_t directions() const {
    const std::string text = node_.choice("direction", "forward", {"forward", "reverse", "bidirectional"});
    return text == "bidirectional" ? 2 : 1;
  }

  // Directions [first, first + count).
  std::vector<Term> importSide(int64_t first, int64_t count) const {
    const int64_t width = kind_.gates * hidden_;
    const auto own = [&](const Term& all) { return count == directions() ? all : all.slice(0, first, count); };
    const ParsedExtents in = x_.dims();
    const auto fixed = [](int64_t extent) { return ParsedExtent::of(extent); };
    const Term w = own(w_).reshape({fixed(count * width), in[2]});
    Term products = x_.reshape({fixed(-1), in[2]}).multiply(w, false, true);
    std::string text = fmt::format("cell={}", kind_.name);
    std::optional<Term> lastBias;
    if (node_.hasInput(3)) {
      const Term bias = own(node_.term(3));
      const Term recurrent = bias.slice(1, width, width);
      Term all = bias.slice(1, 0, width) + recurrent;
      if (isLate_) {  // the last gate's is multiplied with another gate
        all = concat({all.slice(1, 0, 2 * hidden_), bias.slice(1, 2 * hidden_, hidden_)}, 1);
        lastBias = recurrent.slice(1, 2 * hidden_, hidden_);
      }
      products = products + all.reshape({fixed(count * width)});
    }
    std::vector<Term> operands{products.reshape({in[0], in[1], fixed(count), fixed(width)}), own(r_)};
    const auto add = [&](const char* flag, const std::optional<Term>& operand) {
      if (operand) {
        operands.push_back(*operand);
        text += fmt::format(" {}=true", flag);
      }
    };
    const auto given = [&](size_t input) {
      return node_.hasInput(input) ? std::optional(node_.term(input)) : std::nullopt;
    };
    const auto state = [&](size_t input) {
      auto value = given(input);
      if (value && batchFirst_) {
        value = value->transpose({1, 0, 2});
      }
      return value ? std::optional(own(*value)) : std::nullopt;
    };
    if (node_.text("direction", "forward") == "reverse" || first == 1) {
      text += " reverse=true";
    }
    text += isLate_ ? " late=true" : "";
    text += isLstm() && node_.integer("input_forget", 0) != 0 ? " coupled=true" : "";
    text += clip_ > 0 ? fmt::format(" clip={}", clip_) : "";
    add("hasBias", lastBias);
    if (isLstm()) {
      const auto peepholes = given(7);
      add("hasPeepholes", peepholes ? std::optional(own(*peepholes)) : std::nullopt);
    }
    add("hasFirst", state(5));
    if (isLstm()) {
      add("hasFirstCell", state(6));
    }
    add("hasLengths", given(4));
    return addOperator(fmt::format("recurrent{{{}{}}}", text, functionText(first)), operands, isLstm() ? 3 : 2);
  }

  std::string functionText(int64_t direction) const {
    std::string names, alphas, betas;
    const size_t count = kind_.functions.size();
    for (size_t i = 0; i < count; ++i) {
      const GateActivation& one = activations_[static_cast<size_t>(direction) * count + i];
      const char* const comma = i == 0 ? "" : ",";
      names += comma + one.name;
      alphas += fmt::format("{}{}", comma, one.alpha);
      betas += fmt::format("{}{}", comma, one.beta);
    }
    return fmt::format(" functions=[{}] a=[{}] b=[{}]", names, alphas, betas);
  }

  void checkRanks() const {
    if (x_.rank() != 3 || w_.rank() != 3 || r_.rank() != 3) {
      fail(FaultKind::kInvalidNode,
           fmt::format("X, W and R have ranks {}, {} and {}; expected 3 each", x_.rank(), w_.rank(), r_.rank()));
    }
  }
  void checkWeights() const {
    const int64_t rows = kind_.gates * hidden_;
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
  const CellKind kind_;
  Term x_;
  Term w_;
  Term r_;
  bool batchFirst_ = false;
  bool isLate_ = false;
  float clip_ = 0;
  int64_t hidden_ = 0;
  std::vector<GateActivation> activations_;
};

CellKind lstm() { return {"lstm", kMostGates, {"Sigmoid", "Tanh", "Tanh"}}; }
ParsedValues importLstm(OnnxNode& node) { return Recurrent(node, lstm()).import(); }

// Weights [directions, columns, rows of all gates] of 8 bits with their scale and zero point: one for each direction,
// or for each row, as those of an LSTM.
Term unpacked(const OnnxNode& node, size_t weights, size_t scale) {
  const auto aligned = [&](const Term& parameter) {
    return parameter.rank() == 2 ? parameter.unsqueeze({1}) : parameter.unsqueeze({1, 2});
  };
  const auto zero = node.hasInput(scale + 1) ? std::optional(aligned(node.term(scale + 1))) : std::nullopt;
  return dequantized(node.term(weights), aligned(node.term(scale)), zero).transpose({0, 2, 1});
}

// Inputs and states are not rounded to 8 bits, as they would be where this pays.
ParsedValues importQuantizedLstm(OnnxNode& node) {
  constexpr size_t kScaleOfW = 8, kScaleOfR = 10;
  for (const size_t weights : {1, 2}) {
    if (node.rank(weights) != 3) {
      fail(FaultKind::kInvalidNode, fmt::format("input {} has rank {}; expected 3", weights, node.rank(weights)));
    }
  }
  return Recurrent(node, lstm(), unpacked(node, 1, kScaleOfW), unpacked(node, 2, kScaleOfR)).import();
}
ParsedValues importGru(OnnxNode& node) { return Recurrent(node, {"gru", 3, {"Sigmoid", "Tanh"}}).import(); }
ParsedValues importRnn(OnnxNode& node) { return Recurrent(node, {"rnn", 1, {"Tanh"}}).import(); }

const OperatorImporter kRows[] = {
    {"LSTM", 1, kNewestOpset, importLstm, "addMatrixMultiply, addPluginV3 of the operator recurrent"},
    {"GRU", 1, kNewestOpset, importGru, "addMatrixMultiply, addPluginV3 of the operator recurrent"},
    {"RNN", 1, kNewestOpset, importRnn, "addMatrixMultiply, addPluginV3 of the operator recurrent"},
    {"DynamicQuantizeLSTM", 1, kNewestOpset, importQuantizedLstm, "as LSTM; only the weights are rounded",
     "com.microsoft"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_recurrent
