// Lists of tensors (sequences) whose lengths are known while parsing, and optional values that are there or not: they
// exist in the parser alone.
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_sequences {
namespace {

using nvinfer1::ElementWiseOperation;

constexpr int64_t kMostPieces = 1 << 16;

// An optional value that is not there is a list of nothing that is not there either, which no operator on lists gives.
ParsedValue absent() { return ParsedValue::ofList({ParsedValue()}); }

bool isAbsent(const ParsedValue& value) {
  return value.isNone() || (value.isList() && value.list().size() == 1 && value.list()[0].isNone());
}

const ParsedValues& listOf(const OnnxNode& node, size_t index) {
  if (!node.input(index).isList() || isAbsent(node.input(index))) {
    fail(FaultKind::kInvalidNode,
         fmt::format("input {} is {}; expected a list of tensors (a sequence)", index,
                     node.input(index).isList() ? "an optional value that is not there" : "a tensor"));
  }
  return node.input(index).list();
}

// The position in input `index`, from the end where it is negative; `fallback` without one. It is below `end`.
size_t positionOf(const OnnxNode& node, size_t index, int64_t fallback, int64_t end) {
  if (!node.hasInput(index) && end > 0) {
    return static_cast<size_t>(fallback);
  }
  const auto given = node.hasInput(index) ? toInts(node.constant(index, "position")) : std::vector<int64_t>{fallback};
  const auto count = static_cast<int64_t>(listOf(node, 0).size());
  if (given.size() != 1 || given[0] < -count || given[0] >= end) {
    fail(FaultKind::kInvalidNode, fmt::format("position {} in a list of {} tensors; expected one number from {} to {}",
                                              toString(given), count, -count, end - 1));
  }
  return static_cast<size_t>(given[0] < 0 ? given[0] + count : given[0]);
}

void checkType(const OnnxNode& node, const ParsedValues& list, size_t index) {
  if (!list.empty() && node.writer().typeOf(list[0]) != node.dataType(index)) {
    fail(FaultKind::kInvalidNode, fmt::format("input {} is {}, but the list holds tensors of {}", index,
                                              typeName(node.dataType(index)), typeName(node.writer().typeOf(list[0]))));
  }
}

ParsedValues importSequenceEmpty(OnnxNode&) { return {ParsedValue::ofList({})}; }

ParsedValues importSequenceConstruct(OnnxNode& node) {
  for (size_t i = 1; i < node.inputCount(); ++i) {
    checkType(node, {node.input(0)}, i);
  }
  return {ParsedValue::ofList(node.inputs())};
}

ParsedValues importSequenceInsert(OnnxNode& node) {
  auto list = listOf(node, 0);
  checkType(node, list, 1);
  const auto count = static_cast<int64_t>(list.size());
  const size_t at = positionOf(node, 2, count, count + 1);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), node.input(1));
  return {ParsedValue::ofList(std::move(list))};
}

ParsedValues importSequenceErase(OnnxNode& node) {
  auto list = listOf(node, 0);
  const auto count = static_cast<int64_t>(list.size());
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(positionOf(node, 1, count - 1, count)));
  return {ParsedValue::ofList(std::move(list))};
}

ParsedValues importSequenceAt(OnnxNode& node) {
  const auto& list = listOf(node, 0);
  return {list[positionOf(node, 1, 0, static_cast<int64_t>(list.size()))]};
}

ParsedValues importSequenceLength(OnnxNode& node) {
  return {node.writer().scalar(DataType::kINT64, static_cast<double>(listOf(node, 0).size()))};
}

// Sizes along the axis: a list of them, or one that all but the last have.
std::vector<int64_t> piecesOf(const OnnxNode& node, int64_t extent) {
  std::vector<int64_t> sizes{1};
  const bool isGiven = node.hasInput(1);
  if (isGiven) {
    sizes = toInts(node.constant(1, "split"));
  }
  if (isGiven && node.rank(1) != 0) {
    int64_t sum = 0;
    for (const int64_t size : sizes) {
      if (size < 0 || __builtin_add_overflow(sum, size, &sum)) {
        sum = -1;
        break;
      }
    }
    if (sum != extent) {
      fail(FaultKind::kInvalidNode,
           fmt::format("split = {}; expected sizes that add up to the extent {}", toString(sizes), extent));
    }
    return sizes;
  }
  if (sizes.size() != 1 || sizes[0] < 1 || extent / sizes[0] > kMostPieces) {
    fail(FaultKind::kInvalidNode, fmt::format("split = {} of an extent of {}; expected a size of 1 or more, and {} "
                                              "pieces at most",
                                              toString(sizes), extent, kMostPieces));
  }
  std::vector<int64_t> pieces;
  for (int64_t begin = 0; begin < extent; begin += sizes[0]) {
    pieces.push_back(std::min(sizes[0], extent - begin));
  }
  return pieces;
}

ParsedValues importSplitToSequence(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const auto axis = static_cast<size_t>(node.axis(0, static_cast<int64_t>(in.size())));
  if (!in[axis].known()) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("axis {} has an extent that is known at run time only, and with it the length of the list. Export "
                     "with a fixed extent, or with Split",
                     axis));
  }
  const auto pieces = piecesOf(node, in[axis].value);
  // With given sizes ONNX keeps the axis. PyTorch writes an unbind as sizes of a single 1 all the same, and ONNX
  // Runtime takes it so.
  const bool areSingle = !node.hasInput(1) || (node.rank(1) == 0 && toInts(node.constant(1, "split"))[0] == 1);
  const bool keeps = node.integer("keepdims", 1) != 0 || !areSingle;
  ParsedExtents start(in.size(), ParsedExtent::of(0));
  ParsedValues list;
  for (const int64_t piece : pieces) {
    ParsedExtents size = in;
    size[axis] = ParsedExtent::of(piece);
    const auto part = writer.slice(node.input(0), start, size, ParsedExtents(in.size(), ParsedExtent::of(1)));
    list.push_back(keeps ? part : writer.squeeze(part, {static_cast<int64_t>(axis)}));
    start[axis] = ParsedExtent::of(start[axis].value + piece);
  }
  return {ParsedValue::ofList(std::move(list))};
}

ParsedValues importConcatFromSequence(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  auto list = listOf(node, 0);
  if (list.empty()) {
    fail(FaultKind::kInvalidNode, "the list has no tensors; expected one or more");
  }
  const bool isNew = node.integer("new_axis", 0) != 0;
  const int64_t rank = writer.rankOf(list[0]) + (isNew ? 1 : 0);
  const int32_t axis = normalizeAxis(node.integer("axis", 0), rank, "axis");
  for (ParsedValue& part : list) {
    if (isNew) {
      part = writer.unsqueeze(part, {axis});
    }
    if (writer.rankOf(part) != rank) {
      fail(FaultKind::kInvalidNode, fmt::format("the list has tensors of {} and {} axes; expected one rank",
                                                rank - (isNew ? 1 : 0), writer.rankOf(part) - (isNew ? 1 : 0)));
    }
  }
  return {list.size() == 1 ? list[0] : writer.concat(list, axis)};
}

// The body once for each place of the list; what else is a list gives its value at that place.
ParsedValues importSequenceMap(OnnxNode& node) {
  const size_t count = listOf(node, 0).size();
  if (count > static_cast<size_t>(kMostUnrolledIterations)) {
    fail(FaultKind::kUnsupportedGraph,
         fmt::format("the list has {} tensors, for each of which the body would be written out; expected at most {}",
                     count, kMostUnrolledIterations));
  }
  std::vector<ParsedValues> lists(static_cast<size_t>(node.graph("body").output_size()));
  for (size_t at = 0; at < count; ++at) {
    ParsedValues inputs;
    for (size_t i = 0; i < node.inputCount(); ++i) {
      const bool isList = node.input(i).isList();
      if (isList && listOf(node, i).size() != count) {
        fail(FaultKind::kInvalidNode, fmt::format("input {} is a list of {} tensors, input 0 one of {}; expected as "
                                                  "many",
                                                  i, listOf(node, i).size(), count));
      }
      inputs.push_back(isList ? listOf(node, i)[at] : node.input(i));
    }
    const ParsedValues results = node.importGraph("body", inputs, fmt::format("body {}", at));
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].isList()) {
        fail(FaultKind::kInvalidNode, "the body gives a list of tensors (a sequence); expected a tensor");
      }
      lists[i].push_back(results[i]);
    }
  }
  ParsedValues outputs;
  for (ParsedValues& list : lists) {
    outputs.push_back(ParsedValue::ofList(std::move(list)));
  }
  return outputs;
}

ParsedValues importOptional(OnnxNode& node) { return {node.hasInput(0) ? node.input(0) : absent()}; }

ParsedValues importOptionalHasElement(OnnxNode& node) {
  const bool isThere = node.inputCount() > 0 && !isAbsent(node.inputs()[0]);
  return {node.writer().scalar(DataType::kBOOL, isThere ? 1 : 0)};
}

ParsedValues importOptionalGetElement(OnnxNode& node) {
  if (isAbsent(node.input(0))) {
    fail(FaultKind::kInvalidNode, "the optional value is not there; expected one that is");
  }
  if (!node.input(0).isTensor()) {
    return {node.input(0)};
  }
  NetworkWriter& writer = node.writer();
  return {writer.output(writer.added(writer.network().addIdentity(node.tensor(0)), "addIdentity"))};
}

const OperatorImporter kRows[] = {
    {"SequenceEmpty", 11, kNewestOpset, importSequenceEmpty, "a list of the parser"},
    {"SequenceConstruct", 11, kNewestOpset, importSequenceConstruct, "a list of the parser"},
    {"SequenceInsert", 11, kNewestOpset, importSequenceInsert, "a list of the parser; position constant"},
    {"SequenceErase", 11, kNewestOpset, importSequenceErase, "a list of the parser; position constant"},
    {"SequenceAt", 11, kNewestOpset, importSequenceAt, "the tensor of the list; position constant"},
    {"SequenceLength", 11, kNewestOpset, importSequenceLength, "computed while parsing"},
    {"SplitToSequence", 11, kNewestOpset, importSplitToSequence, "addSlice; sizes constant, extent of the axis known"},
    {"ConcatFromSequence", 11, kNewestOpset, importConcatFromSequence, "addConcatenation"},
    {"SequenceMap", 17, kNewestOpset, importSequenceMap, "the layers of its body for each tensor of the list"},
    {"Optional", 15, kNewestOpset, importOptional, "a value of the parser"},
    {"OptionalHasElement", 15, kNewestOpset, importOptionalHasElement, "computed while parsing"},
    {"OptionalGetElement", 15, kNewestOpset, importOptionalGetElement, "addIdentity; a list of the parser"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_sequences
