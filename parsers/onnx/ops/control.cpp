// If, Loop and Scan whose way is known while parsing (others: control_flow.cpp, loops.cpp), and FlexAttention: their
// graphs are imported in place, once for each iteration.
#include <algorithm>
#include <cmath>

#include "attention_core.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_control {
namespace {

constexpr int64_t kMostIterations = kMostUnrolledIterations;

bool constantTruth(const ParsedValue& value, const char* what) {
  if (!value.isConstant() || value.constant().count() != 1) {
    fail(FaultKind::kUnsupportedInput,
         fmt::format("{} is computed at run time; expected a value that can be computed while parsing. Fold the model "
                     "with its input shapes fixed, or export without control flow",
                     what));
  }
  return toInts(value.constant())[0] != 0;
}

ParsedValues importIf(OnnxNode& node) {
  const bool taken = constantTruth(node.input(0), "the condition");
  return node.importGraph(taken ? "then_branch" : "else_branch", {}, taken ? "then_branch" : "else_branch");
}

// Values of all iterations behind each other along a new first axis.
ParsedValue stacked(NetworkWriter& writer, const ParsedValues& values, int64_t axis) {
  ParsedValues parts;
  for (const ParsedValue& value : values) {
    if (value.isList()) {
      fail(FaultKind::kInvalidNode, "a result of each iteration is a list of tensors (a sequence); expected a tensor");
    }
    parts.push_back(writer.unsqueeze(value, {axis}));
  }
  return writer.concat(parts, static_cast<int32_t>(axis));
}

// Trip count, condition, carried values; the body takes the number of the iteration, the condition and what is carried.
// There is one iteration or more.
ParsedValues importLoop(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const pb::GraphProto& body = node.graph("body");
  int64_t most = kMostIterations + 1;
  if (node.hasInput(0)) {
    const ParsedExtents count = writer.elements(node.input(0));
    if (count.size() != 1 || !count[0].known()) {
      fail(FaultKind::kUnsupportedInput,
           "the trip count is computed at run time; expected a value that can be computed "
           "while parsing. Fold the model with its input shapes fixed");
    }
    most = count[0].value;
  }
  bool goesOn = !node.hasInput(1) || constantTruth(node.input(1), "the condition");
  ParsedValue condition = node.hasInput(1) ? node.input(1) : writer.scalar(DataType::kBOOL, 1);
  const size_t carriedCount = node.inputCount() > 2 ? node.inputCount() - 2 : 0;
  ParsedValues carried(node.inputs().begin() + static_cast<std::ptrdiff_t>(node.inputCount() - carriedCount),
                       node.inputs().end());
  const auto outputCount = static_cast<size_t>(body.output_size());
  if (outputCount < carriedCount + 1) {
    fail(FaultKind::kInvalidNode, fmt::format("the body has {} outputs; expected {} or more: the condition and what is "
                                              "carried",
                                              outputCount, carriedCount + 1));
  }
  const size_t scanCount = outputCount - 1 - carriedCount;
  std::vector<ParsedValues> scanned(scanCount);
  for (int64_t i = 0; goesOn && i < most; ++i) {
    if (i >= kMostIterations) {
      fail(FaultKind::kUnsupportedShape,
           fmt::format("the loop has more than {} iterations; each becomes layers of its own", kMostIterations));
    }
    ParsedValues inputs{writer.store().ofInts(DataType::kINT64, {}, {i}), condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    const ParsedValues outputs = node.importGraph("body", inputs, fmt::format("body {}", i));
    condition = outputs.at(0);
    carried.assign(outputs.begin() + 1, outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carriedCount));
    for (size_t k = 0; k < scanCount; ++k) {
      scanned[k].push_back(outputs.at(1 + carriedCount + k));
    }
    goesOn = constantTruth(condition, "the condition of the next iteration");
  }
  ParsedValues results = carried;
  for (const ParsedValues& values : scanned) {
    results.push_back(stacked(writer, values, 0));
  }
  return results;
}

int64_t direction(const std::vector<int64_t>& list, size_t index) { return index < list.size() ? list[index] : 0; }

// What a Scan runs over: states, sequences, and the axis and direction of each sequence and of each scanned result.
struct ScanPlan {
  ParsedValues states;
  ParsedValues sequences;
  std::vector<int64_t> axes;
  std::vector<int64_t> turns;
  std::vector<int64_t> resultAxes;
  std::vector<int64_t> resultTurns;
};

// The inputs from `first` on.
ScanPlan readScan(const OnnxNode& node, int64_t first) {
  const int64_t sequences = node.integer("num_scan_inputs", 0);
  const auto states = static_cast<int64_t>(node.inputCount()) - first - sequences;
  const int outputs = node.graph("body").output_size();
  if (sequences < 1 || states < 0 || outputs < states) {
    fail(FaultKind::kInvalidNode, fmt::format("num_scan_inputs = {} of {} inputs, and the body has {} outputs",
                                              sequences, node.inputCount(), outputs));
  }
  const auto begin = node.inputs().begin() + first;
  ScanPlan plan;
  plan.states.assign(begin, begin + states);
  plan.sequences.assign(begin + states, node.inputs().end());
  return plan;
}

int64_t stepsOf(NetworkWriter& writer, const ScanPlan& plan) {
  int64_t steps = -1;
  for (size_t k = 0; k < plan.sequences.size(); ++k) {
    const int64_t length =
        Term(writer, plan.sequences[k]).fixedDim(direction(plan.axes, k), "the length of a scanned sequence");
    if (steps >= 0 && length != steps) {
      fail(FaultKind::kInvalidNode, fmt::format("scanned sequences have lengths {} and {}", steps, length));
    }
    steps = length;
  }
  if (steps < 1 || steps > kMostIterations) {
    fail(FaultKind::kUnsupportedShape, fmt::format("the scan has {} steps; expected 1 to {}, since each becomes layers "
                                                   "of its own",
                                                   steps, kMostIterations));
  }
  return steps;
}

ParsedValues scanned(OnnxNode& node, const ScanPlan& plan, const std::string& label) {
  NetworkWriter& writer = node.writer();
  const int64_t steps = stepsOf(writer, plan);
  ParsedValues carried = plan.states;
  std::vector<ParsedValues> parts(static_cast<size_t>(node.graph("body").output_size()) - carried.size());
  for (int64_t i = 0; i < steps; ++i) {
    ParsedValues inputs = carried;
    for (size_t k = 0; k < plan.sequences.size(); ++k) {
      const Term sequence(writer, plan.sequences[k]);
      const int32_t axis = normalizeAxis(direction(plan.axes, k), sequence.rank());
      inputs.push_back(sequence.at(axis, direction(plan.turns, k) != 0 ? steps - 1 - i : i));
    }
    const ParsedValues outputs = node.importGraph("body", inputs, fmt::format("{} {}", label, i));
    const auto behind = outputs.begin() + static_cast<std::ptrdiff_t>(carried.size());
    carried.assign(outputs.begin(), behind);
    for (size_t k = 0; k < parts.size(); ++k) {
      parts[k].push_back(behind[static_cast<std::ptrdiff_t>(k)]);
    }
  }
  ParsedValues results = carried;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (direction(plan.resultTurns, k) != 0) {
      std::reverse(parts[k].begin(), parts[k].end());
    }
    const int64_t rank = writer.rankOf(parts[k][0]) + 1;
    results.push_back(stacked(writer, parts[k], normalizeAxis(direction(plan.resultAxes, k), rank)));
  }
  return results;
}

ParsedValues importScan(OnnxNode& node) {
  ScanPlan plan = readScan(node, 0);
  plan.axes = node.integers("scan_input_axes");
  plan.turns = node.integers("scan_input_directions");
  plan.resultAxes = node.integers("scan_output_axes");
  plan.resultTurns = node.integers("scan_output_directions");
  return scanned(node, plan, "body");
}

// Opset 8: all inputs and results have a batch in front, whose samples are scanned one by one; the optional first input
// has their lengths.
ParsedValues importBatchedScan(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (node.hasInput(0)) {
    fail(FaultKind::kUnsupportedInput, "sequence_lens is given; expected sequences of one length, without that input");
  }
  const ScanPlan whole = readScan(node, 1);
  const int64_t batch = Term(writer, whole.sequences.front()).fixedDim(0, "the batch of a scan");
  const int64_t steps = Term(writer, whole.sequences.front()).fixedDim(1, "the length of a scanned sequence");
  if (batch < 1 || batch > kMostIterations || steps > kMostIterations / batch) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("a batch of {} scans of {} steps; expected 1 to {} in all", batch, steps, kMostIterations));
  }
  std::vector<ParsedValues> results;
  for (int64_t sample = 0; sample < batch; ++sample) {
    const auto pick = [&](const ParsedValues& values) {
      ParsedValues picked;
      for (const ParsedValue& value : values) {
        picked.push_back(Term(writer, value).at(0, sample));
      }
      return picked;
    };
    ScanPlan plan{pick(whole.states), pick(whole.sequences), {}, node.integers("directions"), {}, {}};
    const ParsedValues found = scanned(node, plan, fmt::format("body {}", sample));
    results.resize(found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      results[i].push_back(found[i]);
    }
  }
  ParsedValues joined;
  for (const ParsedValues& samples : results) {
    joined.push_back(stacked(writer, samples, 0));
  }
  return joined;
}

// softmax(score_mod(scale * q k^T)) through prob_mod, times v
ParsedValues importFlexAttention(OnnxNode& node) {
  const Term query = node.term(0);
  const int64_t heads = query.fixedDim(1, "the number of query heads");
  const int64_t keyHeads = node.term(1).fixedDim(1, "the number of key heads");
  if (keyHeads < 1 || heads % keyHeads != 0) {
    fail(FaultKind::kInvalidNode, fmt::format("{} query heads for {} key heads; expected a multiple", heads, keyHeads));
  }
  const Term keys = repeatHeads(node.term(1), heads / keyHeads);
  const Term values = repeatHeads(node.term(2), heads / keyHeads);
  const int64_t width = query.fixedDim(3, "the size of a head");
  const float scale = node.real("scale", static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))));
  const auto precision = toDataType(static_cast<int32_t>(node.integer("softmax_precision", 1)));
  if (!precision || !isFloating(*precision)) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("softmax_precision = {}; expected 1, 10, 11 or 16", node.integer("softmax_precision", 1)));
  }
  const auto modified = [&](const Term& x, const char* attribute) {
    if (!node.has(attribute)) {
      return x;
    }
    const ParsedValues outputs = node.importGraph(attribute, {x}, attribute);
    if (outputs.size() != 1) {
      fail(FaultKind::kInvalidNode,
           fmt::format("the graph of attribute '{}' has {} outputs; expected 1", attribute, outputs.size()));
    }
    return Term(node.writer(), outputs[0]);
  };
  const Term scores = (query.multiply(keys, false, true) * scale).cast(*precision);
  const Term weights = modified(modified(scores, "score_mod").softmax(3), "prob_mod");
  return {weights.cast(values.type()).multiply(values)};
}

const OperatorImporter kRows[] = {
    {"If", 1, kNewestOpset, importIf, "addIfConditional; the layers of one branch where the condition is constant"},
    {"Loop", 1, kNewestOpset, importLoop, "addLoop; the layers of each iteration where these are few and known"},
    {"Scan", 8, 8, importBatchedScan, "the layers of each step of each sample; no sequence_lens"},
    {"Scan", 9, kNewestOpset, importScan, "addLoop; the layers of each step where these are few and known"},
    {"FlexAttention", 1, kNewestOpset, importFlexAttention,
     "addMatrixMultiply, addSoftMax, and the layers of its graphs", "ai.onnx.preview"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_control
