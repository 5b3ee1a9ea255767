// Quantized operators of the domain com.microsoft, exact by their definition.
#include <cmath>

#include "operator_table.h"
#include "quantization.h"

namespace tenon::parsers::onnx::ops_microsoft_quantized {
namespace {

using nvinfer1::ActivationType;

constexpr const char* kDomain = "com.microsoft";

std::optional<Term> optionalTerm(const OnnxNode& node, size_t index) {
  return node.hasInput(index) ? std::optional<Term>(node.term(index)) : std::nullopt;
}

Term oneNumber(const Term& parameter) {
  if (parameter.rank() > 1 || (parameter.rank() == 1 && !parameter.dim(0).is(1))) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("a scale or zero point has shape {}; expected one value", toString(parameter.shape())));
  }
  return parameter.reshape({});
}

// The real numbers of operand `index`, whose scale and zero point follow it.
Term realOperand(const OnnxNode& node, size_t index) {
  const auto zero = optionalTerm(node, index + 2);
  return dequantized(node.term(index), oneNumber(node.term(index + 1)),
                     zero ? std::optional<Term>(oneNumber(*zero)) : std::nullopt);
}

// Quantized by the scale and zero point at `index`; without a zero point as `type`.
Term quantizedResult(const OnnxNode& node, const Term& real, size_t index, DataType type) {
  const auto zero = optionalTerm(node, index + 1);
  return quantized(real, oneNumber(node.term(index)), zero ? std::optional<Term>(oneNumber(*zero)) : std::nullopt,
                   zero ? zero->type() : type);
}

template <nvinfer1::ElementWiseOperation kOperation>
ParsedValues importQLinearBinary(OnnxNode& node) {
  const Term real = realOperand(node, 0).binary(realOperand(node, 3), kOperation);
  return {quantizedResult(node, real, 6, node.dataType(0))};
}

template <ActivationType kType>
ParsedValues importQLinearActivation(OnnxNode& node) {
  const Term real = realOperand(node, 0).activation(kType, node.real("alpha", 0.01f));
  return {quantizedResult(node, real, 3, node.dataType(0))};
}

ParsedValues importQLinearSoftmax(OnnxNode& node) {
  const Term x = realOperand(node, 0);
  if (node.integer("opset", 13) < 13) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("opset = {}; expected 13 or more, a softmax over one axis", node.integer("opset", 13)));
  }
  return {quantizedResult(node, x.softmax(node.integer("axis", -1)), 3, node.dataType(0))};
}

ParsedValues importQLinearGlobalAveragePool(OnnxNode& node) {
  const Term x = realOperand(node, 0);
  const bool last = node.integer("channels_last", 0) != 0;
  std::vector<int64_t> axes;
  for (int64_t i = last ? 1 : 2; i < x.rank() - (last ? 1 : 0); ++i) {
    axes.push_back(i);
  }
  return {quantizedResult(node, x.reduce(nvinfer1::ReduceOperation::kAVG, axes, true), 3, node.dataType(0))};
}

// Without axes over all of them.
ParsedValues importQLinearReduceMean(OnnxNode& node) {
  const Term x = realOperand(node, 0);
  std::vector<int64_t> axes = node.integers("axes");
  for (int64_t& axis : axes) {
    axis = normalizeAxis(axis, x.rank());
  }
  const int64_t missing = axes.empty() ? x.rank() : 0;
  for (int64_t i = 0; i < missing; ++i) {
    axes.push_back(i);
  }
  const bool keep = node.integer("keepdims", 1) != 0;
  return {quantizedResult(node, x.reduce(nvinfer1::ReduceOperation::kAVG, axes, keep), 3, node.dataType(0))};
}

// condition, then two operands with their scales and zero points, then those of the result
ParsedValues importQLinearWhere(OnnxNode& node) {
  const Term x = realOperand(node, 1);
  const Term real(node.writer(), node.writer().select(node.input(0), x, realOperand(node, 4)));
  return {quantizedResult(node, real, 7, node.dataType(1))};
}

bool isSameNumber(const OnnxNode& node, size_t a, size_t b) {
  if (!node.hasInput(a) || !node.hasInput(b)) {
    return node.hasInput(a) == node.hasInput(b);
  }
  const Term first = node.term(a);
  const Term second = node.term(b);
  return first.isConstant() && second.isConstant() && first.type() == second.type() &&
         toReals(first.value().constant()) == toReals(second.value().constant());
}

// y_scale, y_zero, then each operand with its scale and zero point. Operands are quantized anew one by one, so that
// nothing but bytes is joined; one that is quantized as the result is stays as it is.
ParsedValues importQLinearConcat(OnnxNode& node) {
  if (node.inputCount() < 5 || (node.inputCount() - 2) % 3 != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("the node has {} inputs; expected 2 and 3 for each operand", node.inputCount()));
  }
  std::vector<Term> parts;
  for (size_t i = 2; i < node.inputCount(); i += 3) {
    const bool isQuantized = isSameNumber(node, 0, i + 1) && isSameNumber(node, 1, i + 2);
    parts.push_back(isQuantized ? node.term(i) : quantizedResult(node, realOperand(node, i), 0, node.dataType(2)));
  }
  return {concat(parts, node.axis(0, parts[0].rank()))};
}

// One value, or one for each column.
Term ofColumns(const Term& parameter) {
  return parameter.rank() == 1 && parameter.dim(0).is(1) ? parameter.reshape({}) : parameter;
}

std::optional<Term> ofColumns(const std::optional<Term>& parameter) {
  return parameter ? std::optional<Term>(ofColumns(*parameter)) : std::nullopt;
}

// a, a_scale, a_zero, b, b_scale, b_zero, c of INT32, y_scale, y_zero; without y_scale the result is real
ParsedValues importQGemm(OnnxNode& node) {
  const Term a = node.integer("transA", 0) != 0 ? node.term(0).swapLast() : node.term(0);
  const Term b = node.integer("transB", 0) != 0 ? node.term(3).swapLast() : node.term(3);
  Term sum = integerProduct(a, oneNumber(node.term(2)), b, ofColumns(node.term(5)));
  if (node.hasInput(6)) {
    sum = sum + node.term(6);
  }
  const Term scale = oneNumber(node.term(1)) * ofColumns(node.term(4)) * node.real("alpha", 1.0f);
  const Term real = sum.cast(DataType::kFLOAT) * scale;
  return {node.hasInput(7) ? quantizedResult(node, real, 7, node.dataType(0)) : real};
}

// a, b, a_scale, b_scale, a_zero, b_zero, bias
ParsedValues importMatMulIntegerToFloat(OnnxNode& node) {
  Term result =
      quantizedProduct(node.term(0), ofColumns(optionalTerm(node, 4)), node.term(1), ofColumns(optionalTerm(node, 5)),
                       {ofColumns(node.term(2)) * ofColumns(node.term(3)), std::nullopt});
  if (node.hasInput(6)) {
    result = result + node.term(6);
  }
  return {result};
}

// a is quantized by its own range; b, b_scale, b_zero, bias
ParsedValues importDynamicQuantizeMatMul(OnnxNode& node) {
  const Term x = node.term(0);
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) {
    axes.push_back(i);
  }
  const Term least = x.reduce(nvinfer1::ReduceOperation::kMIN, axes, false).atMost(x.number(0));
  const Term most = x.reduce(nvinfer1::ReduceOperation::kMAX, axes, false).atLeast(x.number(0));
  const Term scale = (most - least) / 255;
  const Term zero = roundOf((0.0 - least / scale).clamp(0, 255));
  const Term a = roundOf(x / scale + zero).clamp(0, 255).cast(DataType::kUINT8);
  Term result = quantizedProduct(a, zero.cast(DataType::kUINT8), node.term(1), ofColumns(optionalTerm(node, 3)),
                                 {scale * ofColumns(node.term(2)), std::nullopt});
  if (node.hasInput(4)) {
    result = result + node.term(4);
  }
  return {result};
}

struct PackedMatrix {
  int64_t rows;     // N
  int64_t columns;  // K
  int64_t bits;
  int64_t block;
  int64_t blocks() const { return (columns + block - 1) / block; }
};

// Element `at` of numbers of 2, 4 or 8 bits, the low bits of a byte first.
int64_t packedElement(const unsigned char* bytes, int64_t at, int64_t bits) {
  const int64_t each = 8 / bits;
  return (bytes[at / each] >> (at % each * bits)) & ((1 << bits) - 1);
}

// a [.., K] times the transposed matrix [N, K] whose blocks of a row have a scale and a zero point each.
ParsedValues importMatMulNBits(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const PackedMatrix matrix{node.integer("N", 0), node.integer("K", 0), node.integer("bits", 4),
                            node.integer("block_size", 0)};
  const bool known = matrix.bits == 2 || matrix.bits == 4 || matrix.bits == 8;
  if (matrix.rows < 1 || matrix.columns < 1 || matrix.block < 1 || !known || matrix.rows > INT32_MAX ||
      matrix.columns > INT32_MAX || matrix.block > INT32_MAX || matrix.block * matrix.bits % 8 != 0) {
    fail(FaultKind::kInvalidNode,
         fmt::format("N = {}, K = {}, bits = {}, block_size = {}; expected 1 or more each, and 2, 4 or 8 bits",
                     matrix.rows, matrix.columns, matrix.bits, matrix.block));
  }
  if (node.hasInput(4)) {
    fail(FaultKind::kUnsupportedInput, "g_idx is given; expected blocks in their order. Export without reordering");
  }
  const WeightBytes& packed = node.constant(1, "the packed matrix");
  const std::vector<double> scales = toReals(node.constant(2, "scales"));
  const int64_t groups = matrix.rows * matrix.blocks();
  const int64_t rowBytes = matrix.blocks() * matrix.block * matrix.bits / 8;
  if (packed.bytes() != matrix.rows * rowBytes || static_cast<int64_t>(scales.size()) != groups) {
    fail(FaultKind::kInvalidNode, fmt::format("B has {} bytes and there are {} scales; expected {} and {}",
                                              packed.bytes(), scales.size(), matrix.rows * rowBytes, groups));
  }
  const int64_t zeroRowBytes = (matrix.blocks() * matrix.bits + 7) / 8;
  const WeightBytes* zeros = node.hasInput(3) ? &node.constant(3, "zero_points") : nullptr;
  const bool packedZeros = zeros != nullptr && zeros->type == DataType::kUINT8;
  if (zeros != nullptr && (packedZeros ? zeros->bytes() != matrix.rows * zeroRowBytes : zeros->count() != groups)) {
    fail(FaultKind::kInvalidNode, fmt::format("zero_points has shape {}; expected {} packed bytes, or {} numbers",
                                              toString(zeros->shape), matrix.rows * zeroRowBytes, groups));
  }
  const std::vector<double> realZeros = zeros != nullptr && !packedZeros ? toReals(*zeros) : std::vector<double>{};
  auto* numbers = reinterpret_cast<float*>(writer.store().allocate(matrix.rows * matrix.columns * 4));
  const auto* bytes = static_cast<const unsigned char*>(packed.data);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t column = 0; column < matrix.columns; ++column) {
      const int64_t block = column / matrix.block;
      double zero = static_cast<double>(1 << (matrix.bits - 1));
      if (packedZeros) {
        const auto* zeroRow = static_cast<const unsigned char*>(zeros->data) + row * zeroRowBytes;
        zero = static_cast<double>(packedElement(zeroRow, block, matrix.bits));
      } else if (zeros != nullptr) {
        zero = realZeros[static_cast<size_t>(row * matrix.blocks() + block)];
      }
      const double scale = scales[static_cast<size_t>(row * matrix.blocks() + block)];
      const auto element = static_cast<double>(packedElement(bytes + row * rowBytes, column, matrix.bits));
      numbers[row * matrix.columns + column] = static_cast<float>((element - zero) * scale);
    }
  }
  const Term weights =
      Term(writer, writer.store().add(DataType::kFLOAT, {matrix.rows, matrix.columns}, numbers)).cast(node.dataType(0));
  const Term a = node.rank(0) == 1 ? node.term(0).unsqueeze({0}) : node.term(0);
  Term result = a.multiply(weights, false, true);
  result = node.rank(0) == 1 ? result.squeeze({0}) : result;
  return {node.hasInput(5) ? result + node.term(5) : result};
}

// Elements of packed bytes, the lowest bits first, along the last axis.
Term unpacked(const Term& bytes, int64_t bits) {
  Term rest = bytes.cast(DataType::kINT32);
  if (bits == 8) {
    return rest;
  }
  const int64_t base = int64_t{1} << bits;
  std::vector<Term> parts;
  for (int64_t at = 0; at < 8; at += bits) {
    const Term higher = rest.floorDivide(static_cast<double>(base));
    parts.push_back((rest - higher * static_cast<double>(base)).unsqueeze({rest.rank()}));
    rest = higher;
  }
  ParsedExtents target = bytes.dims();
  target.back() = ParsedExtent::of(bytes.fixedDim(-1, "the packed columns") * static_cast<int64_t>(parts.size()));
  return concat(parts, bytes.rank()).reshape(target);
}

// Rows of a table in blocks that have a scale and a zero point each: only the rows that are asked for are unpacked.
ParsedValues importGatherBlockQuantized(OnnxNode& node) {
  const int64_t bits = node.integer("bits", 4);
  const int64_t block = node.integer("block_size", 128);
  const int64_t rank = node.rank(0);
  const int64_t axis = normalizeAxis(node.integer("quantize_axis", 1), rank);
  if (node.dataType(0) != DataType::kUINT8 || (bits != 2 && bits != 4 && bits != 8) || block < 1 ||
      node.integer("gather_axis", 0) != 0 || axis != rank - 1) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("bits = {}, block_size = {}, gather_axis = {}, quantize_axis = {}; expected bytes that hold "
                     "elements of 2, 4 or 8 bits, rows gathered along axis 0 and blocks along the last one",
                     bits, block, node.integer("gather_axis", 0), axis));
  }
  const Term indices = node.term(1);
  const Term elements = unpacked(node.term(0).gather(indices, 0), bits);
  const Term scales = node.term(2).gather(indices, 0);
  const int64_t columns = elements.fixedDim(-1, "the columns of the table");
  const int64_t blocks = scales.fixedDim(-1, "the number of blocks");
  if (blocks * block != columns) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("{} scales of blocks of {} for {} columns; expected whole blocks", blocks, block, columns));
  }
  ParsedExtents split = elements.dims();
  const ParsedExtents whole = split;
  split.back() = ParsedExtent::of(blocks);
  split.push_back(ParsedExtent::of(block));
  Term centred = elements.reshape(split);
  if (node.hasInput(3)) {
    const Term zeros = unpacked(node.term(3).gather(indices, 0), bits).slice(scales.rank() - 1, 0, blocks);
    centred = centred - zeros.unsqueeze({zeros.rank()});
  } else {
    centred = centred - static_cast<double>(int64_t{1} << (bits - 1));
  }
  return {(centred.cast(scales.type()) * scales.unsqueeze({scales.rank()})).reshape(whole)};
}

const OperatorImporter kRows[] = {
    {"QLinearAdd", 1, kNewestOpset, importQLinearBinary<nvinfer1::ElementWiseOperation::kSUM>,
     "addElementWise, addCast", kDomain},
    {"QLinearMul", 1, kNewestOpset, importQLinearBinary<nvinfer1::ElementWiseOperation::kPROD>,
     "addElementWise, addCast", kDomain},
    {"QLinearSigmoid", 1, kNewestOpset, importQLinearActivation<ActivationType::kSIGMOID>,
     "addActivation kSIGMOID, addElementWise, addCast", kDomain},
    {"QLinearLeakyRelu", 1, kNewestOpset, importQLinearActivation<ActivationType::kLEAKY_RELU>,
     "addActivation kLEAKY_RELU, addElementWise, addCast", kDomain},
    {"QLinearSoftmax", 1, kNewestOpset, importQLinearSoftmax, "addSoftMax, addElementWise, addCast", kDomain},
    {"QLinearGlobalAveragePool", 1, kNewestOpset, importQLinearGlobalAveragePool,
     "addReduce kAVG, addElementWise, addCast", kDomain},
    {"QLinearReduceMean", 1, kNewestOpset, importQLinearReduceMean, "addReduce kAVG, addElementWise, addCast", kDomain},
    {"QLinearWhere", 1, kNewestOpset, importQLinearWhere, "addSelect, addElementWise, addCast", kDomain},
    {"QLinearConcat", 1, kNewestOpset, importQLinearConcat, "addConcatenation, addElementWise, addCast", kDomain},
    {"QGemm", 1, kNewestOpset, importQGemm, "addMatrixMultiply of whole numbers in FLOAT, addElementWise, addCast",
     kDomain},
    {"MatMulIntegerToFloat", 1, kNewestOpset, importMatMulIntegerToFloat,
     "addMatrixMultiply of whole numbers in FLOAT, addElementWise", kDomain},
    {"DynamicQuantizeMatMul", 1, kNewestOpset, importDynamicQuantizeMatMul,
     "addReduce, addMatrixMultiply of whole numbers in FLOAT, addElementWise", kDomain},
    {"GatherBlockQuantized", 1, kNewestOpset, importGatherBlockQuantized,
     "addGather of packed bytes, addElementWise; gather_axis 0, blocks along the last axis", kDomain},
    {"MatMulNBits", 1, kNewestOpset, importMatMulNBits, "addMatrixMultiply; the matrix is unpacked while parsing",
     kDomain},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_microsoft_quantized
