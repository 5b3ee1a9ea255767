// If, Loop and Scan whose way is known while parsing (others: control_flow.cpp), and FlexAttention: their graphs are
// imported in place, once for each iteration.
#include <algorithm>
#include <cmath>

#include "attention_core.h"
#include "operator_table.h"

namespace tenon::parsers::onnx {
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
    parts.push_back(writer.unsqueeze(value, {axis}));
  }
  return writer.concat(parts, static_cast<int32_t>(axis));
}

// Trip count, condition, carried values; the body takes the number of the iteration, the condition and what is carried.
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
  const auto scanCount = static_cast<size_t>(std::max(body.output_size() - 1, 0)) - carriedCount;
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
    if (values.empty()) {
      fail(FaultKind::kUnsupportedShape, "the loop has no iterations, so the shapes of its outputs are not known");
    }
    results.push_back(stacked(writer, values, 0));
  }
  return results;
}

int64_t direction(const std::vector<int64_t>& list, size_t index) { return index < list.size() ? list[index] : 0; }

// States, then sequences that are taken apart along their axes; opset 8 had a batch in front of all.
ParsedValues importScan(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const pb::GraphProto& body = node.graph("body");
  const int64_t sequences = node.integer("num_scan_inputs", 0);
  const auto states = static_cast<int64_t>(node.inputCount()) - sequences;
  if (sequences < 1 || states < 0 || body.output_size() < states) {
    fail(FaultKind::kInvalidNode, fmt::format("num_scan_inputs = {} of {} inputs, and the body has {} outputs",
                                              sequences, node.inputCount(), body.output_size()));
  }
  const std::vector<int64_t> axes = node.integers("scan_input_axes");
  const std::vector<int64_t> turns = node.integers("scan_input_directions");
  int64_t steps = -1;
  for (int64_t k = 0; k < sequences; ++k) {
    const Term sequence = node.term(static_cast<size_t>(states + k));
    const int64_t length =
        sequence.fixedDim(direction(axes, static_cast<size_t>(k)), "the length of a scanned sequence");
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
  ParsedValues carried(node.inputs().begin(), node.inputs().begin() + states);
  std::vector<ParsedValues> scanned(static_cast<size_t>(body.output_size() - states));
  for (int64_t i = 0; i < steps; ++i) {
    ParsedValues inputs = carried;
    for (int64_t k = 0; k < sequences; ++k) {
      const Term sequence = node.term(static_cast<size_t>(states + k));
      const int32_t axis = normalizeAxis(direction(axes, static_cast<size_t>(k)), sequence.rank());
      inputs.push_back(sequence.at(axis, direction(turns, static_cast<size_t>(k)) != 0 ? steps - 1 - i : i));
    }
    const ParsedValues outputs = node.importGraph("body", inputs, fmt::format("body {}", i));
    carried.assign(outputs.begin(), outputs.begin() + states);
    for (size_t k = 0; k < scanned.size(); ++k) {
      scanned[k].push_back(outputs[static_cast<size_t>(states) + k]);
    }
  }
  const std::vector<int64_t> outAxes = node.integers("scan_output_axes");
  const std::vector<int64_t> outTurns = node.integers("scan_output_directions");
  ParsedValues results = carried;
  for (size_t k = 0; k < scanned.size(); ++k) {
    if (direction(outTurns, k) != 0) {
      std::reverse(scanned[k].begin(), scanned[k].end());
    }
    const int64_t rank = writer.rankOf(scanned[k][0]) + 1;
    results.push_back(stacked(writer, scanned[k], normalizeAxis(direction(outAxes, k), rank)));
  }
  return results;
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
    return node.has(attribute) ? Term(node.writer(), node.importGraph(attribute, {x}, attribute).at(0)) : x;
  };
  const Term scores = (query.multiply(keys, false, true) * scale).cast(*precision);
  const Term weights = modified(modified(scores, "score_mod").softmax(3), "prob_mod");
  return {weights.cast(values.type()).multiply(values)};
}

const OperatorImporter kRows[] = {
    {"If", 1, kNewestOpset, importIf, "addIfConditional; the layers of one branch where the condition is constant"},
    {"Loop", 1, kNewestOpset, importLoop, "addLoop; the layers of each iteration where these are few and known"},
    {"Scan", 9, kNewestOpset, importScan, "addLoop; the layers of each step where these are few and known"},
    {"FlexAttention", 1, kNewestOpset, importFlexAttention,
     "addMatrixMultiply, addSoftMax, and the layers of its graphs", "ai.onnx.preview"},
};

}  // namespace

namespace ops_control {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_control
}  // namespace tenon::parsers::onnx
