// Gathers, scatters and what else is addressed by indices.
#include <algorithm>

#include "operator_table.h"
#include "scatter_reduction.h"

namespace tenon::parsers::onnx::ops_gathering {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::GatherMode;
using nvinfer1::ScatterMode;

// ONNX counts negative indices from the end; the API does not.
ParsedValue withoutNegative(OnnxNode& node, const ParsedValue& indices, const ParsedExtent& extent) {
  NetworkWriter& writer = node.writer();
  if (indices.isConstant()) {
    const std::vector<int64_t> numbers = toInts(indices.constant());
    if (std::all_of(numbers.begin(), numbers.end(), [](int64_t number) { return number >= 0; })) {
      return indices;
    }
  } else if (node.opset() < 11) {
    return indices;  // negative indices came with opset 11
  }
  const ParsedValue end = writer.cast(writer.fromExtents({extent}, true), writer.typeOf(indices));
  const ParsedValue counted = writer.binary(indices, end, ElementWiseOperation::kSUM);
  const ParsedValue negative =
      writer.binary(indices, writer.scalar(writer.typeOf(indices), 0), ElementWiseOperation::kLESS);
  return writer.select(negative, counted, indices);
}

ParsedValues importGather(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  if (!node.input(0).isTensor()) {  // folds, negative indices too
    ParsedExtents list;
    if (node.input(1).isConstant()) {
      return {writer.gather(node.input(0), node.input(1), axis)};
    }
  }
  const ParsedValue indices = withoutNegative(node, node.input(1), in[static_cast<size_t>(axis)]);
  return {writer.gather(node.input(0), indices, axis)};
}

ParsedValues importGatherElements(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  const ParsedValue indices = withoutNegative(node, node.input(1), in[static_cast<size_t>(axis)]);
  auto* made = writer.network().addGatherV2(node.tensor(0), writer.tensor(indices), GatherMode::kELEMENT);
  auto& layer = writer.added(made, "addGatherV2");
  layer.setGatherAxis(axis);
  return {writer.output(layer)};
}

ParsedValues importGatherNd(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  auto& layer =
      writer.added(writer.network().addGatherV2(node.tensor(0), node.tensor(1), GatherMode::kND), "addGatherV2");
  layer.setNbElementWiseDims(static_cast<int32_t>(node.integer("batch_dims", 0)));
  return {writer.output(layer)};
}

ParsedValues importScatterElements(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents in = writer.dims(node.input(0));
  const int32_t axis = node.axis(0, static_cast<int64_t>(in.size()));
  const ParsedValue indices = withoutNegative(node, node.input(1), in[static_cast<size_t>(axis)]);
  const ScatterReduction reduction = readScatterReduction(node);
  if (reduction != ScatterReduction::kNone) {
    return {scatterElementsReduced(node.term(0), {writer, indices}, node.term(2), axis, reduction)};
  }
  auto* made =
      writer.network().addScatter(node.tensor(0), writer.tensor(indices), node.tensor(2), ScatterMode::kELEMENT);
  auto& layer = writer.added(made, "addScatter");
  layer.setAxis(axis);
  return {writer.output(layer)};
}

ParsedValues importScatterNd(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ScatterReduction reduction = readScatterReduction(node);
  if (reduction != ScatterReduction::kNone) {
    return {scatterNdReduced(node.term(0), node.term(1), node.term(2), reduction)};
  }
  auto* made = writer.network().addScatter(node.tensor(0), node.tensor(1), node.tensor(2), ScatterMode::kND);
  return {writer.output(writer.added(made, "addScatter"))};
}

ParsedValues importOneHot(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedExtents depth = writer.elements(writer.cast(node.input(1), DataType::kINT64));
  if (depth.size() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("depth has {} elements; expected 1", depth.size()));
  }
  const int32_t axis = node.axis(-1, node.rank(0) + 1);
  const ParsedValue integers =
      isInteger(node.dataType(0)) ? node.input(0) : writer.cast(node.input(0), DataType::kINT64);
  const ParsedValue indices = withoutNegative(node, integers, depth[0]);
  const ParsedValue scalarDepth = writer.cast(writer.fromExtents(depth, true), DataType::kINT32);
  auto* made = writer.network().addOneHot(writer.tensor(indices), node.tensor(2), writer.tensor(scalarDepth), axis);
  return {writer.output(writer.added(made, "addOneHot"))};
}

ParsedValues importReverseSequence(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  auto& layer = writer.added(writer.network().addReverseSequence(node.tensor(0), node.tensor(1)), "addReverseSequence");
  layer.setBatchAxis(normalizeAxis(node.integer("batch_axis", 1), node.rank(0)));
  layer.setSequenceAxis(normalizeAxis(node.integer("time_axis", 0), node.rank(0)));
  return {writer.output(layer)};
}

ParsedValues importGridSample(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  if (node.rank(0) != 4 && node.rank(0) != 5) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input of rank {}; expected 4 or 5", node.rank(0)));
  }
  const std::string mode = node.text("mode", "linear");
  const std::string padding = node.text("padding_mode", "zeros");
  auto& layer = writer.added(writer.network().addGridSample(node.tensor(0), node.tensor(1)), "addGridSample");
  if (mode == "linear" || mode == "bilinear") {
    layer.setInterpolationMode(nvinfer1::InterpolationMode::kLINEAR);
  } else if (mode == "nearest" || mode == "cubic" || mode == "bicubic") {
    layer.setInterpolationMode(mode == "nearest" ? nvinfer1::InterpolationMode::kNEAREST
                                                 : nvinfer1::InterpolationMode::kCUBIC);
  } else {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("mode = '{}'; expected linear, nearest or cubic", mode));
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("padding_mode = '{}'; expected zeros, border or reflection", padding));
  }
  layer.setSampleMode(padding == "zeros"    ? nvinfer1::SampleMode::kFILL
                      : padding == "border" ? nvinfer1::SampleMode::kCLAMP
                                            : nvinfer1::SampleMode::kREFLECT);
  layer.setAlignCorners(node.integer("align_corners", 0) != 0);
  return {writer.output(layer)};
}

const OperatorImporter kRows[] = {
    {"Gather", 1, kNewestOpset, importGather, "addGather; negative indices: addSelect"},
    {"GatherElements", 11, kNewestOpset, importGatherElements, "addGatherV2 kELEMENT"},
    {"GatherND", 11, kNewestOpset, importGatherNd, "addGatherV2 kND; indices of 0 or more"},
    {"GatherND", 1, kNewestOpset, importGatherNd, "as that of the standard domain", "com.microsoft"},
    {"Scatter", 9, kNewestOpset, importScatterElements, "addScatter kELEMENT"},
    {"ScatterElements", 11, kNewestOpset, importScatterElements,
     "addScatter kELEMENT; with a reduction addPluginV3 of the operator scatter_reduce"},
    {"ScatterND", 11, kNewestOpset, importScatterNd, "addScatter kND; with a reduction as ScatterElements"},
    {"OneHot", 9, kNewestOpset, importOneHot, "addOneHot"},
    {"ReverseSequence", 10, kNewestOpset, importReverseSequence, "addReverseSequence"},
    {"GridSample", 16, kNewestOpset, importGridSample, "addGridSample; rank 4 or 5"},
    {"GridSample", 1, kNewestOpset, importGridSample, "as that of the standard domain", "com.microsoft"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_gathering
