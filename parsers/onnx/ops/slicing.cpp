// Slices, splits, concatenations and padding.
#include "operator_table.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;

// A bound counted from the end when negative. Its sign may be known only at run time.
Extent fromEnd(Emitter& emit, const Extent& bound, const Extent& extent) {
  if (bound.known()) {
    return bound.value >= 0 ? bound : emit.combine(extent, bound, ElementWiseOperation::kSUM);
  }
  if (bound.neverNegative()) {
    return bound;
  }
  const Value value = emit.fromExtents({bound});
  const Value counted = emit.fromExtents({emit.combine(bound, extent, ElementWiseOperation::kSUM)});
  const Value negative = emit.binary(value, emit.list({0}), ElementWiseOperation::kLESS);
  return emit.elements(emit.select(negative, counted, value)).at(0);
}

Extent clamp(Emitter& emit, const Extent& bound, const Extent& low, const Extent& high) {
  if (bound.known() && bound.value >= INT32_MAX) {  // "to the end", as exporters write it
    return high;
  }
  return emit.combine(emit.combine(bound, low, ElementWiseOperation::kMAX), high, ElementWiseOperation::kMIN);
}

struct Range {
  Extent start;
  Extent size;
};

Range resolveRange(Emitter& emit, const Extent& start, const Extent& end, int64_t step, const Extent& extent) {
  const Extent zero = Extent::of(0);
  if (step > 0) {
    const Extent from = clamp(emit, fromEnd(emit, start, extent), zero, extent);
    const Extent to = clamp(emit, fromEnd(emit, end, extent), zero, extent);
    const Extent span = emit.combine(to, from, ElementWiseOperation::kSUB);
    const Extent rounded = emit.combine(span, Extent::of(step - 1), ElementWiseOperation::kSUM);
    const Extent count = emit.combine(rounded, Extent::of(step), ElementWiseOperation::kFLOOR_DIV);
    return {from, emit.combine(count, zero, ElementWiseOperation::kMAX)};
  }
  const Extent last = emit.combine(extent, Extent::of(1), ElementWiseOperation::kSUB);
  const bool toBegin = end.known() && end.value < INT32_MIN / 2;  // an end before the first element
  const Extent from = clamp(emit, fromEnd(emit, start, extent), zero, last);
  const Extent to = toBegin ? Extent::of(-1) : clamp(emit, fromEnd(emit, end, extent), Extent::of(-1), last);
  const Extent span = emit.combine(from, to, ElementWiseOperation::kSUB);
  const Extent rounded = emit.combine(span, Extent::of(-step - 1), ElementWiseOperation::kSUM);
  const Extent count = emit.combine(rounded, Extent::of(-step), ElementWiseOperation::kFLOOR_DIV);
  return {from, emit.combine(count, zero, ElementWiseOperation::kMAX)};
}

// Starts, ends, axes and steps were attributes (without steps) up to opset 9.
Values importSlice(Node& node) {
  Emitter& emit = node.emit();
  const bool attributes = node.opset() < 10;
  const auto list = [&](const char* name, size_t index) {
    return emit.elements(attributes ? emit.list(node.integers(name)) : node.input(index));
  };
  const Extents starts = list("starts", 1);
  const Extents ends = list("ends", 2);
  Shape axes = attributes ? node.integers("axes") : node.hasInput(3) ? toInts(node.constant(3, "axes")) : Shape{};
  Shape steps = !attributes && node.hasInput(4) ? toInts(node.constant(4, "steps")) : Shape(starts.size(), 1);
  for (size_t i = 0; axes.size() < starts.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("starts, ends, axes and steps have {}, {}, {} and {} entries; expected the "
                     "same number",
                     starts.size(), ends.size(), axes.size(), steps.size()));
  }
  const Extents in = emit.dims(node.input(0));
  Extents start(in.size(), Extent::of(0));
  Extents size = in;
  Extents stride(in.size(), Extent::of(1));
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(normalizeAxis(axes[i], static_cast<int64_t>(in.size())));
    if (steps[i] == 0) {
      fail(ErrorCode::kINVALID_NODE, "a step is 0; expected any other number");
    }
    const Range range = resolveRange(emit, starts[i], ends[i], steps[i], in[axis]);
    start[axis] = range.start;
    size[axis] = range.size;
    stride[axis] = Extent::of(steps[i]);
  }
  if (size == in && start == Extents(in.size(), Extent::of(0)) && stride == Extents(in.size(), Extent::of(1))) {
    return {node.input(0)};
  }
  return {emit.slice(node.input(0), start, size, stride)};
}

// Sizes from the attribute (to opset 12), the input, or equal parts (the last one smaller, from opset 18).
Extents partsOf(Node& node, const Extent& extent) {
  Emitter& emit = node.emit();
  if (node.opset() < 13 && node.has("split")) {
    return emit.elements(emit.list(node.integers("split")));
  }
  if (node.opset() >= 13 && node.hasInput(1)) {
    return emit.elements(node.input(1));
  }
  const auto count = static_cast<int64_t>(node.outputCount());
  const int64_t declared = node.integer("num_outputs", count);
  if (declared != count || count == 0) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("num_outputs = {}, but the node has {} outputs", declared, count));
  }
  if (!extent.known()) {
    return Extents(static_cast<size_t>(count), emit.combine(extent, Extent::of(count), ElementWiseOperation::kDIV));
  }
  const int64_t part = (extent.value + count - 1) / count;
  if (node.opset() < 18 && extent.value % count != 0) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("an extent of {} cannot be split into {} equal parts", extent.value, count));
  }
  Extents parts(static_cast<size_t>(count), Extent::of(part));
  parts.back() = Extent::of(extent.value - part * (count - 1));
  return parts;
}

Values importSplit(Node& node) {
  Emitter& emit = node.emit();
  const Extents in = emit.dims(node.input(0));
  const auto axis = static_cast<size_t>(node.axis(0, static_cast<int64_t>(in.size())));
  const Extents parts = partsOf(node, in[axis]);
  if (parts.size() != node.outputCount()) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("split has {} sizes for {} outputs", parts.size(), node.outputCount()));
  }
  int64_t total = 0;
  bool known = in[axis].known();
  for (const Extent& part : parts) {
    known = known && part.known();
    total += part.known() ? part.value : 0;
  }
  if (known && total != in[axis].value) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("split sizes add up to {}, but the axis has {}", total, in[axis].value));
  }
  Extents start(in.size(), Extent::of(0));
  Values outputs;
  for (const Extent& part : parts) {
    Extents size = in;
    size[axis] = part;
    outputs.push_back(emit.slice(node.input(0), start, size, Extents(in.size(), Extent::of(1))));
    start[axis] = emit.combine(start[axis], part, ElementWiseOperation::kSUM);
  }
  return outputs;
}

Values importConcat(Node& node) {
  Emitter& emit = node.emit();
  const int32_t axis = node.axis(1, node.rank(0));
  Values parts;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    const Value& part = node.input(i);
    const Shape shape = emit.shapeOf(part);
    if (static_cast<int64_t>(shape.size()) != node.rank(0)) {
      fail(ErrorCode::kINVALID_NODE,
           fmt::format("input {} has shape {}; expected rank {} as input 0 has", i, toString(shape), node.rank(0)));
    }
    // An empty constant adds nothing.
    if (!(part.isConstant() && part.constant().count() == 0 && node.inputCount() > 1)) {
      parts.push_back(part);
    }
  }
  return {parts.empty() ? node.input(0) : emit.concat(parts, axis)};
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
  fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("mode = '{}'; expected constant, reflect, edge or wrap", mode));
}

Value padFill(Node& node) {
  Emitter& emit = node.emit();
  const DataType type = node.dataType(0);
  if (node.opset() < 11) {
    const float value = node.real("value", 0.0f);
    return value == 0.0f ? Value() : emit.scalar(type, value);
  }
  const Value fill = node.optional(2);
  const bool zero = fill.isNone() || (fill.isConstant() && isFloating(type) && toReals(fill.constant()).at(0) == 0.0) ||
                    (fill.isConstant() && !isFloating(type) && toInts(fill.constant()).at(0) == 0);
  return zero ? Value() : emit.reshape(fill, {});
}

void checkPad(const Extent& pad, size_t axis) {
  if (pad.known() && (pad.value > INT32_MAX || pad.value < -int64_t{INT32_MAX})) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("the pad {} of axis {} is too large; expected -{} to {}", pad.value, axis, INT32_MAX, INT32_MAX));
  }
}

Values importPad(Node& node) {
  Emitter& emit = node.emit();
  const Extents in = emit.dims(node.input(0));
  const size_t rank = in.size();
  const Extents pads = emit.elements(node.opset() < 11 ? emit.list(node.integers("pads")) : node.input(1));
  Shape axes = node.hasInput(3) ? toInts(node.constant(3, "axes")) : Shape{};
  for (size_t i = 0; !node.hasInput(3) && i < rank; ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("pads has {} entries; expected {}, two for each axis", pads.size(), 2 * axes.size()));
  }
  Extents start(rank, Extent::of(0));
  Extents size = in;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalizeAxis(axes[i], static_cast<int64_t>(rank)));
    checkPad(pads[i], axis);
    checkPad(pads[i + axes.size()], axis);
    start[axis] = emit.combine(Extent::of(0), pads[i], ElementWiseOperation::kSUB);
    const Extent both = emit.combine(pads[i], pads[i + axes.size()], ElementWiseOperation::kSUM);
    size[axis] = emit.combine(in[axis], both, ElementWiseOperation::kSUM);
    if (in[axis].known() && size[axis].known() && size[axis].value < 0) {
      fail(ErrorCode::kINVALID_NODE, fmt::format("the pads {} and {} take more than the {} elements of axis {}",
                                                 pads[i].value, pads[i + axes.size()].value, in[axis].value, axis));
    }
  }
  if (size == in && start == Extents(rank, Extent::of(0))) {
    return {node.input(0)};
  }
  const auto mode = padMode(node.text("mode", "constant"));
  const Value fill = mode == nvinfer1::SampleMode::kFILL ? padFill(node) : Value();
  return {emit.slice(node.input(0), start, size, Extents(rank, Extent::of(1)), mode, fill)};
}

const OperatorImporter kRows[] = {
    {"Slice", 1, kNewestOpset, importSlice, "addSlice; axes and steps constant"},
    {"Split", 2, kNewestOpset, importSplit, "addSlice for each output"},
    {"Concat", 1, kNewestOpset, importConcat, "addConcatenation"},
    {"Pad", 2, kNewestOpset, importPad, "addSlice kFILL, kREFLECT, kCLAMP or kWRAP; axes constant"},
};

}  // namespace

namespace ops_slicing {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_slicing
}  // namespace tenon::onnxparser
