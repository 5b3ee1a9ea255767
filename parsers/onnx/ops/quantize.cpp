// Quantization: symmetric scales become quantize and dequantize layers, others arithmetic.
#include <algorithm>

#include "operator_plugin.h"
#include "operator_table.h"
#include "quantization.h"

namespace tenon::parsers::onnx::ops_quantize {
namespace {

bool isLayerType(DataType type) {
  return type == DataType::kINT8 || type == DataType::kFP8 || type == DataType::kINT4 || type == DataType::kFP4;
}

bool isZero(const WeightBytes& constant) {
  const auto* bytes = static_cast<const unsigned char*>(constant.data);
  return std::all_of(bytes, bytes + constant.bytes(), [](unsigned char byte) { return byte == 0; });
}

// Whether the layers of the API can say it: symmetric, one scale for the tensor or for each slice of an axis.
bool fitsLayer(const OnnxNode& node, DataType type) {
  return isLayerType(type) && node.integer("block_size", 0) == 0 && node.rank(1) <= 1 &&
         (!node.hasInput(2) || (node.input(2).isConstant() && isZero(node.input(2).constant())));
}

// Whether Tenon's operators can: bytes of either sign with any zero point, one scale for the tensor or for each slice.
bool fitsOperator(const OnnxNode& node, DataType type) {
  return (type == DataType::kINT8 || type == DataType::kUINT8) && node.integer("block_size", 0) == 0 &&
         node.rank(1) <= 1;
}
const char* operatorType(DataType type) { return type == DataType::kINT8 ? "i8" : "u8"; }
int64_t axisOf(const OnnxNode& node) {
  return node.rank(1) == 0 || node.term(1).dim(0).is(1) ? -1 : node.axis(1, node.rank(0));
}
std::vector<Term> operands(const OnnxNode& node) {
  std::vector<Term> result{node.term(0), node.term(1)};
  if (node.hasInput(2)) {
    result.push_back(node.term(2));
  }
  return result;
}

void refuseWide(const OnnxNode& node, DataType type) {
  if (type == DataType::kFP8 || type == DataType::kINT4 || type == DataType::kFP4) {
    fail(FaultKind::kUnsupportedInput,
         fmt::format("{} with a zero point other than 0, with blocks or with a scale of rank {}; expected a symmetric "
                     "scale for the tensor or for each slice of an axis",
                     typeName(type), node.rank(1)));
  }
}

// The type of the quantized side: that of the zero point, or of the attribute, or INT8.
DataType quantizedType(const OnnxNode& node) {
  if (node.hasInput(2)) {
    return node.dataType(2);
  }
  const int64_t number = node.integer("output_dtype", 0);
  const auto type = toDataType(static_cast<int32_t>(number));
  if (number != 0 && !type) {
    fail(FaultKind::kUnsupportedAttribute, fmt::format("output_dtype = {} ({}), a type that TensorRT does not have",
                                                       number, onnxTypeName(static_cast<int32_t>(number))));
  }
  return number == 0 ? DataType::kINT8 : *type;
}

std::optional<Term> zeroPoint(const OnnxNode& node) {
  if (!node.hasInput(2)) {
    return std::nullopt;
  }
  return alongAxis(node.term(2), node.term(0), node.integer("axis", 1), node.integer("block_size", 0));
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
  const DataType type = quantizedType(node);
  if (!fitsLayer(node, type)) {
    if (fitsOperator(node, type) && isFloating(node.dataType(0))) {
      return {
          addOperator(fmt::format("quantize{{axis={} type={}}}", axisOf(node), operatorType(type)), operands(node))};
    }
    refuseWide(node, type);
    const Term x = node.term(0);
    const Term scale = alongAxis(node.term(1), x, node.integer("axis", 1), node.integer("block_size", 0));
    return {quantized(x, scale, zeroPoint(node), type)};
  }
  const ParsedValue scale = scaleOf(node);
  auto& layer = writer.added(writer.network().addQuantize(node.tensor(0), writer.tensor(scale), type), "addQuantize");
  setAxis(node, layer, scale);
  return {writer.output(layer)};
}

ParsedValues importDequantize(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const DataType type = node.dataType(0);
  const auto wanted = toDataType(static_cast<int32_t>(node.integer("output_dtype", 0)));
  if (!fitsLayer(node, type)) {
    const DataType real = wanted.value_or(node.dataType(1));
    if (fitsOperator(node, type) && real == DataType::kFLOAT && node.dataType(1) == DataType::kFLOAT) {
      return {addOperator(fmt::format("dequantize{{axis={}}}", axisOf(node)), operands(node))};
    }
    refuseWide(node, type);
    const Term x = node.term(0);
    const Term scale = alongAxis(node.term(1), x, node.integer("axis", 1), node.integer("block_size", 0));
    const Term result = dequantized(x, scale, zeroPoint(node));
    return {wanted ? result.cast(*wanted) : result};
  }
  const ParsedValue scale = scaleOf(node);
  auto* made =
      writer.network().addDequantize(node.tensor(0), writer.tensor(scale), wanted.value_or(writer.typeOf(scale)));
  auto& layer = writer.added(made, "addDequantize");
  setAxis(node, layer, scale);
  return {writer.output(layer)};
}

// Scale and zero point of the range that x and 0 span, and x in it as UINT8. The scale of nothing but zeros is 1.
ParsedValues importDynamicQuantize(OnnxNode& node) {
  const Term x = node.term(0);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const Term least = x.reduce(nvinfer1::ReduceOperation::kMIN, axes, false).atMost(x.number(0));
  const Term most = x.reduce(nvinfer1::ReduceOperation::kMAX, axes, false).atLeast(x.number(0));
  const Term range = most - least;
  const Term scale = where(range > 0.0, range / 255, range.number(1));
  const Term zero = roundOf((0.0 - least / scale).clamp(0, 255)).cast(DataType::kUINT8);
  return {addOperator("quantize{axis=-1 type=u8}", {x, scale, zero}), scale, zero};
}

const OperatorImporter kRows[] = {
    {"QuantizeLinear", 10, kNewestOpset, importQuantize,
     "addQuantize; other zero points and UINT8: addPluginV3 of the operator quantize; blocks: addElementWise, addCast"},
    {"DequantizeLinear", 10, kNewestOpset, importDequantize,
     "addDequantize; other zero points and UINT8: addPluginV3 of the operator dequantize; blocks and INT32: "
     "addElementWise, addCast"},
    {"QuantizeLinear", 1, kNewestOpset, importQuantize, "as that of the standard domain", "com.microsoft"},
    {"DequantizeLinear", 1, kNewestOpset, importDequantize, "as that of the standard domain", "com.microsoft"},
    {"DynamicQuantizeLinear", 11, kNewestOpset, importDynamicQuantize, "addReduce, addElementWise, addCast"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_quantize
