// Checks of types and axes, and the limits of followed contents.
#include "ops/infer_util.h"

namespace tenon::ops {

bool followsContents(const Shape& shape) noexcept {
  if (shape.empty()) return true;
  return shape.size() == 1 && shape[0].isConstant() && shape[0].constant() <= kMaxContents;
}

void checkFloating(const InferContext& context, size_t input) {
  const DataType type = context.input(input).dtype;
  context.check(isFloating(type), "input {} has type {}, expected a floating type", input, name(type));
}

void checkSameType(const InferContext& context, size_t a, size_t b) {
  const DataType x = context.input(a).dtype;
  const DataType y = context.input(b).dtype;
  context.check(x == y, "inputs {} and {} have types {} and {}; cast one of them", a, b, name(x), name(y));
}

ScalarOperands scalarOperands(const InferContext& context, const ScalarExpr& expr) {
  ScalarOperands result{context.input(0).shape, {}};
  for (size_t i = 0; i < context.inputCount(); ++i) {
    result.types.push_back(context.input(i).dtype);
    if (i > 0) result.shape = context.broadcast(result.shape, context.input(i).shape);
  }
  context.check(expr.inputCount() <= static_cast<int>(context.inputCount()), "expression {} needs {} inputs, got {}",
                text(expr), expr.inputCount(), context.inputCount());
  return result;
}

std::vector<bool> axisMask(const InferContext& context, const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> mask(static_cast<size_t>(rank));
  for (const auto axis : axes) {
    const auto i = static_cast<size_t>(context.axis(axis, rank));
    context.check(!mask[i], "axis {} is given twice", axis);
    mask[i] = true;
  }
  return mask;
}

std::vector<bool> axisMask(const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> mask(static_cast<size_t>(rank));
  for (const auto axis : axes) mask[static_cast<size_t>(positiveAxis(axis, rank))] = true;
  return mask;
}

}  // namespace tenon::ops
