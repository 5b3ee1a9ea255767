// Gathers, scatters and what else is addressed by indices.
#include <algorithm>

#include "operator_table.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::GatherMode;
using nvinfer1::ScatterMode;

// ONNX counts negative indices from the end; the API does not.
Value withoutNegative(Node& node, const Value& indices, const Extent& extent) {
  Emitter& emit = node.emit();
  if (indices.isConstant()) {
    const std::vector<int64_t> numbers = toInts(indices.constant());
    if (std::all_of(numbers.begin(), numbers.end(), [](int64_t number) { return number >= 0; })) {
      return indices;
    }
  } else if (node.opset() < 11) {
    return indices;  // negative indices came with opset 11
  }
  const Value end = emit.cast(emit.fromExtents({extent}, true), emit.typeOf(indices));
  const Value counted = emit.binary(indices, end, ElementWiseOperation::kSUM);
  const Value negative = emit.binary(indices, emit.scalar(emit.typeOf(indices), 0), ElementWiseOperation::kLESS);
  return emit.select(negative, counted, indices);
}

Values importGather(Node& node) {
  Emitter& emit = node.emit();
  const Extents in = emit.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  if (!node.input(0).isTensor()) {  // folds, negative indices too
    Extents list;
    if (node.input(1).isConstant()) {
      return {emit.gather(node.input(0), node.input(1), axis)};
    }
  }
  const Value indices = withoutNegative(node, node.input(1), in[static_cast<size_t>(axis)]);
  return {emit.gather(node.input(0), indices, axis)};
}

Values importGatherElements(Node& node) {
  Emitter& emit = node.emit();
  const Extents in = emit.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  const Value indices = withoutNegative(node, node.input(1), in[static_cast<size_t>(axis)]);
  auto* made = emit.network().addGatherV2(node.tensor(0), emit.tensor(indices), GatherMode::kELEMENT);
  auto& layer = emit.added(made, "addGatherV2");
  layer.setGatherAxis(axis);
  return {emit.output(layer)};
}

Values importGatherNd(Node& node) {
  Emitter& emit = node.emit();
  auto& layer = emit.added(emit.network().addGatherV2(node.tensor(0), node.tensor(1), GatherMode::kND), "addGatherV2");
  layer.setNbElementWiseDims(static_cast<int32_t>(node.integer("batch_dims", 0)));
  return {emit.output(layer)};
}

void refuseReduction(const Node& node) {
  const std::string reduction = node.text("reduction", "none");
  if (reduction != "none") {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("reduction = '{}'; expected 'none'", reduction));
  }
}

Values importScatterElements(Node& node) {
  Emitter& emit = node.emit();
  refuseReduction(node);
  const Extents in = emit.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  const Value indices = withoutNegative(node, node.input(1), in[static_cast<size_t>(axis)]);
  auto* made = emit.network().addScatter(node.tensor(0), emit.tensor(indices), node.tensor(2), ScatterMode::kELEMENT);
  auto& layer = emit.added(made, "addScatter");
  layer.setAxis(axis);
  return {emit.output(layer)};
}

Values importScatterNd(Node& node) {
  Emitter& emit = node.emit();
  refuseReduction(node);
  auto* made = emit.network().addScatter(node.tensor(0), node.tensor(1), node.tensor(2), ScatterMode::kND);
  return {emit.output(emit.added(made, "addScatter"))};
}

Values importOneHot(Node& node) {
  Emitter& emit = node.emit();
  const Extents depth = emit.elements(emit.cast(node.input(1), DataType::kINT64));
  if (depth.size() != 1) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("depth has {} elements; expected 1", depth.size()));
  }
  const int32_t axis = node.axis(-1, node.rank(0) + 1);
  const Value integers = isInteger(node.dataType(0)) ? node.input(0) : emit.cast(node.input(0), DataType::kINT64);
  const Value indices = withoutNegative(node, integers, depth[0]);
  const Value scalarDepth = emit.cast(emit.fromExtents(depth, true), DataType::kINT32);
  auto* made = emit.network().addOneHot(emit.tensor(indices), node.tensor(2), emit.tensor(scalarDepth), axis);
  return {emit.output(emit.added(made, "addOneHot"))};
}

Values importNonZero(Node& node) {
  Emitter& emit = node.emit();
  auto& layer = emit.added(emit.network().addNonZero(node.tensor(0)), "addNonZero");
  return {emit.cast(emit.output(layer), DataType::kINT64)};
}

Values importReverseSequence(Node& node) {
  Emitter& emit = node.emit();
  auto& layer = emit.added(emit.network().addReverseSequence(node.tensor(0), node.tensor(1)), "addReverseSequence");
  layer.setBatchAxis(normalizeAxis(node.integer("batch_axis", 1), node.rank(0)));
  layer.setSequenceAxis(normalizeAxis(node.integer("time_axis", 0), node.rank(0)));
  return {emit.output(layer)};
}

Values importGridSample(Node& node) {
  Emitter& emit = node.emit();
  if (node.rank(0) != 4) {
    fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE, fmt::format("input of rank {}; expected 4", node.rank(0)));
  }
  const std::string mode = node.text("mode", "linear");
  const std::string padding = node.text("padding_mode", "zeros");
  auto& layer = emit.added(emit.network().addGridSample(node.tensor(0), node.tensor(1)), "addGridSample");
  if (mode == "linear" || mode == "bilinear") {
    layer.setInterpolationMode(nvinfer1::InterpolationMode::kLINEAR);
  } else if (mode == "nearest" || mode == "cubic" || mode == "bicubic") {
    layer.setInterpolationMode(mode == "nearest" ? nvinfer1::InterpolationMode::kNEAREST
                                                 : nvinfer1::InterpolationMode::kCUBIC);
  } else {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("mode = '{}'; expected linear, nearest or cubic", mode));
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
         fmt::format("padding_mode = '{}'; expected zeros, border or reflection", padding));
  }
  layer.setSampleMode(padding == "zeros"    ? nvinfer1::SampleMode::kFILL
                      : padding == "border" ? nvinfer1::SampleMode::kCLAMP
                                            : nvinfer1::SampleMode::kREFLECT);
  layer.setAlignCorners(node.integer("align_corners", 0) != 0);
  return {emit.output(layer)};
}

const OperatorImporter kRows[] = {
    {"Gather", 1, kNewestOpset, importGather, "addGather; negative indices: addSelect"},
    {"GatherElements", 11, kNewestOpset, importGatherElements, "addGatherV2 kELEMENT"},
    {"GatherND", 11, kNewestOpset, importGatherNd, "addGatherV2 kND; indices of 0 or more"},
    {"Scatter", 9, kNewestOpset, importScatterElements, "addScatter kELEMENT"},
    {"ScatterElements", 11, kNewestOpset, importScatterElements, "addScatter kELEMENT; no reduction"},
    {"ScatterND", 11, kNewestOpset, importScatterNd, "addScatter kND; no reduction"},
    {"OneHot", 9, kNewestOpset, importOneHot, "addOneHot"},
    {"NonZero", 9, kNewestOpset, importNonZero, "addNonZero, addCast"},
    {"ReverseSequence", 10, kNewestOpset, importReverseSequence, "addReverseSequence"},
    {"GridSample", 16, kNewestOpset, importGridSample, "addGridSample; rank 4"},
};

}  // namespace

namespace ops_gathering {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_gathering
}  // namespace tenon::onnxparser
