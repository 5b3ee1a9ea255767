// Pools: over windows, and over all of the spatial axes.
#include <algorithm>

#include "operator_plugin.h"
#include "operator_table.h"
#include "quantization.h"
#include "spatial_attributes.h"
#include "windows.h"

namespace tenon::parsers::onnx::ops_pooling {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::PoolingType;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

Spatial readWindow(OnnxNode& node) {
  const Dimensions kernel = node.integers("kernel_shape");
  const int64_t rank = node.rank(0);
  if (rank < 3 || rank > 5 || static_cast<int64_t>(kernel.size()) != rank - 2) {
    fail(FaultKind::kUnsupportedShape, fmt::format("input of rank {} with kernel_shape {}; expected rank 3 to 5 and "
                                                   "one entry for each axis after the second",
                                                   rank, toString(kernel)));
  }
  Spatial spatial = readSpatial(node, kernel);
  if (node.integer("ceil_mode", 0) != 0 && spatial.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN) {
    spatial.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP;
  }
  return spatial;
}

bool isDilated(const Spatial& spatial) {
  return std::any_of(spatial.dilations.begin(), spatial.dilations.end(), [](int64_t step) { return step != 1; });
}

// By Tenon's operator, which has dilations and takes integers.
ParsedValue poolByOperator(const Term& x, PoolingType type, bool excludePadding, const Spatial& given) {
  const Spatial spatial = withExplicitPadding(x, given);
  std::string text =
      fmt::format("pooling{{type={} window={} strides={} dilations={} prePadding={} postPadding={} ceilMode={}",
                  type == PoolingType::kMAX ? "max" : "average", toString(spatial.kernel), toString(spatial.strides),
                  toString(spatial.dilations), toString(spatial.padsBegin), toString(spatial.padsEnd),
                  spatial.mode == nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP);
  if (type != PoolingType::kMAX) {
    text += fmt::format(" exclusive={}", excludePadding);
  }
  return addOperator(text + "}", {x});
}

ParsedValue pool(OnnxNode& node, const ParsedValue& input, PoolingType type, bool excludePadding, Spatial spatial) {
  NetworkWriter& writer = node.writer();
  if (isDilated(spatial) || !isFloating(writer.typeOf(input))) {
    return poolByOperator(Term(writer, input), type, excludePadding, spatial);
  }
  const bool oneDimensional = spatial.rank() == 1;
  if (oneDimensional) {
    spatial.appendUnitAxis();
  }
  const ParsedValue source = oneDimensional ? withUnitAxis(writer, input) : input;
  auto& layer =
      writer.added(writer.network().addPoolingNd(writer.tensor(source), type, toDims(spatial.kernel)), "addPoolingNd");
  layer.setStrideNd(toDims(spatial.strides));
  setPadding(layer, spatial);
  layer.setAverageCountExcludesPadding(excludePadding);
  const ParsedValue result = writer.output(layer);
  return oneDimensional ? withoutUnitAxis(writer, result) : result;
}

ParsedValues importMaxPool(OnnxNode& node) {
  const Spatial spatial = readWindow(node);
  if (!node.usesOutput(1)) {
    return {pool(node, node.input(0), PoolingType::kMAX, true, spatial)};
  }
  const WindowMaximum result = windowMaximum(node.term(0), spatial, node.integer("storage_order", 0) != 0);
  return {result.value, result.index};
}

ParsedValues importAveragePool(OnnxNode& node) {
  const Spatial spatial = readWindow(node);
  const bool excludes = node.integer("count_include_pad", 0) == 0;
  return {pool(node, node.input(0), PoolingType::kAVERAGE, excludes, spatial)};
}

// The same windows rounding down: with more padding behind each has all of its cells.
Spatial withWholeWindows(Spatial spatial) {
  if (spatial.mode != nvinfer1::PaddingMode::kEXPLICIT_ROUND_UP) {
    return spatial;
  }
  spatial.mode = nvinfer1::PaddingMode::kEXPLICIT_ROUND_DOWN;
  for (size_t i = 0; i < spatial.rank(); ++i) {
    if (spatial.padsEnd[i] > spatial.kernel[i] - spatial.strides[i]) {
      fail(FaultKind::kUnsupportedAttribute, "ceil_mode with a last window that may begin behind the input");
    }
    spatial.padsEnd[i] += spatial.strides[i] - 1;
  }
  return spatial;
}

// (sum |x|^p)^(1/p), the sum as average times the window's size.
ParsedValues importLpPool(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const DataType type = node.dataType(0);
  const auto power = static_cast<double>(node.integer("p", 2));
  double window = 1;
  for (const int64_t extent : node.integers("kernel_shape")) {
    window *= static_cast<double>(extent);
  }
  const ParsedValue raised = writer.binary(writer.unary(node.input(0), UnaryOperation::kABS),
                                           writer.scalar(type, power), ElementWiseOperation::kPOW);
  const Spatial spatial = withWholeWindows(readWindow(node));
  const ParsedValue average = pool(node, raised, PoolingType::kAVERAGE, false, spatial);
  const ParsedValue sum = writer.binary(average, writer.scalar(type, window), ElementWiseOperation::kPROD);
  return {writer.binary(sum, writer.scalar(type, 1.0 / power), ElementWiseOperation::kPOW)};
}

uint32_t spatialAxes(const OnnxNode& node) {
  if (node.rank(0) < 3) {
    fail(FaultKind::kInvalidNode, fmt::format("input of rank {}; expected 3 or more", node.rank(0)));
  }
  return ((1u << static_cast<uint32_t>(node.rank(0))) - 1u) & ~3u;
}

template <ReduceOperation kOperation>
ParsedValues importGlobalPool(OnnxNode& node) {
  return {node.writer().reduce(node.input(0), kOperation, spatialAxes(node), true)};
}

ParsedValues importGlobalLpPool(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const DataType type = node.dataType(0);
  const auto power = static_cast<double>(node.integer("p", 2));
  const ParsedValue raised = writer.binary(writer.unary(node.input(0), UnaryOperation::kABS),
                                           writer.scalar(type, power), ElementWiseOperation::kPOW);
  const ParsedValue sum = writer.reduce(raised, ReduceOperation::kSUM, spatialAxes(node), true);
  return {writer.binary(sum, writer.scalar(type, 1.0 / power), ElementWiseOperation::kPOW)};
}

// x, x_scale, x_zero, y_scale, y_zero of com.microsoft: the average of real numbers, padding as 0. Channels may be
// last.
ParsedValues importQLinearAveragePool(OnnxNode& node) {
  const auto zeroAt = [&](size_t index) {
    return node.hasInput(index) ? std::optional<Term>(node.term(index).reshape({})) : std::nullopt;
  };
  Term x = dequantized(node.term(0), node.term(1).reshape({}), zeroAt(2));
  const bool isLast = node.integer("channels_last", 0) != 0;
  const Spatial spatial = readWindow(node);
  std::vector<int32_t> forth{0, static_cast<int32_t>(x.rank()) - 1};
  std::vector<int32_t> back{0};
  for (int32_t i = 1; i < static_cast<int32_t>(x.rank()) - 1; ++i) {
    forth.push_back(i);
    back.push_back(i + 1);
  }
  back.push_back(1);
  x = isLast ? x.transpose(forth) : x;
  const bool excludes = node.integer("count_include_pad", 0) == 0;
  const Term y(node.writer(), pool(node, x, PoolingType::kAVERAGE, excludes, spatial));
  return {quantized(isLast ? y.transpose(back) : y, node.term(3).reshape({}), zeroAt(4), node.dataType(0))};
}

const OperatorImporter kRows[] = {
    {"MaxPool", 1, kNewestOpset, importMaxPool,
     "addPoolingNd kMAX; dilations and integers: addPluginV3 of the operator pooling; Indices: addSlice, addElementWise "
     "for each place of the window"},
    {"AveragePool", 1, kNewestOpset, importAveragePool,
     "addPoolingNd kAVERAGE; dilations: addPluginV3 of the operator pooling"},
    {"LpPool", 2, kNewestOpset, importLpPool,
     "addUnary, addElementWise, addPoolingNd; dilations: addPluginV3 of the operator pooling"},
    {"GlobalAveragePool", 1, kNewestOpset, importGlobalPool<ReduceOperation::kAVG>, "addReduce kAVG"},
    {"GlobalMaxPool", 1, kNewestOpset, importGlobalPool<ReduceOperation::kMAX>, "addReduce kMAX"},
    {"GlobalLpPool", 2, kNewestOpset, importGlobalLpPool, "addUnary, addElementWise, addReduce kSUM"},
    {"QLinearAveragePool", 1, kNewestOpset, importQLinearAveragePool, "addPoolingNd kAVERAGE, addElementWise, addCast",
     "com.microsoft"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_pooling
