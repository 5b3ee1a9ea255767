// Quantization: symmetric scales become quantize and dequantize layers.
#include <algorithm>

#include "operator_table.h"

namespace tenon::parsers::onnx {
namespace {

void checkBlocks(const OnnxNode& node) {
  if (node.integer("block_size", 0) != 0) {
    fail(FaultKind::kUnsupportedAttribute,
         "block_size is set; expected one scale for the tensor or for each slice of an "
         "axis");
  }
}

// The type of the quantized side: that of the zero point, or of the attribute, or INT8. Zero points must be 0.
DataType quantizedType(const OnnxNode& node) {
  if (!node.hasInput(2)) {
    const auto type = toDataType(static_cast<int32_t>(node.integer("output_dtype", 0)));
    return node.integer("output_dtype", 0) == 0 || !type ? DataType::kINT8 : *type;
  }
  const WeightBytes& zero = node.constant(2, "zero point");
  const DataType type = zero.type;
  if (type != DataType::kINT8 && type != DataType::kFP8 && type != DataType::kINT4 && type != DataType::kFP4) {
    fail(FaultKind::kUnsupportedType, fmt::format("the zero point has type {}; expected INT8, FP8, INT4 or FP4. "
                                                  "Quantize symmetrically to INT8",
                                                  typeName(type)));
  }
  const auto* bytes = static_cast<const unsigned char*>(zero.data);
  if (!std::all_of(bytes, bytes + zero.bytes(), [](unsigned char byte) { return byte == 0; })) {
    fail(FaultKind::kUnsupportedInput, "a zero point is not 0; quantize symmetrically");
  }
  return type;
}

// One scale is a scalar for the API, whichever way the model writes it.
ParsedValue scaleOf(const OnnxNode& node) {
  const ParsedValue& scale = node.input(1);
  const Dimensions shape = node.writer().shapeOf(scale);
  return shape == Dimensions{1} ? node.writer().reshape(scale, {}) : scale;
}

template <typename Layer>
void setAxis(const OnnxNode& node, Layer& layer, const ParsedValue& scale) {
  if (node.writer().rankOf(scale) > 0) {
    layer.setAxis(node.axis(1, node.rank(0)));
  }
}

ParsedValues importQuantize(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  checkBlocks(node);
  const DataType type = quantizedType(node);
  const ParsedValue scale = scaleOf(node);
  auto& layer = writer.added(writer.network().addQuantize(node.tensor(0), writer.tensor(scale), type), "addQuantize");
  setAxis(node, layer, scale);
  return {writer.output(layer)};
}

// INT32 (quantized biases) has no layer; constants of it become reals here.
ParsedValue dequantizedConstant(const OnnxNode& node, const ParsedValue& scale) {
  NetworkWriter& writer = node.writer();
  if (node.hasInput(2)) {
    const std::vector<int64_t> zeros = toInts(node.constant(2, "zero point"));
    if (!std::all_of(zeros.begin(), zeros.end(), [](int64_t zero) { return zero == 0; })) {
      fail(FaultKind::kUnsupportedInput, "a zero point is not 0; quantize symmetrically");
    }
  }
  const ParsedValue reals = writer.cast(node.input(0), writer.typeOf(scale));
  ParsedValue factor = scale;
  if (writer.rankOf(scale) == 1) {
    std::vector<int64_t> axes;
    const int32_t axis = node.axis(1, node.rank(0));
    for (int32_t i = 0; i < static_cast<int32_t>(node.rank(0)); ++i) {
      if (i != axis) {
        axes.push_back(i);
      }
    }
    factor = writer.unsqueeze(scale, axes);
  }
  return writer.binary(reals, factor, nvinfer1::ElementWiseOperation::kPROD);
}

ParsedValues importDequantize(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  checkBlocks(node);
  const ParsedValue scale = scaleOf(node);
  if (node.dataType(0) == DataType::kINT32) {
    node.constant(0, "an INT32 operand");
    return {dequantizedConstant(node, scale)};
  }
  quantizedType(node);
  auto* made = writer.network().addDequantize(node.tensor(0), writer.tensor(scale), writer.typeOf(scale));
  auto& layer = writer.added(made, "addDequantize");
  setAxis(node, layer, scale);
  return {writer.output(layer)};
}

const OperatorImporter kRows[] = {
    {"QuantizeLinear", 10, kNewestOpset, importQuantize, "addQuantize; zero point 0, no blocks"},
    {"DequantizeLinear", 10, kNewestOpset, importDequantize,
     "addDequantize; zero point 0, no blocks; INT32 constants are computed while parsing"},
};

}  // namespace

namespace ops_quantize {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_quantize
}  // namespace tenon::parsers::onnx
