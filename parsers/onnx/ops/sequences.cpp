// Lists of tensors (sequences) whose lengths are known while parsing: they exist in the parser alone.
#include "operator_table.h"

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::ElementWiseOperation;

constexpr int64_t kMostPieces = 1 << 16;

const ParsedValues& listOf(const OnnxNode& node, size_t index) {
  if (!node.input(index).isList()) {
    fail(FaultKind::kInvalidNode, fmt::format("input {} is a tensor; expected a list of tensors (a sequence)", index));
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

const OperatorImporter kRows[] = {
    {"SequenceEmpty", 11, kNewestOpset, importSequenceEmpty, "a list of the parser"},
    {"SequenceConstruct", 11, kNewestOpset, importSequenceConstruct, "a list of the parser"},
    {"SequenceInsert", 11, kNewestOpset, importSequenceInsert, "a list of the parser; position constant"},
    {"SequenceErase", 11, kNewestOpset, importSequenceErase, "a list of the parser; position constant"},
    {"SequenceAt", 11, kNewestOpset, importSequenceAt, "the tensor of the list; position constant"},
    {"SequenceLength", 11, kNewestOpset, importSequenceLength, "computed while parsing"},
    {"SplitToSequence", 11, kNewestOpset, importSplitToSequence, "addSlice; sizes constant, extent of the axis known"},
    {"ConcatFromSequence", 11, kNewestOpset, importConcatFromSequence, "addConcatenation"},
};

}  // namespace

namespace ops_sequences {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_sequences
}  // namespace tenon::parsers::onnx
