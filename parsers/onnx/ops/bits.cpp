// Operators on the bits of integers: pointwise operators of Tenon, as the API has no layers for them.
#include <algorithm>

#include "../operator_plugin.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_bits {
namespace {

void checkType(const OnnxNode& node) {
  const DataType type = node.dataType(0);
  if (!isInteger(type) && type != DataType::kINT8 && type != DataType::kUINT8) {
    fail(FaultKind::kUnsupportedType,
         fmt::format("input 0 has type {}; expected INT8, UINT8, INT32 or INT64", typeName(type)));
  }
}

// A scalar operator over both inputs, as addElementWise would broadcast them.
ParsedValues pointwise(OnnxNode& node, const char* op) {
  checkType(node);
  NetworkWriter& writer = node.writer();
  const int64_t rank = std::max(node.rank(0), node.rank(1));
  const Term a(writer, writer.alignRank(node.input(0), rank));
  const Term b(writer, writer.alignRank(node.input(1), rank));
  return {addOperator(fmt::format("pointwise{{expr=\"{}(x0,x1)\"}}", op), {a, b})};
}

// Bits shifted out are lost, the sign is copied in from the left; counts below 0 or of all bits leave the sign only.
ParsedValues importBitShift(OnnxNode& node) {
  return pointwise(node, node.choice("direction", "", {"LEFT", "RIGHT"}) == "LEFT" ? "shift_left" : "shift_right");
}

ParsedValues importBitwiseAnd(OnnxNode& node) { return pointwise(node, "bit_and"); }
ParsedValues importBitwiseOr(OnnxNode& node) { return pointwise(node, "bit_or"); }
ParsedValues importBitwiseXor(OnnxNode& node) { return pointwise(node, "bit_xor"); }

ParsedValues importBitwiseNot(OnnxNode& node) {
  checkType(node);
  return {addOperator("pointwise{expr=\"bit_not(x0)\"}", {node.term(0)})};
}

// The operator's name of a type of whole bytes; fails on others.
std::string operatorType(DataType type, const char* role) {
  switch (type) {
    case DataType::kFLOAT: return "f32";
    case DataType::kHALF: return "f16";
    case DataType::kBF16: return "bf16";
    case DataType::kFP8: return "f8e4m3";
    case DataType::kINT64: return "i64";
    case DataType::kINT32: return "i32";
    case DataType::kINT8: return "i8";
    case DataType::kUINT8: return "u8";
    case DataType::kBOOL: return "bool";
    default:
      fail(FaultKind::kUnsupportedType, fmt::format("{} is {}; expected a type of whole bytes", role, typeName(type)));
  }
}

ParsedValues importBitCast(OnnxNode& node) {
  const int64_t number = node.integer("to", 0);
  const auto type = toDataType(static_cast<int32_t>(number));
  if (!type || number == static_cast<int64_t>(OnnxType::kDOUBLE)) {  // doubles are floats here
    fail(FaultKind::kUnsupportedAttribute, fmt::format("to = {} ({}), a type that TensorRT does not have", number,
                                                       onnxTypeName(static_cast<int32_t>(number))));
  }
  operatorType(node.dataType(0), "input 0");
  const std::string name = operatorType(*type, "to");
  if (bitsOfType(*type) != bitsOfType(node.dataType(0))) {
    fail(FaultKind::kInvalidNode,
         fmt::format("{} of {} bits as {} of {}; expected types of as many bits", typeName(node.dataType(0)),
                     bitsOfType(node.dataType(0)), typeName(*type), bitsOfType(*type)));
  }
  return {addOperator(fmt::format("bitcast{{type={}}}", name), {node.term(0)})};
}

constexpr const char* kHow = "addPluginV3 of the operator pointwise";
const OperatorImporter kRows[] = {
    {"BitCast", 26, kNewestOpset, importBitCast, "addPluginV3 of the operator bitcast"},
    {"BitShift", 11, kNewestOpset, importBitShift, kHow},
    {"BitwiseAnd", 18, kNewestOpset, importBitwiseAnd, kHow},
    {"BitwiseOr", 18, kNewestOpset, importBitwiseOr, kHow},
    {"BitwiseXor", 18, kNewestOpset, importBitwiseXor, kHow},
    {"BitwiseNot", 18, kNewestOpset, importBitwiseNot, kHow},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_bits
