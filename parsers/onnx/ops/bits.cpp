// Operators on the bits of integers, by arithmetic: the API has no operations on bits.
#include <algorithm>

#include "../operator_plugin.h"
#include "operator_table.h"

namespace tenon::parsers::onnx {
namespace {

int64_t bitsOf(const OnnxNode& node) {
  const DataType type = node.dataType(0);
  if (!isInteger(type) && type != DataType::kINT8 && type != DataType::kUINT8) {
    fail(FaultKind::kUnsupportedType,
         fmt::format("input 0 has type {}; expected INT8, UINT8, INT32 or INT64", typeName(type)));
  }
  return bitsOfType(type);
}

// Bits shifted out are lost, the sign is copied in from the left; counts below 0 or of all bits leave the sign only.
ParsedValues importBitShift(OnnxNode& node) {
  const int64_t bits = bitsOf(node);
  const DataType type = node.dataType(0);
  const bool left = node.choice("direction", "", {"LEFT", "RIGHT"}) == "LEFT";
  const Term x = node.term(0).cast(DataType::kINT64);
  const Term count = node.term(1).cast(DataType::kINT64);
  const Term outside = either(count<0.0, count> static_cast<double>(bits - 1));
  // 2^63 is no int64: shifts by 32 or more go in two parts.
  const Term two = count.number(2);
  const Term some = where(outside, count.number(0), count);
  const Term half = some.floorDivide(2.0);
  const Term first = two.power(half);
  const Term second = two.power(some - half);
  Term result = left ? x * first * second : x.floorDivide(first).floorDivide(second);
  if (left && bits < 64) {  // what remains in the type, with its sign
    const double range = static_cast<double>(int64_t{1} << bits);
    result = result.modulo(range);
    if (type != DataType::kUINT8) {
      result = where(result > range / 2 - 1, result - range, result);
    }
  }
  const Term sign = left ? x.number(0) : where(x < 0.0, x.number(-1), x.number(0));
  return {where(outside, sign, result).cast(type)};
}

// Bit i of x as 0 or 1, i along a new last axis.
Term bitsAlong(const Term& x, const Term& powers) {
  const Term shifted = x.unsqueeze({x.rank()}).floorDivide(powers);
  return shifted - shifted.floorDivide(2.0) * 2.0;
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

enum class Logic : uint8_t { kAnd, kOr, kXor };

// The sum over all bits of 2^i times the bit; the last one of a signed type counts -2^i.
template <Logic kLogic>
ParsedValues importBitwise(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const int64_t bits = bitsOf(node);
  const DataType type = node.dataType(0);
  const int64_t rank = std::max(node.rank(0), node.rank(1));
  std::vector<int64_t> weights;
  for (int64_t i = 0; i < bits; ++i) {
    weights.push_back(i == 63 ? INT64_MIN : int64_t{1} << i);
  }
  // 2^63 is no int64: the last of 64 bits is the sign.
  const Term powers = integers(writer, DataType::kINT64, {std::min<int64_t>(bits, 63)},
                               std::vector<int64_t>(weights.begin(), weights.begin() + std::min<int64_t>(bits, 63)));
  const auto split = [&](size_t index) {
    Term x = Term(writer, writer.alignRank(node.input(index), rank)).cast(DataType::kINT64);
    if (bits < 64) {
      return bitsAlong(x, powers);
    }
    const Term low = bitsAlong(x, powers);
    const Term sign = where(x < 0.0, x.number(1), x.number(0)).unsqueeze({rank});
    return concat({low, sign}, rank);
  };
  if (type != DataType::kUINT8 && bits < 64) {
    weights.back() = -weights.back();
  }
  const Term a = split(0);
  const Term b = split(1);
  const Term product = a * b;
  const Term result = kLogic == Logic::kAnd ? product : kLogic == Logic::kOr ? a + b - product : a + b - product * 2.0;
  const Term weighted = result * integers(writer, DataType::kINT64, {bits}, weights);
  return {weighted.sum({rank}, false).cast(type)};
}

// In two's complement: -x - 1; of UINT8 255 - x.
ParsedValues importBitwiseNot(OnnxNode& node) {
  bitsOf(node);
  const Term x = node.term(0).cast(DataType::kINT64);
  return {((node.dataType(0) == DataType::kUINT8 ? 255.0 : -1.0) - x).cast(node.dataType(0))};
}

const OperatorImporter kRows[] = {
    {"BitCast", 26, kNewestOpset, importBitCast, "addPluginV3 of the operator bitcast"},
    {"BitShift", 11, kNewestOpset, importBitShift, "addElementWise kPOW, kPROD or kFLOOR_DIV in INT64"},
    {"BitwiseAnd", 18, kNewestOpset, importBitwise<Logic::kAnd>, "addElementWise, addReduce over an axis of the bits"},
    {"BitwiseOr", 18, kNewestOpset, importBitwise<Logic::kOr>, "addElementWise, addReduce over an axis of the bits"},
    {"BitwiseXor", 18, kNewestOpset, importBitwise<Logic::kXor>, "addElementWise, addReduce over an axis of the bits"},
    {"BitwiseNot", 18, kNewestOpset, importBitwiseNot, "addElementWise kSUB"},
};

}  // namespace

namespace ops_bits {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_bits
}  // namespace tenon::parsers::onnx
