// Scales per tensor, axis or block.
#include "ops/scale_layout.h"

#include <algorithm>

#include "ops/infer_util.h"

namespace tenon::ops {

void checkScale(const InferContext& context, int64_t axis) {
  const Shape& x = context.input(0).shape;
  const Shape& scale = context.input(1).shape;
  checkFloating(context, 1);
  if (context.inputCount() > 2) {
    const Shape& zero = context.input(2).shape;
    context.check(zero.size() == scale.size(), "zero point has shape {}, the scale {}", text(zero), text(scale));
    for (size_t i = 0; i < zero.size(); ++i) context.merge(zero[i], scale[i], "zero point and scale");
  }
  if (product(scale).isConstant(1)) return;
  if (scale.size() == 1) {
    context.merge(scale[0], x[static_cast<size_t>(context.axis(axis, static_cast<int>(x.size())))], "scale and axis");
    return;
  }
  context.check(scale.size() == x.size(), "scale has shape {}, expected one element, one axis, or the rank of x {}",
                text(scale), text(x));
  for (size_t i = 0; i < x.size(); ++i) {
    if (!x[i].isConstant() || !scale[i].isConstant()) continue;
    const int64_t blocks = scale[i].constant();
    context.check(x[i].constant() == 0 || (blocks > 0 && x[i].constant() % blocks == 0),
                  "axis {}: extent {} is not divisible into {} blocks", i, x[i].text(), blocks);
  }
}

ScaleLayout::ScaleLayout(const Dims& x, const Dims& scale, int64_t axis) : rank_(x.rank) {
  block_.fill(1);
  if (scale.count() == 1) return;
  if (scale.rank == 1) {
    strides_[static_cast<size_t>(positiveAxis(axis, x.rank))] = 1;
    return;
  }
  strides_ = scale.strides();
  for (int i = 0; i < x.rank; ++i)
    block_[static_cast<size_t>(i)] = std::max<int64_t>(x[i] / std::max<int64_t>(scale[i], 1), 1);
}

int64_t ScaleLayout::offset(const IndexIterator& i) const noexcept {
  int64_t offset = 0;
  for (size_t axis = 0; axis < static_cast<size_t>(rank_); ++axis)
    offset += i.index[axis] / block_[axis] * strides_[axis];
  return offset;
}

}  // namespace tenon::ops
