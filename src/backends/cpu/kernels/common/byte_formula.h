// Sums and products of quantized numbers, recognized in scalar expressions.
#pragma once

#include <optional>
#include <span>

#include "backends/cpu/kernels/simd/byte_map_simd.h"
#include "ops/scalar.h"

namespace tenon::backends::cpu {

// What the expression of two operands of 8 bits computes, where it has the form that quantized operators are written
// in: (x - zero) * scale of both, added or multiplied, div by a number, round, add a zero point, clamp, cast. Steps
// that change nothing may be missing. What follows from it has to be compared with the expression.
std::optional<ByteFormula> byteFormulaOf(const ops::ScalarExpr& expr, std::span<const DataType> types, DataType result);

}  // namespace tenon::backends::cpu
