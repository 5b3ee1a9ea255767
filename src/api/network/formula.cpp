// Formulas of values: each operation is one node, or none where it changes nothing.
#include "api/network/formula.h"

#include "ops/op/concat.h"
#include "ops/op/fill.h"
#include "ops/op/matmul.h"
#include "ops/op/shape.h"
#include "ops/op/softmax.h"
#include "ops/op/transpose.h"

namespace tenon::api {

Formula Formula::number(double number) const {
  return {*context_, context_->add(ops::Fill{{}, type(), number, {}}, {})};
}

Formula Formula::unsqueeze(int axis) const {
  Shape wanted = shape();
  wanted.insert(wanted.begin() + axis, Extent(1));
  return reshape(std::move(wanted));
}

Formula Formula::transpose(std::vector<int64_t> permutation) const {
  bool identity = true;
  for (size_t i = 0; i < permutation.size(); ++i) identity = identity && permutation[i] == static_cast<int64_t>(i);
  return identity ? *this : Formula{*context_, context_->add(ops::Transpose{std::move(permutation)}, {id_})};
}

Formula Formula::expand(const Shape& wanted) const {
  if (shape() == wanted) return *this;
  ops::Slice slice{Shape(wanted.size(), Extent(0)), wanted, {}, ops::SliceMode::kStrict};
  for (size_t i = 0; i < wanted.size(); ++i) slice.stride.push_back(shape()[i] == wanted[i] ? Extent(1) : Extent(0));
  return {*context_, context_->add(std::move(slice), {id_})};
}

Formula Formula::slice(int axis, Extent begin, Extent size, int64_t stride) const {
  const auto at = static_cast<size_t>(axis < 0 ? axis + rank() : axis);
  if (begin.isConstant(0) && stride == 1 && size == shape()[at]) return *this;
  ops::Slice slice{Shape(shape().size(), Extent(0)), shape(), Shape(shape().size(), Extent(1)),
                   ops::SliceMode::kStrict};
  slice.start[at] = std::move(begin);
  slice.size[at] = std::move(size);
  slice.stride[at] = Extent(stride);
  return {*context_, context_->add(std::move(slice), {id_})};
}

Formula Formula::reduce(ops::ReduceOp op, std::vector<int64_t> axes, bool keep) const {
  return axes.empty() ? *this : Formula{*context_, context_->add(ops::Reduce{op, std::move(axes), keep}, {id_})};
}

Formula Formula::gather(const Formula& indices, int64_t axis, int64_t batchAxes) const {
  return {*context_, context_->add(ops::Gather{ops::GatherMode::kDefault, axis, batchAxes}, {id_, indices.id_})};
}

Formula Formula::matmul(const Formula& other, bool transposeThis, bool transposeOther) const {
  ops::MatMul op;
  op.transposeA = transposeThis;
  op.transposeB = transposeOther;
  return {*context_, context_->add(op, {id_, other.id_})};
}

Formula Formula::softmax(int64_t axis) const { return {*context_, context_->add(ops::Softmax{axis}, {id_})}; }

Formula where(const Formula& condition, const Formula& a, const Formula& b) {
  return {a.context(), a.context().pointwise(ops::ScalarOp::k_select, {condition.id(), a.id(), b.id()})};
}

Formula iota(LowerContext& context, const Extent& count, DataType type) {
  return {context, context.add(ops::Fill{{count}, type, 0, {1}}, {})};
}

Formula extentOf(const Formula& value, int axis, DataType type) {
  LowerContext& context = value.context();
  const Extent& extent = value.dim(axis);
  if (extent.isConstant()) {
    return {context, context.add(ops::Fill{{}, type, static_cast<double>(extent.constant()), {}}, {})};
  }
  const Formula shape(context, context.add(ops::ShapeOf{}, {value.id()}));
  return shape.slice(0, Extent(axis < 0 ? axis + value.rank() : axis), Extent(1)).reshape({}).cast(type);
}

Formula concat(const std::vector<Formula>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  std::vector<graph::ValueId> values;
  for (const Formula& part : parts) values.push_back(part.id());
  LowerContext& context = parts[0].context();
  return {context, context.add(ops::Concat{axis}, std::move(values))};
}

}  // namespace tenon::api
