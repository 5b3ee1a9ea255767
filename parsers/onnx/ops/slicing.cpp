// Slices, splits, concatenations and padding.
#include <algorithm>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_slicing {
namespace {

using nvinfer1::ElementWiseOperation;

// A bound counted from the end when negative. Its sign may be known only at run time.
ParsedExtent fromEnd(NetworkWriter& writer, const ParsedExtent& bound, const ParsedExtent& extent) {
  if (bound.known()) {
    return bound.value >= 0 ? bound : writer.combine(extent, bound, ElementWiseOperation::kSUM);
  }
  if (bound.neverNegative()) {
    return bound;
  }
  const ParsedValue value = writer.fromExtents({bound});
  const ParsedValue counted = writer.fromExtents({writer.combine(bound, extent, ElementWiseOperation::kSUM)});
  const ParsedValue negative = writer.binary(value, writer.list({0}), ElementWiseOperation::kLESS);
  return writer.elements(writer.select(negative, counted, value)).at(0);
}

ParsedExtent clamp(NetworkWriter& writer, const ParsedExtent& bound, const ParsedExtent& low,
                   const ParsedExtent& high) {
  if (bound.known() && bound.value >= INT32_MAX && !high.known()) {  // "to the end", as exporters write it
    return high;
  }
  return writer.combine(writer.combine(bound, low, ElementWiseOperation::kMAX), high, ElementWiseOperation::kMIN);
}

struct Range {
  ParsedExtent start;
  ParsedExtent size;
};

Range resolveRange(NetworkWriter& writer, const ParsedExtent& start, const ParsedExtent& end, int64_t step,
                   const ParsedExtent& extent) {
  const ParsedExtent zero = ParsedExtent::of(0);
  if (step > 0) {
    const ParsedExtent from = clamp(writer, fromEnd(writer, start, extent), zero, extent);
    const ParsedExtent to = clamp(writer, fromEnd(writer, end, extent), zero, extent);
    const ParsedExtent span = writer.combine(to, from, ElementWiseOperation::kSUB);
    const ParsedExtent rounded = writer.combine(span, ParsedExtent::of(step - 1), ElementWiseOperation::kSUM);
    const ParsedExtent count = writer.combine(rounded, ParsedExtent::of(step), ElementWiseOperation::kFLOOR_DIV);
    return {from, writer.combine(count, zero, ElementWiseOperation::kMAX)};
  }
  const ParsedExtent last = writer.combine(extent, ParsedExtent::of(1), ElementWiseOperation::kSUB);
  // An end before the first element.
  const bool toBegin = end.known() && end.value < INT32_MIN / 2 && !extent.known();
  const ParsedExtent from = clamp(writer, fromEnd(writer, start, extent), zero, last);
  const ParsedExtent to =
      toBegin ? ParsedExtent::of(-1) : clamp(writer, fromEnd(writer, end, extent), ParsedExtent::of(-1), last);
  const ParsedExtent span = writer.combine(from, to, ElementWiseOperation::kSUB);
  const ParsedExtent rounded = writer.combine(span, ParsedExtent::of(-step - 1), ElementWiseOperation::kSUM);
  const ParsedExtent count = writer.combine(rounded, ParsedExtent::of(-step), ElementWiseOperation::kFLOOR_DIV);
  return {from, writer.combine(count, zero, ElementWiseOperation::kMAX)};
}

// Starts, ends, axes and steps were attributes (without steps) up to opset 9.
ParsedValues importSlice(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool attributes = node.opset() < 10;
  const auto list = [&](const char* name, size_t index) {
    return writer.elements(attributes ? writer.list(node.integers(name)) : node.input(index));
  };
  const ParsedExtents starts = list("starts", 1);
  const ParsedExtents ends = list("ends", 2);
  std::vector<int64_t> axes = attributes         ? node.integers("axes")
                              : node.hasInput(3) ? toInts(node.constant(3, "axes"))
                                                 : std::vector<int64_t>{};
  std::vector<int64_t> steps =
      !attributes && node.hasInput(4) ? toInts(node.constant(4, "steps")) : std::vector<int64_t>(starts.size(), 1);
  for (size_t i = 0; axes.size() < starts.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    fail(FaultKind::kInvalidNode,
         fmt::format("starts, ends, axes and steps have {}, {}, {} and {} entries; expected the "
                     "same number",
                     starts.size(), ends.size(), axes.size(), steps.size()));
  }
  const ParsedExtents in = writer.dims(node.input(0));
  ParsedExtents start(in.size(), ParsedExtent::of(0));
  ParsedExtents size = in;
  ParsedExtents stride(in.size(), ParsedExtent::of(1));
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(normalizeAxis(axes[i], static_cast<int64_t>(in.size())));
    if (steps[i] == 0) {
      fail(FaultKind::kInvalidNode, "a step is 0; expected any other number");
    }
    constexpr int64_t kFar = int64_t{1} << 48;  // more elements than an axis can have: what is farther is the same
    const int64_t step = std::clamp(steps[i], -kFar, kFar);
    const Range range = resolveRange(writer, starts[i], ends[i], step, in[axis]);
    start[axis] = range.start;
    size[axis] = range.size;
    stride[axis] = ParsedExtent::of(step);
  }
  if (size == in && start == ParsedExtents(in.size(), ParsedExtent::of(0)) &&
      stride == ParsedExtents(in.size(), ParsedExtent::of(1))) {
    return {node.input(0)};
  }
  return {writer.slice(node.input(0), start, size, stride)};
}

// Sizes from the attribute (to opset 12), the input, or equal parts (the last one smaller, from opset 18).
ParsedExtents partsOf(OnnxNode& node, const ParsedExtent& extent) {
  NetworkWriter& writer = node.writer();
  if (node.opset() < 13 && node.has("split")) {
    return writer.elements(writer.list(node.integers("split")));
  }
  if (node.opset() >= 13 && node.hasInput(1)) {
    return writer.elements(node.input(1));
  }
  const auto count = static_cast<int64_t>(node.outputCount());
  const int64_t declared = node.integer("num_outputs", count);
  if (declared != count || count == 0) {
    fail(FaultKind::kInvalidNode, fmt::format("num_outputs = {}, but the node has {} outputs", declared, count));
  }
  if (!extent.known()) {
    // Parts are rounded up, and the last one is what is left.
    const ParsedExtent rounded = writer.combine(extent, ParsedExtent::of(count - 1), ElementWiseOperation::kSUM);
    const ParsedExtent part =
        writer.combine(node.opset() < 18 ? extent : rounded, ParsedExtent::of(count), ElementWiseOperation::kDIV);
    ParsedExtents parts(static_cast<size_t>(count), part);
    if (node.opset() >= 18 && count > 1) {
      const ParsedExtent before = writer.combine(part, ParsedExtent::of(count - 1), ElementWiseOperation::kPROD);
      parts.back() = writer.combine(extent, before, ElementWiseOperation::kSUB);
    }
    return parts;
  }
  const int64_t part = (extent.value + count - 1) / count;
  if (node.opset() < 18 && extent.value % count != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("an extent of {} cannot be split into {} equal parts", extent.value, count));
  }
  if (part * (count - 1) > extent.value) {
    fail(FaultKind::kInvalidNode,
         fmt::format("an extent of {} in {} parts of {} leaves less than nothing for the last one", extent.value, count,
                     part));
  }
  ParsedExtents parts(static_cast<size_t>(count), ParsedExtent::of(part));
  parts.back() = ParsedExtent::of(extent.value - part * (count - 1));
  return parts;
}

ParsedValues importSplit(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const auto axis = static_cast<size_t>(node.axis(0, static_cast<int64_t>(in.size())));
  const ParsedExtents parts = partsOf(node, in[axis]);
  if (parts.size() != node.outputCount()) {
    fail(FaultKind::kInvalidNode, fmt::format("split has {} sizes for {} outputs", parts.size(), node.outputCount()));
  }
  int64_t total = 0;
  bool known = in[axis].known();
  for (const ParsedExtent& part : parts) {
    known = known && part.known();
    total += part.known() ? part.value : 0;
  }
  if (known && total != in[axis].value) {
    fail(FaultKind::kInvalidNode, fmt::format("split sizes add up to {}, but the axis has {}", total, in[axis].value));
  }
  ParsedExtents start(in.size(), ParsedExtent::of(0));
  ParsedValues outputs;
  for (const ParsedExtent& part : parts) {
    ParsedExtents size = in;
    size[axis] = part;
    outputs.push_back(writer.slice(node.input(0), start, size, ParsedExtents(in.size(), ParsedExtent::of(1))));
    start[axis] = writer.combine(start[axis], part, ElementWiseOperation::kSUM);
  }
  return outputs;
}

ParsedValues importConcat(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int32_t axis = node.axis(1, node.rank(0));
  ParsedValues parts;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    const ParsedValue& part = node.input(i);
    const Dimensions shape = writer.shapeOf(part);
    if (static_cast<int64_t>(shape.size()) != node.rank(0)) {
      fail(FaultKind::kInvalidNode,
           fmt::format("input {} has shape {}; expected rank {} as input 0 has", i, toString(shape), node.rank(0)));
    }
    // A constant without elements along the axis adds nothing.
    if (!(part.isConstant() && shape[static_cast<size_t>(axis)] == 0 && node.inputCount() > 1)) {
      parts.push_back(part);
    }
  }
  return {parts.empty() ? node.input(0) : writer.concat(parts, axis)};
}

nvinfer1::SampleMode padMode(const std::string& mode) {
  if (mode == "constant") {
    return nvinfer1::SampleMode::kFILL;
  }
  if (mode == "reflect") {
    return nvinfer1::SampleMode::kREFLECT;
  }
  if (mode == "edge") {
    return nvinfer1::SampleMode::kCLAMP;
  }
  if (mode == "wrap") {
    return nvinfer1::SampleMode::kWRAP;
  }
  fail(FaultKind::kUnsupportedAttribute, fmt::format("mode = '{}'; expected constant, reflect, edge or wrap", mode));
}

// To opset 10 numbers are attributes. That of com.microsoft, whose versions are its own, has inputs.
bool padsByAttributes(const OnnxNode& node) { return node.opset() < 11 && node.inputCount() < 2; }

ParsedValue padFill(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const DataType type = node.dataType(0);
  if (padsByAttributes(node)) {
    const float value = node.real("value", 0.0f);
    return value == 0.0f ? ParsedValue() : writer.scalar(type, value);
  }
  const ParsedValue fill = node.optional(2);
  const bool zero = fill.isNone() || (fill.isConstant() && isFloating(type) && toReals(fill.constant()).at(0) == 0.0) ||
                    (fill.isConstant() && !isFloating(type) && toInts(fill.constant()).at(0) == 0);
  return zero ? ParsedValue() : writer.reshape(fill, {});
}

void checkPad(const ParsedExtent& pad, size_t axis) {
  if (pad.known() && (pad.value > INT32_MAX || pad.value < -int64_t{INT32_MAX})) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the pad {} of axis {} is too large; expected -{} to {}", pad.value, axis, INT32_MAX, INT32_MAX));
  }
}

ParsedValues importPad(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const size_t rank = in.size();
  const ParsedExtents pads =
      writer.elements(padsByAttributes(node) ? writer.list(node.integers("pads")) : node.input(1));
  std::vector<int64_t> axes = node.hasInput(3) ? toInts(node.constant(3, "axes")) : std::vector<int64_t>{};
  for (size_t i = 0; !node.hasInput(3) && i < rank; ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) {
    fail(FaultKind::kInvalidNode,
         fmt::format("pads has {} entries; expected {}, two for each axis", pads.size(), 2 * axes.size()));
  }
  ParsedExtents start(rank, ParsedExtent::of(0));
  ParsedExtents size = in;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalizeAxis(axes[i], static_cast<int64_t>(rank)));
    checkPad(pads[i], axis);
    checkPad(pads[i + axes.size()], axis);
    start[axis] = writer.combine(ParsedExtent::of(0), pads[i], ElementWiseOperation::kSUB);
    const ParsedExtent both = writer.combine(pads[i], pads[i + axes.size()], ElementWiseOperation::kSUM);
    size[axis] = writer.combine(in[axis], both, ElementWiseOperation::kSUM);
    if (in[axis].known() && size[axis].known() && size[axis].value < 0) {
      fail(FaultKind::kInvalidNode, fmt::format("the pads {} and {} take more than the {} elements of axis {}",
                                                pads[i].value, pads[i + axes.size()].value, in[axis].value, axis));
    }
  }
  if (size == in && start == ParsedExtents(rank, ParsedExtent::of(0))) {
    return {node.input(0)};
  }
  const auto mode = padMode(node.text("mode", "constant"));
  const ParsedValue fill = mode == nvinfer1::SampleMode::kFILL ? padFill(node) : ParsedValue();
  return {writer.slice(node.input(0), start, size, ParsedExtents(rank, ParsedExtent::of(1)), mode, fill)};
}

const OperatorImporter kRows[] = {
    {"Slice", 1, kNewestOpset, importSlice, "addSlice; axes and steps constant"},
    {"Split", 2, kNewestOpset, importSplit, "addSlice for each output"},
    {"Concat", 1, kNewestOpset, importConcat, "addConcatenation"},
    {"Pad", 2, kNewestOpset, importPad, "addSlice kFILL, kREFLECT, kCLAMP or kWRAP; axes constant"},
    {"Pad", 1, kNewestOpset, importPad, "as that of the standard domain", "com.microsoft"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_slicing
