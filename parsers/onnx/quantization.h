// Quantization with zero points, axes and blocks as arithmetic, for what the quantize layers of the API cannot say.
#pragma once

#include <optional>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

struct IntegerRange {
  double low;
  double high;
};
// INT8, UINT8, INT32; fails for other types.
IntegerRange rangeOf(DataType type);

// A scale or zero point as it broadcasts to `shape` of rank `rank`: one value, one for each slice of an axis, or, where
// blockSize is not 0, one for each block of an axis.
Term alongAxis(const Term& parameter, const Term& data, int64_t axis, int64_t blockSize);

// saturate(round(x / scale) + zero point) as `type`; halves to even.
Term quantized(const Term& x, const Term& scale, const std::optional<Term>& zero, DataType type);
// (x - zero point) * scale in the type of the scale.
Term dequantized(const Term& x, const Term& scale, const std::optional<Term>& zero);
// x less its zero point as FLOAT, which holds both exactly for 8-bit types.
Term centered(const Term& x, const std::optional<Term>& zero);

// The product of matrices of INT8 or UINT8 less their zero points, exact in INT32. Zero points broadcast to their
// matrices: one for all, for each row of a, for each column of b.
Term integerProduct(const Term& a, const std::optional<Term>& zeroA, const Term& b, const std::optional<Term>& zeroB);

// What is made of the sums of a product: sum * scale as FLOAT, or that quantized with a zero point as its type. The
// scale is one number or one for each column, the zero point one number.
struct ProductResult {
  Term scale;
  std::optional<Term> zero;
};
Term quantizedProduct(const Term& a, const std::optional<Term>& zeroA, const Term& b, const std::optional<Term>& zeroB,
                      const ProductResult& result);

}  // namespace tenon::parsers::onnx
