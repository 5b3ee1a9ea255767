// Scalar expressions over values that are followed as expressions: the arithmetic by which networks compute shapes.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/scalar.h"

namespace tenon::ops {

// Symbols are extents, which are never negative, unless they are elements of a tensor: x[0].
inline bool mayBeNegative(std::string_view symbol) noexcept { return symbol.ends_with(']'); }

// Whether contents of this type are followed: integers and bool, and f32 by fractions.
bool followsType(DataType type) noexcept;
// Most elements of a floating tensor that is followed: shapes and scales, no weights.
constexpr int64_t kMaxFractions = 16;

// The expression over one element of each input's contents. None where a step cannot be followed exactly: a type that
// rounds or saturates, a function that leaves the fractions, a chain whose result floating point might round across an
// integer. Integer division truncates, floor_div and mod round down, whatever the signs are; UserError for a division
// of a shape by zero.
std::optional<Extent> followScalar(const ScalarExpr& expr, std::span<const Extent> inputs,
                                   std::span<const DataType> types);

}  // namespace tenon::ops
