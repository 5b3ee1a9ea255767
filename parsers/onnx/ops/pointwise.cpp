// Unary and elementwise operators, comparisons, logic and casts.
#include <algorithm>
#include <cmath>

#include "operator_table.h"

namespace tenon::parsers::onnx::ops_pointwise {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;

template <UnaryOperation kOperation>
ParsedValues importUnary(OnnxNode& node) {
  return {node.writer().unary(node.input(0), kOperation)};
}

// The API rounds floating-point numbers only; on integers these are the identity.
template <UnaryOperation kOperation>
ParsedValues importRounding(OnnxNode& node) {
  return {isInteger(node.dataType(0)) ? node.input(0) : node.writer().unary(node.input(0), kOperation)};
}

// Up to opset 6, attribute "axis" says with which axis of the first operand the second one begins.
ParsedValue secondOperand(OnnxNode& node) {
  if (node.opset() > 6 || !node.has("axis")) {
    return node.input(1);
  }
  const int64_t rank = node.rank(1);
  const int64_t after = node.rank(0) - node.axis(0, node.rank(0)) - rank;
  if (after < 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the second input has rank {}, too many from axis {} of the first of rank {}", rank,
                     node.axis(0, node.rank(0)), node.rank(0)));
  }
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < after; ++i) {
    axes.push_back(rank + i);
  }
  return node.writer().unsqueeze(node.input(1), axes);
}

template <ElementWiseOperation kOperation>
ParsedValues importBinary(OnnxNode& node) {
  return {node.writer().binary(node.input(0), secondOperand(node), kOperation)};
}

template <ElementWiseOperation kOperation>
ParsedValues importVariadic(OnnxNode& node) {
  ParsedValue result = node.input(0);
  for (size_t i = 1; i < node.inputCount(); ++i) {
    result = node.writer().binary(result, node.input(i), kOperation);
  }
  return {result};
}

ParsedValues importMean(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue sum = importVariadic<ElementWiseOperation::kSUM>(node)[0];
  return {writer.binary(sum, writer.scalar(node.dataType(0), static_cast<double>(node.inputCount())),
                        ElementWiseOperation::kDIV)};
}

ParsedValues importPow(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue exponent = writer.cast(secondOperand(node), node.dataType(0));
  return {writer.binary(node.input(0), exponent, ElementWiseOperation::kPOW)};
}

ParsedValues importEqual(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool logic = node.dataType(0) == DataType::kBOOL;
  const ParsedValue a = logic ? writer.cast(node.input(0), DataType::kINT32) : node.input(0);
  const ParsedValue second = secondOperand(node);
  const ParsedValue b = logic ? writer.cast(second, DataType::kINT32) : second;
  return {writer.binary(a, b, ElementWiseOperation::kEQUAL)};
}

// Not the negation of the opposite comparison: with a NaN both are false.
template <ElementWiseOperation kStrict>
ParsedValues importOrEqual(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue strict = writer.binary(node.input(0), node.input(1), kStrict);
  const ParsedValue equal = writer.binary(node.input(0), node.input(1), ElementWiseOperation::kEQUAL);
  return {writer.binary(strict, equal, ElementWiseOperation::kOR)};
}

bool mayBeInfinite(const ParsedValue& value) {
  if (!value.isConstant()) {
    return true;
  }
  const auto numbers = toReals(value.constant());
  return std::any_of(numbers.begin(), numbers.end(), [](double x) { return std::isinf(x); });
}

// fmod 0: the sign of the divisor, a - floor(a / b) * b. fmod 1: the sign of the dividend, as C's fmod.
ParsedValues importMod(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const ParsedValue& a = node.input(0);
  const ParsedValue& b = node.input(1);
  const bool truncates = node.integer("fmod", 0) != 0;
  ParsedValue quotient;
  if (!truncates) {
    quotient = writer.binary(a, b, ElementWiseOperation::kFLOOR_DIV);
  } else {
    quotient = writer.binary(a, b, ElementWiseOperation::kDIV);
    if (!isInteger(node.dataType(0))) {
      const ParsedValue size = writer.unary(writer.unary(quotient, UnaryOperation::kABS), UnaryOperation::kFLOOR);
      quotient = writer.binary(writer.unary(quotient, UnaryOperation::kSIGN), size, ElementWiseOperation::kPROD);
    }
  }
  const Term rest(
      writer, writer.binary(a, writer.binary(quotient, b, ElementWiseOperation::kPROD), ElementWiseOperation::kSUB));
  if (truncates || !isFloating(node.dataType(0)) || !mayBeInfinite(b)) {
    return {rest};
  }
  // An infinite divisor leaves numbers of its sign as they are; of others, itself is what is left.
  const Term dividend = node.term(0);
  const Term divisor = node.term(1);
  const Term isInfinite = both(divisor.unary(UnaryOperation::kISINF), negation(dividend.unary(UnaryOperation::kISINF)));
  const Term signsDiffer = dividend * divisor < 0.0;
  return {where(isInfinite, where(signsDiffer, divisor, dividend), rest)};
}

ParsedValues importIsInf(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const bool negative = node.integer("detect_negative", 1) != 0;
  const bool positive = node.integer("detect_positive", 1) != 0;
  const ParsedValue infinite = writer.unary(node.input(0), UnaryOperation::kISINF);
  if (negative && positive) {
    return {infinite};
  }
  const ParsedValue zero = writer.scalar(node.dataType(0), 0);
  const ParsedValue sign =
      writer.binary(node.input(0), zero, positive ? ElementWiseOperation::kGREATER : ElementWiseOperation::kLESS);
  const ParsedValue found = writer.binary(infinite, sign, ElementWiseOperation::kAND);
  if (!negative && !positive) {
    return {writer.binary(found, writer.unary(infinite, UnaryOperation::kNOT), ElementWiseOperation::kAND)};
  }
  return {found};
}

ParsedValues importWhere(OnnxNode& node) { return {node.writer().select(node.input(0), node.input(1), node.input(2))}; }

ParsedValues importCast(OnnxNode& node) {
  const auto to = static_cast<int32_t>(node.integer("to", 0));
  const auto type = toDataType(to);
  if (!type) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("cast to {}, a type that TensorRT does not have", onnxTypeName(to)));
  }
  return {node.writer().cast(node.input(0), *type)};
}

ParsedValues importCastLike(OnnxNode& node) { return {node.writer().cast(node.input(0), node.dataType(1))}; }

// Keeps a layer for a tensor, so that tensor and layer carry the model's names.
ParsedValues importIdentity(OnnxNode& node) {
  if (node.input(0).isList()) {
    return node.inputs();
  }
  NetworkWriter& writer = node.writer();
  if (!node.input(0).isTensor()) {
    return {node.input(0)};
  }
  return {writer.output(writer.added(writer.network().addIdentity(node.tensor(0)), "addIdentity"))};
}

const OperatorImporter kRows[] = {
    {"Abs", 1, kNewestOpset, importUnary<UnaryOperation::kABS>, "addUnary kABS"},
    {"Acos", 7, kNewestOpset, importUnary<UnaryOperation::kACOS>, "addUnary kACOS"},
    {"Acosh", 9, kNewestOpset, importUnary<UnaryOperation::kACOSH>, "addUnary kACOSH"},
    {"Asin", 7, kNewestOpset, importUnary<UnaryOperation::kASIN>, "addUnary kASIN"},
    {"Asinh", 9, kNewestOpset, importUnary<UnaryOperation::kASINH>, "addUnary kASINH"},
    {"Atan", 7, kNewestOpset, importUnary<UnaryOperation::kATAN>, "addUnary kATAN"},
    {"Atanh", 9, kNewestOpset, importUnary<UnaryOperation::kATANH>, "addUnary kATANH"},
    {"Ceil", 1, kNewestOpset, importRounding<UnaryOperation::kCEIL>, "addUnary kCEIL"},
    {"Cos", 7, kNewestOpset, importUnary<UnaryOperation::kCOS>, "addUnary kCOS"},
    {"Cosh", 9, kNewestOpset, importUnary<UnaryOperation::kCOSH>, "addUnary kCOSH"},
    {"Erf", 9, kNewestOpset, importUnary<UnaryOperation::kERF>, "addUnary kERF"},
    {"Exp", 1, kNewestOpset, importUnary<UnaryOperation::kEXP>, "addUnary kEXP"},
    {"Floor", 1, kNewestOpset, importRounding<UnaryOperation::kFLOOR>, "addUnary kFLOOR"},
    {"IsInf", 10, kNewestOpset, importIsInf, "addUnary kISINF; one sign only: addElementWise"},
    {"IsNaN", 9, kNewestOpset, importUnary<UnaryOperation::kISNAN>, "addUnary kISNAN"},
    {"Log", 1, kNewestOpset, importUnary<UnaryOperation::kLOG>, "addUnary kLOG"},
    {"Neg", 1, kNewestOpset, importUnary<UnaryOperation::kNEG>, "addUnary kNEG"},
    {"Not", 1, kNewestOpset, importUnary<UnaryOperation::kNOT>, "addUnary kNOT"},
    {"Reciprocal", 1, kNewestOpset, importUnary<UnaryOperation::kRECIP>, "addUnary kRECIP"},
    {"Round", 11, kNewestOpset, importRounding<UnaryOperation::kROUND>, "addUnary kROUND"},
    {"Sign", 9, kNewestOpset, importUnary<UnaryOperation::kSIGN>, "addUnary kSIGN"},
    {"Sin", 7, kNewestOpset, importUnary<UnaryOperation::kSIN>, "addUnary kSIN"},
    {"Sinh", 9, kNewestOpset, importUnary<UnaryOperation::kSINH>, "addUnary kSINH"},
    {"Sqrt", 1, kNewestOpset, importUnary<UnaryOperation::kSQRT>, "addUnary kSQRT"},
    {"Tan", 7, kNewestOpset, importUnary<UnaryOperation::kTAN>, "addUnary kTAN"},

    {"Add", 1, kNewestOpset, importBinary<ElementWiseOperation::kSUM>, "addElementWise kSUM"},
    {"Sub", 1, kNewestOpset, importBinary<ElementWiseOperation::kSUB>, "addElementWise kSUB"},
    {"Mul", 1, kNewestOpset, importBinary<ElementWiseOperation::kPROD>, "addElementWise kPROD"},
    {"Div", 1, kNewestOpset, importBinary<ElementWiseOperation::kDIV>, "addElementWise kDIV"},
    {"Pow", 1, kNewestOpset, importPow, "addElementWise kPOW; the exponent is cast to the type of the base"},
    {"Mod", 10, kNewestOpset, importMod, "addElementWise, addUnary"},
    {"And", 1, kNewestOpset, importBinary<ElementWiseOperation::kAND>, "addElementWise kAND"},
    {"Or", 1, kNewestOpset, importBinary<ElementWiseOperation::kOR>, "addElementWise kOR"},
    {"Xor", 1, kNewestOpset, importBinary<ElementWiseOperation::kXOR>, "addElementWise kXOR"},
    {"Equal", 1, kNewestOpset, importEqual, "addElementWise kEQUAL; BOOL is cast to INT32"},
    {"Less", 1, kNewestOpset, importBinary<ElementWiseOperation::kLESS>, "addElementWise kLESS"},
    {"Greater", 1, kNewestOpset, importBinary<ElementWiseOperation::kGREATER>, "addElementWise kGREATER"},
    {"LessOrEqual", 12, kNewestOpset, importOrEqual<ElementWiseOperation::kLESS>, "addElementWise kLESS, kEQUAL, kOR"},
    {"GreaterOrEqual", 12, kNewestOpset, importOrEqual<ElementWiseOperation::kGREATER>,
     "addElementWise kGREATER, kEQUAL, kOR"},
    {"Min", 1, kNewestOpset, importVariadic<ElementWiseOperation::kMIN>, "addElementWise kMIN"},
    {"Max", 1, kNewestOpset, importVariadic<ElementWiseOperation::kMAX>, "addElementWise kMAX"},
    {"Sum", 1, kNewestOpset, importVariadic<ElementWiseOperation::kSUM>, "addElementWise kSUM"},
    {"Mean", 1, kNewestOpset, importMean, "addElementWise kSUM, kDIV"},
    {"Where", 9, kNewestOpset, importWhere, "addSelect"},
    {"Cast", 6, kNewestOpset, importCast, "addCast"},
    {"CastLike", 15, kNewestOpset, importCastLike, "addCast"},
    {"Identity", 1, kNewestOpset, importIdentity, "addIdentity"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_pointwise
