// Values of a graph with the operators of arithmetic, for layers that are written as a formula of operators.
#pragma once

#include "api/network/lower_context.h"
#include "ops/op/gather.h"
#include "ops/op/reduce.h"
#include "ops/op/slice.h"

namespace tenon::api {

// A value and the context that emits what is computed from it. Operands broadcast, aligned at their last axes; a number
// takes the type of the other operand.
class Formula {
 public:
  Formula(LowerContext& context, graph::ValueId value) : context_(&context), id_(value) {}
  graph::ValueId id() const { return id_; }
  LowerContext& context() const { return *context_; }
  const Shape& shape() const { return context_->shape(id_); }
  int rank() const { return context_->rank(id_); }
  DataType type() const { return context_->type(id_).dtype; }
  const Extent& dim(int axis) const { return shape()[static_cast<size_t>(axis < 0 ? axis + rank() : axis)]; }

  Formula number(double number) const;
  Formula cast(DataType type) const { return {*context_, context_->cast(id_, type)}; }
  Formula reshape(Shape shape) const { return {*context_, context_->reshape(id_, std::move(shape))}; }
  Formula unsqueeze(int axis) const;  // an axis of the result
  Formula transpose(std::vector<int64_t> permutation) const;
  Formula expand(const Shape& shape) const;  // each extent equal, or 1 here
  Formula slice(int axis, Extent begin, Extent size, int64_t stride = 1) const;
  Formula reduce(ops::ReduceOp op, std::vector<int64_t> axes, bool keep) const;
  Formula gather(const Formula& indices, int64_t axis, int64_t batchAxes) const;
  Formula matmul(const Formula& other, bool transposeThis = false, bool transposeOther = false) const;
  Formula softmax(int64_t axis) const;
  Formula scalar(ops::ScalarOp op) const { return {*context_, context_->pointwise(op, {id_})}; }
  Formula scalar(ops::ScalarOp op, const Formula& other) const {
    return {*context_, context_->pointwise(op, {id_, other.id_})};
  }

 private:
  LowerContext* context_;
  graph::ValueId id_;
};

inline Formula operator+(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_add, b); }
inline Formula operator-(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_sub, b); }
inline Formula operator*(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_mul, b); }
inline Formula operator/(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_div, b); }
inline Formula operator<(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_less, b); }
inline Formula operator>(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_greater, b); }
inline Formula operator+(const Formula& a, double b) { return a + a.number(b); }
inline Formula operator-(const Formula& a, double b) { return a - a.number(b); }
inline Formula operator*(const Formula& a, double b) { return a * a.number(b); }
inline Formula operator/(const Formula& a, double b) { return a / a.number(b); }
inline Formula operator-(double a, const Formula& b) { return b.number(a) - b; }
inline Formula operator<(const Formula& a, double b) { return a < a.number(b); }
inline Formula operator>(const Formula& a, double b) { return a > a.number(b); }
inline Formula equal(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_equal, b); }
inline Formula both(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_and, b); }
inline Formula smaller(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_min, b); }
inline Formula larger(const Formula& a, const Formula& b) { return a.scalar(ops::ScalarOp::k_max, b); }
Formula where(const Formula& condition, const Formula& a, const Formula& b);
// 0, 1, ... below count.
Formula iota(LowerContext& context, const Extent& count, DataType type);
// An extent of a value as a tensor of one element without axes.
Formula extentOf(const Formula& value, int axis, DataType type);
Formula concat(const std::vector<Formula>& parts, int64_t axis);

}  // namespace tenon::api
