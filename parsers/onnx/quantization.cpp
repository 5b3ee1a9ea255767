// Affine quantization in floating point, and products of bytes.
#include "quantization.h"

#include <algorithm>

#include "common/fold.h"
#include "operator_plugin.h"

namespace tenon::parsers::onnx {

IntegerRange rangeOf(DataType type) {
  switch (type) {
    case DataType::kINT8: return {-128, 127};
    case DataType::kUINT8: return {0, 255};
    case DataType::kINT32: return {-2147483648.0, 2147483647.0};
    default: break;
  }
  fail(FaultKind::kUnsupportedType,
       fmt::format("the quantized type is {}; expected INT8, UINT8 or INT32", typeName(type)));
}

Term alongAxis(const Term& parameter, const Term& data, int64_t axis, int64_t blockSize) {
  const int64_t rank = data.rank();
  if (parameter.rank() == 0 || (parameter.rank() == 1 && parameter.dim(0).is(1) && blockSize == 0)) {
    return parameter.reshape({});
  }
  const int32_t at = normalizeAxis(axis, rank);
  if (blockSize == 0) {
    if (parameter.rank() != 1) {
      fail(FaultKind::kInvalidNode, fmt::format("a scale or zero point has shape {}; expected one value, or one for "
                                                "each slice of an axis",
                                                toString(parameter.shape())));
    }
    std::vector<int64_t> others;
    for (int64_t i = 0; i < rank; ++i) {
      if (i != at) {
        others.push_back(i);
      }
    }
    return parameter.unsqueeze(others);
  }
  const int64_t blocks = parameter.rank() == rank ? parameter.fixedDim(at, "the number of blocks") : -1;
  const int64_t extent = data.fixedDim(at, "the axis of the blocks");
  if (blocks < 0 || blockSize < 1 || (extent + blockSize - 1) / blockSize != blocks) {
    fail(FaultKind::kInvalidNode,
         fmt::format("block_size = {} and a scale or zero point {} for data {} do not fit along axis {}", blockSize,
                     toString(parameter.shape()), toString(data.shape()), at));
  }
  ParsedExtents wide = parameter.unsqueeze({at + 1}).dims();
  wide[static_cast<size_t>(at) + 1] = ParsedExtent::of(blockSize);
  ParsedExtents flat = parameter.dims();
  flat[static_cast<size_t>(at)] = ParsedExtent::of(blocks * blockSize);
  return parameter.unsqueeze({at + 1}).expand(wide).reshape(flat).slice(at, 0, extent);
}

Term quantized(const Term& x, const Term& scale, const std::optional<Term>& zero, DataType type) {
  const IntegerRange range = rangeOf(type);
  Term whole = roundOf(x.cast(DataType::kFLOAT) / scale.cast(DataType::kFLOAT));
  if (zero) {
    whole = whole + zero->cast(DataType::kFLOAT);
  }
  return whole.clamp(range.low, range.high).cast(type);
}

Term centered(const Term& x, const std::optional<Term>& zero) {
  const Term real = x.cast(DataType::kFLOAT);
  return zero ? real - zero->cast(DataType::kFLOAT) : real;
}

Term dequantized(const Term& x, const Term& scale, const std::optional<Term>& zero) {
  if (x.type() == DataType::kINT32 && zero) {  // a float does not hold every INT32
    return (x - zero->cast(DataType::kINT32)).cast(scale.type()) * scale;
  }
  return centered(x, zero).cast(scale.type()) * scale;
}

namespace {

// x less `zero`, as bytes with a sign less another zero; nothing where that is 0.
struct SignedBytes {
  Term bytes;
  std::optional<Term> zero;  // INT32
};

bool isZero(const Term& term) {
  if (!term.isConstant()) {
    return false;
  }
  const std::vector<int64_t> numbers = toInts(term.value().constant());
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t number) { return number == 0; });
}

bool isByte(const Term& x) { return x.type() == DataType::kINT8 || x.type() == DataType::kUINT8; }

SignedBytes signedBytes(const Term& x, const std::optional<Term>& zero) {
  if (!isByte(x)) {
    fail(FaultKind::kUnsupportedType,
         fmt::format("an operand of an integer product has type {}; expected INT8 or UINT8", typeName(x.type())));
  }
  constexpr double kShift = 128;
  const bool isSigned = x.type() == DataType::kINT8;
  SignedBytes result{isSigned ? x : (x.cast(DataType::kINT32) - kShift).cast(DataType::kINT8), std::nullopt};
  if (zero) {
    result.zero = zero->cast(DataType::kINT32);
  }
  if (!isSigned) {
    result.zero = result.zero ? *result.zero - kShift : Term(x.writer(), x.writer().scalar(DataType::kINT32, -kShift));
  }
  if (result.zero && isZero(*result.zero)) {
    result.zero = std::nullopt;
  }
  return result;
}

// What the operator byte_convolution says of a result.
struct Requantization {
  std::string fields;
  std::vector<Term> operands;
};

bool isOne(const std::optional<Term>& zero) { return !zero || zero->rank() == 0; }

Term zeroOf(const Term& bytes, const std::optional<Term>& zero) {
  NetworkWriter& writer = bytes.writer();
  return zero ? zero->cast(bytes.type()) : Term(writer, writer.scalar(bytes.type(), 0));
}

// Rows of a by a constant matrix, as a convolution whose pixels are the rows; nothing where it is none.
std::optional<Term> productOfPixels(const Term& a, const std::optional<Term>& zeroA, const Term& b,
                                    const std::optional<Term>& zeroB, const Requantization& result) {
  const bool isColumns = zeroB && zeroB->rank() == 1 && zeroB->isConstant();
  if (a.isConstant() || a.rank() < 2 || !b.isConstant() || b.rank() != 2 || !isOne(zeroA)) return std::nullopt;
  if (b.dim(0).is(0) || b.dim(1).is(0)) return std::nullopt;
  if (!isColumns && !(isOne(zeroB) && (!zeroB || zeroB->isConstant()))) return std::nullopt;
  const auto last = static_cast<size_t>(a.rank() - 1);
  ParsedExtents dims = a.dims();
  const ParsedExtents pixels{a.writer().product(dims, 0, last), b.dim(0), ParsedExtent::of(1)};
  std::vector<Term> operands{last == 1 ? a.unsqueeze({2}) : a.reshape(pixels), b.swapLast().unsqueeze({2}),
                             zeroOf(a, zeroA), zeroOf(b, zeroB)};
  operands.insert(operands.end(), result.operands.begin(), result.operands.end());
  const Term y = addOperator("byte_convolution{" + result.fields + "}", operands);
  dims[last] = b.dim(1);
  return last == 1 ? y.squeeze({2}) : y.reshape(dims);
}

}  // namespace

// sum (a - za) (b - zb) = sum ab - za sum b - zb sum a + K za zb
Term integerProduct(const Term& a, const std::optional<Term>& zeroA, const Term& b, const std::optional<Term>& zeroB) {
  if (auto product = productOfPixels(a, zeroA, b, zeroB, {})) {
    return *product;
  }
  const bool isPacked = b.isConstant() && b.rank() == 2;  // once for all, as signed bytes
  if (!isPacked && isByte(a) && isByte(b) && isOne(zeroA) && (isOne(zeroB) || zeroB->rank() == 1)) {
    return addOperator("byte_matmul{}", {a, b, zeroOf(a, zeroA), zeroOf(b, zeroB)});
  }
  const SignedBytes left = signedBytes(a, zeroA);
  const SignedBytes right = signedBytes(b, zeroB);
  Term sum = addOperator("matmul", {left.bytes, right.bytes});
  if (left.zero) {
    sum = sum - *left.zero * right.bytes.cast(DataType::kINT32).sum({b.rank() - 2}, true);
  }
  if (right.zero) {
    sum = sum - *right.zero * left.bytes.cast(DataType::kINT32).sum({a.rank() - 1}, true);
  }
  if (left.zero && right.zero) {
    const ParsedExtent inner = a.dim(-1).known() ? a.dim(-1) : b.dim(-2);
    const Term zeros = *left.zero * *right.zero;
    sum = sum + (inner.known() ? zeros * static_cast<double>(inner.value)
                               : zeros * Term(a.writer(), a.writer().fromExtents({inner}, true)).cast(zeros.type()));
  }
  return sum;
}

Term quantizedProduct(const Term& a, const std::optional<Term>& zeroA, const Term& b, const std::optional<Term>& zeroB,
                      const ProductResult& result) {
  const bool isQuantized = result.zero.has_value();
  if (result.scale.rank() < 2 && (!isQuantized || result.zero->rank() == 0)) {
    std::vector<Term> operands{result.scale};
    std::string type = "f32";
    if (isQuantized) {
      rangeOf(result.zero->type());
      operands.push_back(*result.zero);
      type = result.zero->type() == DataType::kINT8 ? "i8" : "u8";
    }
    if (auto product = productOfPixels(a, zeroA, b, zeroB, {"type=" + type, operands})) {
      return *product;
    }
  }
  const Term real = integerProduct(a, zeroA, b, zeroB).cast(DataType::kFLOAT) * result.scale;
  return isQuantized ? quantized(real, real.number(1), result.zero, result.zero->type()) : real;
}

}  // namespace tenon::parsers::onnx
