// Pools: over windows, and over all of the spatial axes.
#include "operator_table.h"
#include "spatial.h"

namespace tenon::onnxparser {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::PoolingType;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

Spatial readWindow(Node& node) {
  const Shape kernel = node.integers("kernel_shape");
  const int64_t rank = node.rank(0);
  if (rank < 3 || rank > 5 || static_cast<int64_t>(kernel.size()) != rank - 2) {
    fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
         fmt::format("input of rank {} with kernel_shape {}; expected rank 3 to 5 and "
                     "one entry for each axis after the second",
                     rank, toString(kernel)));
  }
  Spatial spatial = readSpatial(node, kernel);
  for (const int64_t dilation : spatial.dilations) {
    if (dilation != 1) {
      fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
           fmt::format("dilations = {}; pools have dilation 1 only", toString(spatial.dilations)));
    }
  }
  if (node.integer("ceil_mode", 0) != 0 && spatial.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN) {
    spatial.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
  }
  return spatial;
}

Value pool(Node& node, const Value& input, PoolingType type, bool excludePadding, Spatial spatial) {
  Emitter& emit = node.emit();
  const bool oneDimensional = spatial.rank() == 1;
  if (oneDimensional) {
    spatial.appendUnitAxis();
  }
  const Value source = oneDimensional ? withUnitAxis(emit, input) : input;
  auto& layer =
      emit.added(emit.network().addPoolingNd(emit.tensor(source), type, toDims(spatial.kernel)), "addPoolingNd");
  layer.setStrideNd(toDims(spatial.strides));
  setPadding(layer, spatial);
  layer.setAverageCountExcludesPadding(excludePadding);
  const Value result = emit.output(layer);
  return oneDimensional ? withoutUnitAxis(emit, result) : result;
}

Value pool(Node& node, const Value& input, PoolingType type, bool excludePadding) {
  return pool(node, input, type, excludePadding, readWindow(node));
}

Values importMaxPool(Node& node) {
  if (node.usesOutput(1)) {
    fail(ErrorCode::kUNSUPPORTED_NODE, "the output 'Indices' has no counterpart in the API; remove its uses");
  }
  return {pool(node, node.input(0), PoolingType::kMAX, true)};
}

Values importAveragePool(Node& node) {
  return {pool(node, node.input(0), PoolingType::kAVERAGE, node.integer("count_include_pad", 0) == 0)};
}

// The same windows rounding down: with more padding behind each has all of its cells.
Spatial withWholeWindows(Spatial spatial) {
  if (spatial.mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP) {
    return spatial;
  }
  spatial.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  for (size_t i = 0; i < spatial.rank(); ++i) {
    if (spatial.padsEnd[i] > spatial.kernel[i] - spatial.strides[i]) {
      fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, "ceil_mode with a last window that may begin behind the input");
    }
    spatial.padsEnd[i] += spatial.strides[i] - 1;
  }
  return spatial;
}

// (sum |x|^p)^(1/p), the sum as average times the window's size.
Values importLpPool(Node& node) {
  Emitter& emit = node.emit();
  const DataType type = node.dataType(0);
  const auto power = static_cast<double>(node.integer("p", 2));
  double window = 1;
  for (const int64_t extent : node.integers("kernel_shape")) {
    window *= static_cast<double>(extent);
  }
  const Value raised = emit.binary(emit.unary(node.input(0), UnaryOperation::kABS), emit.scalar(type, power),
                                   ElementWiseOperation::kPOW);
  const Value average = pool(node, raised, PoolingType::kAVERAGE, false, withWholeWindows(readWindow(node)));
  const Value sum = emit.binary(average, emit.scalar(type, window), ElementWiseOperation::kPROD);
  return {emit.binary(sum, emit.scalar(type, 1.0 / power), ElementWiseOperation::kPOW)};
}

uint32_t spatialAxes(const Node& node) {
  if (node.rank(0) < 3) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("input of rank {}; expected 3 or more", node.rank(0)));
  }
  return ((1u << static_cast<uint32_t>(node.rank(0))) - 1u) & ~3u;
}

template <ReduceOperation kOperation>
Values importGlobalPool(Node& node) {
  return {node.emit().reduce(node.input(0), kOperation, spatialAxes(node), true)};
}

Values importGlobalLpPool(Node& node) {
  Emitter& emit = node.emit();
  const DataType type = node.dataType(0);
  const auto power = static_cast<double>(node.integer("p", 2));
  const Value raised = emit.binary(emit.unary(node.input(0), UnaryOperation::kABS), emit.scalar(type, power),
                                   ElementWiseOperation::kPOW);
  const Value sum = emit.reduce(raised, ReduceOperation::kSUM, spatialAxes(node), true);
  return {emit.binary(sum, emit.scalar(type, 1.0 / power), ElementWiseOperation::kPOW)};
}

const OperatorImporter kRows[] = {
    {"MaxPool", 1, kNewestOpset, importMaxPool, "addPoolingNd kMAX; no Indices output, dilations 1 only"},
    {"AveragePool", 1, kNewestOpset, importAveragePool, "addPoolingNd kAVERAGE; dilations 1 only"},
    {"LpPool", 2, kNewestOpset, importLpPool, "addUnary, addElementWise, addPoolingNd; dilations 1 only"},
    {"GlobalAveragePool", 1, kNewestOpset, importGlobalPool<ReduceOperation::kAVG>, "addReduce kAVG"},
    {"GlobalMaxPool", 1, kNewestOpset, importGlobalPool<ReduceOperation::kMAX>, "addReduce kMAX"},
    {"GlobalLpPool", 2, kNewestOpset, importGlobalLpPool, "addUnary, addElementWise, addReduce kSUM"},
};

}  // namespace

namespace ops_pooling {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_pooling
}  // namespace tenon::onnxparser
