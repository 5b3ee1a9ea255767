// NonZero: shape rule and reference.
#include "ops/op/nonzero.h"

#include "ops/op/count_nonzero.h"

namespace tenon::ops {

Facts NonZero::facts() const { return {}; }

void NonZero::infer(InferContext& context) const {
  context.check(indexType == DataType::kI32 || indexType == DataType::kI64, "index type {}, expected i32 or i64",
                name(indexType));
  for (const auto& extent : context.input(0).shape)
    context.check(indexType == DataType::kI64 || !extent.isConstant() || extent.constant() <= INT32_MAX,
                  "an axis has {} elements, which indices of i32 do not reach; expected indices of i64", extent.text());
  context.check(!size.isConstant() || size.constant() >= 0, "the size {} is negative", size.text());
  context.output(indexType, {Extent(context.input(0).rank()), size});
}

void NonZero::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& y = context.outputs[0];
  const int64_t columns = y.dims[1];
  int64_t column = 0;
  for (int64_t i = 0; i < x.count() && column < columns; ++i) {
    if (!isNonZero(x, i)) continue;
    int64_t rest = i;
    for (int axis = x.dims.rank - 1; axis >= 0; --axis) {
      y.storeInt(axis * columns + column, rest % x.dims[axis]);
      rest /= x.dims[axis];
    }
    ++column;
  }
  for (; column < columns; ++column) {
    for (int axis = 0; axis < x.dims.rank; ++axis) y.storeInt(axis * columns + column, 0);
  }
}

OperatorInfo operatorInfo_nonzero() { return describe<NonZero>(); }

}  // namespace tenon::ops
