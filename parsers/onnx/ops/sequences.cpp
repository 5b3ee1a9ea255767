// Lists of tensors (sequences), and optional values that are there or not: they exist in the parser alone. A list whose
// length only the run knows is one tensor.
#include <algorithm>
#include <optional>

#include "made.h"
#include "operator_table.h"
#include "stacks.h"

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

// Input 0 as one tensor, and a place in it, from the end where that is negative; without input `index` the last one.
Term stackOf(const OnnxNode& node) { return onnx::stackOf(node.writer(), node.input(0)); }

ParsedExtent placeIn(const Term& stack, const OnnxNode& node, size_t index) {
  const auto given = node.hasInput(index) ? toInts(node.constant(index, "position")) : std::vector<int64_t>{-1};
  if (given.size() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("position {}; expected one number", toString(given)));
  }
  const ParsedExtent place = ParsedExtent::of(given[0]);
  return given[0] < 0 ? node.writer().combine(stack.dim(0), place, ElementWiseOperation::kSUM) : place;
}

// The tensors of a stack from a place on.
Term behind(const Term& stack, const ParsedExtent& place) {
  return stack.slice(0, place, stack.writer().combine(stack.dim(0), place, ElementWiseOperation::kSUB));
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
  if (node.input(0).isStack()) {
    checkType(node, {node.input(0).stack()}, 1);
    const Term more = node.term(1).unsqueeze({0});
    if (!node.hasInput(2)) {
      return {withMore(node.writer(), node.input(0), more)};
    }
    const Term stack = stackOf(node);
    const ParsedExtent place = placeIn(stack, node, 2);
    return {ParsedValue::ofStack(concat({stack.slice(0, ParsedExtent::of(0), place), more, behind(stack, place)}, 0))};
  }
  auto list = listOf(node, 0);
  checkType(node, list, 1);
  const auto count = static_cast<int64_t>(list.size());
  const size_t at = positionOf(node, 2, count, count + 1);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), node.input(1));
  return {ParsedValue::ofList(std::move(list))};
}

ParsedValues importSequenceErase(OnnxNode& node) {
  if (node.input(0).isStack()) {
    const Term stack = stackOf(node);
    const ParsedExtent place = placeIn(stack, node, 1);
    const ParsedExtent next = node.writer().combine(place, ParsedExtent::of(1), ElementWiseOperation::kSUM);
    return {ParsedValue::ofStack(concat({stack.slice(0, ParsedExtent::of(0), place), behind(stack, next)}, 0))};
  }
  auto list = listOf(node, 0);
  const auto count = static_cast<int64_t>(list.size());
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(positionOf(node, 1, count - 1, count)));
  return {ParsedValue::ofList(std::move(list))};
}

ParsedValues importSequenceAt(OnnxNode& node) {
  if (node.input(0).isStack() || (node.hasInput(1) && !node.input(1).isConstant() && !listOf(node, 0).empty())) {
    const Term stack = stackOf(node);
    const Term place = node.term(1).cast(DataType::kINT64).reshape({});
    const Term count(node.writer(), node.writer().fromExtents({stack.dim(0)}, true));
    return {stack.gather(where(place < 0.0, place + count, place), 0)};
  }
  const auto& list = listOf(node, 0);
  return {list[positionOf(node, 1, 0, static_cast<int64_t>(list.size()))]};
}

ParsedValues importSequenceLength(OnnxNode& node) {
  if (node.input(0).isStack()) {
    return {node.writer().fromExtents({stackOf(node).dim(0)}, true)};
  }
  return {node.writer().scalar(DataType::kINT64, static_cast<double>(listOf(node, 0).size()))};
}

// Sizes along the axis: a list of them, or one that all but the last have. Given sizes add up to an extent that only
// the run knows, as far as this is known here.
std::vector<int64_t> piecesOf(const OnnxNode& node, const ParsedExtent& extent) {
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
    if (sum < 0 || (extent.known() && sum != extent.value)) {
      fail(FaultKind::kInvalidNode,
           fmt::format("split = {}; expected sizes that add up to the extent{}", toString(sizes),
                       extent.known() ? fmt::format(" {}", extent.value) : ""));
    }
    return sizes;
  }
  if (!extent.known()) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("axis {} has an extent that is known at run time only, and with it the length of the list of "
                     "pieces of {}. Export with a fixed extent, or with Split",
                     node.axis(0, node.rank(0)), toString(sizes)));
  }
  if (sizes.size() != 1 || sizes[0] < 1 || extent.value / sizes[0] > kMostPieces) {
    fail(FaultKind::kInvalidNode, fmt::format("split = {} of an extent of {}; expected a size of 1 or more, and {} "
                                              "pieces at most",
                                              toString(sizes), extent.value, kMostPieces));
  }
  std::vector<int64_t> pieces;
  for (int64_t begin = 0; begin < extent.value; begin += sizes[0]) {
    pieces.push_back(std::min(sizes[0], extent.value - begin));
  }
  return pieces;
}

// The order of axes that brings the first one to a place, the others in their order.
std::vector<int32_t> firstTo(int32_t place, int64_t rank) {
  std::vector<int32_t> order;
  for (int32_t i = 0; i < static_cast<int32_t>(rank); ++i) {
    order.push_back(i < place ? i + 1 : i == place ? 0 : i);
  }
  return order;
}

ParsedValues importSplitToSequence(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  const auto at = static_cast<size_t>(axis);
  // With given sizes ONNX keeps the axis. PyTorch writes an unbind as sizes of a single 1 all the same, and ONNX
  // Runtime takes it so.
  const bool areSingle = !node.hasInput(1) || (node.rank(1) == 0 && toInts(node.constant(1, "split"))[0] == 1);
  const bool keeps = node.integer("keepdims", 1) != 0 || !areSingle;
  if (areSingle && !in[at].known()) {
    std::vector<int32_t> order{axis};
    for (int32_t i = 0; i < static_cast<int32_t>(in.size()); ++i) {
      if (i != axis) {
        order.push_back(i);
      }
    }
    const Term stack = node.term(0).transpose(order);
    return {ParsedValue::ofStack(keeps ? stack.unsqueeze({axis + 1}) : stack)};
  }
  ParsedExtents start(in.size(), ParsedExtent::of(0));
  ParsedValues list;
  for (const int64_t piece : piecesOf(node, in[at])) {
    ParsedExtents size = in;
    size[at] = ParsedExtent::of(piece);
    const auto part = writer.slice(node.input(0), start, size, ParsedExtents(in.size(), ParsedExtent::of(1)));
    list.push_back(keeps ? part : writer.squeeze(part, {axis}));
    start[at] = ParsedExtent::of(start[at].value + piece);
  }
  return {ParsedValue::ofList(std::move(list))};
}

// The tensors of a stack along an axis, which is a new one or one that they have.
ParsedValue joined(const Term& stack, int64_t given, bool isNew) {
  NetworkWriter& writer = stack.writer();
  const int32_t axis = normalizeAxis(given, stack.rank() - (isNew ? 0 : 1), "axis");
  const Term moved = stack.transpose(firstTo(axis, stack.rank()));
  if (isNew) {
    return moved;
  }
  ParsedExtents shape = moved.dims();
  const auto at = shape.begin() + axis;
  *at = writer.combine(*at, *(at + 1), ElementWiseOperation::kPROD);
  shape.erase(at + 1);
  return moved.reshape(shape);
}

ParsedValues importConcatFromSequence(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (node.input(0).isStack()) {
    return {joined(stackOf(node), node.integer("axis", 0), node.integer("new_axis", 0) != 0)};
  }
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

void checkTensor(const ParsedValue& result) {
  if (result.isList()) {
    fail(FaultKind::kInvalidNode, "the body gives a list of tensors (a sequence); expected a tensor");
  }
}

// A list of unknown length: the body in a loop over it and what else is a list.
ParsedValues mapStack(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  nvinfer1::ILoop& loop = made(writer, writer.network().addLoop(), "addLoop");
  loop.setName(node.qualified(node.proto().name()).c_str());
  std::optional<ParsedExtent> count;
  ParsedValues inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (!node.input(i).isList()) {
      inputs.push_back(node.input(i));
      continue;
    }
    const Term stack = onnx::stackOf(writer, node.input(i));
    count = count ? count : stack.dim(0);
    inputs.push_back(writer.output(writer.added(loop.addIterator(writer.tensor(stack)), "addIterator")));
  }
  nvinfer1::ITensor& length = writer.tensor(writer.fromExtents({*count}, true));
  writer.added(loop.addTripLimit(length, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  ParsedValues outputs;
  for (const ParsedValue& result : node.importGraph("body", inputs, "body")) {
    checkTensor(result);
    auto& layer =
        writer.added(loop.addLoopOutput(writer.tensor(result), nvinfer1::LoopOutput::kCONCATENATE, 0), "addLoopOutput");
    layer.setInput(1, length);
    outputs.push_back(ParsedValue::ofStack(writer.output(layer)));
  }
  return outputs;
}

// The body once for each place of the list; what else is a list gives its value at that place.
ParsedValues importSequenceMap(OnnxNode& node) {
  if (std::any_of(node.inputs().begin(), node.inputs().end(), [](const ParsedValue& v) { return v.isStack(); })) {
    return mapStack(node);
  }
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
      checkTensor(results[i]);
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
    {"SequenceAt", 11, kNewestOpset, importSequenceAt, "the tensor of the list; computed position: addGather"},
    {"SequenceLength", 11, kNewestOpset, importSequenceLength, "computed while parsing; of unknown length: addShape"},
    {"SplitToSequence", 11, kNewestOpset, importSplitToSequence,
     "addSlice; sizes constant; open extent of the axis: pieces of 1"},
    {"ConcatFromSequence", 11, kNewestOpset, importConcatFromSequence, "addConcatenation"},
    {"SequenceMap", 17, kNewestOpset, importSequenceMap,
     "the layers of its body for each tensor of the list; of unknown length: addLoop"},
    {"Optional", 15, kNewestOpset, importOptional, "a value of the parser"},
    {"OptionalHasElement", 15, kNewestOpset, importOptionalHasElement, "computed while parsing"},
    {"OptionalGetElement", 15, kNewestOpset, importOptionalGetElement, "addIdentity; a list of the parser"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_sequences
