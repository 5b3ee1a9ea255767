// Reduction: shape rule, contents of shape arithmetic, reference in double or int64.
#include "ops/op/reduce.h"

#include <cmath>
#include <limits>

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

template <typename T>
T start(ReduceOp op) {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case ReduceOp::kProd: return T(1);
    case ReduceOp::kMax: return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceOp::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default: return T(0);
  }
}

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kProd: return a * b;
    case ReduceOp::kMax: return b > a || std::isnan(b) ? b : a;
    case ReduceOp::kMin: return b < a || std::isnan(b) ? b : a;
    default: return a + b;
  }
}

int64_t combine(ReduceOp op, int64_t a, int64_t b) {
  switch (op) {  // unsigned arithmetic wraps
    case ReduceOp::kProd: return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case ReduceOp::kMax: return std::max(a, b);
    case ReduceOp::kMin: return std::min(a, b);
    default: return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

double finish(ReduceOp op, double value, int64_t count) {
  return op == ReduceOp::kAvg ? value / static_cast<double>(count) : value;
}

int64_t finish(ReduceOp op, int64_t value, int64_t count) {
  return op == ReduceOp::kAvg ? (count == 0 ? 0 : value / count) : value;
}

// Strides of the output in the index space of the input: 0 along the reduced axes.
Strides outputStrides(const Dims& in, const std::vector<bool>& reduced) {
  Strides strides{};
  int64_t stride = 1;
  for (int axis = in.rank - 1; axis >= 0; --axis) {
    if (reduced[static_cast<size_t>(axis)]) continue;
    strides[static_cast<size_t>(axis)] = stride;
    stride *= in[axis];
  }
  return strides;
}

template <typename T, typename Load, typename Store>
void reduceInto(const TensorView& in, const TensorView& out, ReduceOp op, const std::vector<bool>& reduced, Load load,
                Store store) {
  const auto strides = outputStrides(in.dims, reduced);
  std::vector<T> values(static_cast<size_t>(out.count()), start<T>(op));
  int64_t position = 0;
  for (IndexIterator i(in.dims); i.valid(); i.next(), ++position) {
    auto& value = values[static_cast<size_t>(i.dot(strides))];
    value = combine(op, value, load(position));
  }
  int64_t count = 1;
  for (int axis = 0; axis < in.dims.rank; ++axis) count *= reduced[static_cast<size_t>(axis)] ? in.dims[axis] : 1;
  for (size_t i = 0; i < values.size(); ++i) store(static_cast<int64_t>(i), finish(op, values[i], count));
}

Contents reduceContents(ReduceOp op, const std::vector<Extent>& values) {
  if (op == ReduceOp::kAvg || (values.empty() && (op == ReduceOp::kMax || op == ReduceOp::kMin))) return std::nullopt;
  Extent result = values.empty() ? Extent(op == ReduceOp::kProd ? 1 : 0) : values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    switch (op) {
      case ReduceOp::kProd: result = result * values[i]; break;
      case ReduceOp::kMax: result = max(result, values[i]); break;
      case ReduceOp::kMin: result = min(result, values[i]); break;
      default: result = result + values[i]; break;
    }
  }
  return std::vector<Extent>{result};
}

}  // namespace

Facts Reduce::facts() const {
  Facts facts;
  facts.reduction = true;
  return facts;
}

void Reduce::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(x.dtype != DataType::kBool, "input of type bool; cast it");
  const auto reduced = axisMask(context, axes, x.rank());
  Shape shape;
  for (size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (!reduced[axis]) shape.push_back(x.shape[axis]);
    if (reduced[axis] && keepDims) shape.push_back(1);
  }
  Contents contents = isFloating(x.dtype) ? std::nullopt : x.contents;  // fractions are not summed here
  if (contents && !axes.empty()) contents = reduceContents(op, *contents);
  context.output(x.dtype, std::move(shape), std::move(contents));
}

void Reduce::evaluate(const EvalContext& context) const {
  const auto& in = context.inputs[0];
  const auto& out = context.outputs[0];
  const auto reduced = axisMask(axes, in.dims.rank);
  if (isFloating(in.dtype)) {
    reduceInto<double>(
        in, out, op, reduced, [&](int64_t i) { return in.loadDouble(i); },
        [&](int64_t i, double value) { out.storeDouble(i, value); });
  } else {
    reduceInto<int64_t>(
        in, out, op, reduced, [&](int64_t i) { return in.loadInt(i); },
        [&](int64_t i, int64_t value) { out.storeInt(i, value); });
  }
}

OperatorInfo operatorInfo_reduce() { return describe<Reduce>(); }

}  // namespace tenon::ops
