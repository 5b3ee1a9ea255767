// Affine quantization and exact integer products in floating point.
#include "quantization.h"

namespace tenon::parsers::onnx {
namespace {

// Sums of this many products of whole numbers to 255 and to 16 stay below 2^24, where floats are exact.
constexpr int64_t kExactTerms = 4096;

}  // namespace

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

Term exactProduct(const Term& a, const Term& b) {
  const int64_t inner = a.fixedDim(-1, "the inner extent of an integer product");
  // b = 16 * high + low, so that every sum is exact in floating point.
  const Term high = floorOf(b * (1.0 / 16));
  const Term low = b - high * 16;
  std::optional<Term> sum;
  for (int64_t begin = 0; begin < inner; begin += kExactTerms) {
    const int64_t size = std::min(kExactTerms, inner - begin);
    const auto part = [&](const Term& digits) {
      const Term rows = digits.slice(std::max<int64_t>(digits.rank() - 2, 0), begin, size);
      return a.slice(a.rank() - 1, begin, size).multiply(rows).cast(DataType::kINT32);
    };
    const Term both = part(high) * 16 + part(low);
    sum = sum ? *sum + both : both;
  }
  if (!sum) {
    return a.multiply(b).cast(DataType::kINT32);
  }
  return *sum;
}

}  // namespace tenon::parsers::onnx
