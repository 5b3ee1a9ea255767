// Small helpers of shape rules: which contents are known, which element types an operator takes.
#pragma once

#include "ops/operator.h"
#include "ops/scalar.h"

namespace tenon::ops {

using Contents = std::optional<std::vector<Extent>>;

// Whether the contents of a tensor of this shape are followed: rank 0 or 1, constant, small.
bool followsContents(const Shape& shape) noexcept;

void checkFloating(const InferContext& context, size_t input);
void checkSameType(const InferContext& context, size_t a, size_t b);

// What the operands of scalar work have in common: the shape that they broadcast to, and their types.
struct ScalarOperands {
  Shape shape;
  std::vector<DataType> types;
};
ScalarOperands scalarOperands(const InferContext& context, const ScalarExpr& expr);

// The axes made non-negative, as a mask; UserError when one is out of range or repeated.
std::vector<bool> axisMask(const InferContext& context, const std::vector<int64_t>& axes, int rank);
// The same for an evaluation, where they have been checked.
std::vector<bool> axisMask(const std::vector<int64_t>& axes, int rank);

inline int positiveAxis(int64_t axis, int rank) noexcept { return static_cast<int>(axis < 0 ? axis + rank : axis); }

}  // namespace tenon::ops
