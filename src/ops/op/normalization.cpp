// Normalization: shape rule and two-pass reference in double.
#include "ops/op/normalization.h"

#include <cmath>

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

constexpr size_t kChannelAxis = 1;
constexpr size_t kSkipInput = 3;

// A coarser index space over the space of x: element i of axis a belongs to i / divisor[a] of the coarse one.
struct Coarse {
  Strides divisor;
  Strides strides{};

  Coarse() { divisor.fill(1); }
  size_t offset(const IndexIterator& i) const noexcept {
    int64_t result = 0;
    for (size_t axis = 0; axis < static_cast<size_t>(i.dims.rank); ++axis) {
      result += i.index[axis] / divisor[axis] * strides[axis];
    }
    return static_cast<size_t>(result);
  }
};

// Where the statistics of each element stand: reduced axes collapse, the channels of a group as well.
Coarse statisticsOf(const Normalization& op, const Dims& x, size_t& count) {
  const auto reduced = axisMask(op.axes, x.rank);
  Coarse coarse;
  count = 1;
  for (int axis = x.rank - 1; axis >= 0; --axis) {
    const auto a = static_cast<size_t>(axis);
    int64_t extent = x[axis];
    if (op.groups > 1 && a == kChannelAxis) {
      coarse.divisor[a] = std::max<int64_t>(extent / op.groups, 1);
      extent = op.groups;
    } else if (reduced[a]) {
      continue;
    }
    coarse.strides[a] = static_cast<int64_t>(count);
    count *= static_cast<size_t>(extent);
  }
  return coarse;
}

// Where the scale or bias of each element stands.
Coarse parameterOf(const Normalization& op, const Dims& parameter, const Dims& x) {
  Coarse coarse;
  coarse.strides = broadcastStrides(parameter, x);
  const bool perGroup = op.groups > 1 && parameter.rank == x.rank && parameter[1] == op.groups;
  if (perGroup) coarse.divisor[kChannelAxis] = std::max<int64_t>(x[1] / op.groups, 1);
  return coarse;
}

// What is normalized: x, or its sum with the second tensor, which is rounded as a node of its own would round it.
std::vector<double> normalized(const Normalization& op, const EvalContext& context) {
  auto x = toDoubles(context.inputs[0]);
  if (!op.skip) return x;
  const auto skip = toDoubles(context.inputs[kSkipInput]);
  HostTensor kept(context.inputs[0].dtype, context.inputs[0].dims);
  const TensorView sum = op.keepSum ? context.outputs[1] : kept.view();
  for (size_t i = 0; i < x.size(); ++i) {
    sum.storeDouble(static_cast<int64_t>(i), x[i] + skip[i]);
    x[i] = sum.loadDouble(static_cast<int64_t>(i));
  }
  return x;
}

}  // namespace

Facts Normalization::facts() const { return {}; }

void Normalization::infer(InferContext& context) const {
  const auto& x = context.input(0);
  for (size_t i = 0; i < 3; ++i) checkFloating(context, i);
  checkSameType(context, 1, 2);
  context.check(!axes.empty(), "there are no axes to normalize over");
  axisMask(context, axes, x.rank());
  context.check(groups >= 1, "groups = {}, expected at least 1", groups);
  if (groups > 1) {
    context.check(x.rank() >= 2, "groups = {} need a channel axis, the input {} has none", groups, text(x.shape));
    const Extent& channels = x.shape[kChannelAxis];
    context.check(!channels.isConstant() || channels.constant() % groups == 0,
                  "{} channels are not a multiple of groups = {}", channels.text(), groups);
  }
  for (size_t i = 1; i < 3; ++i) {
    const Shape& parameter = context.input(i).shape;
    context.check(parameter.size() <= x.shape.size(), "input {} has shape {}, it does not broadcast to {}", i,
                  text(parameter), text(x.shape));
    const size_t offset = x.shape.size() - parameter.size();
    for (size_t axis = 0; axis < parameter.size(); ++axis) {
      const bool perGroup = groups > 1 && offset == 0 && axis == kChannelAxis && parameter[axis].isConstant(groups);
      if (parameter[axis].isConstant(1) || perGroup) continue;
      context.merge(parameter[axis], x.shape[offset + axis], "scale or bias and input");
    }
  }
  context.check(skip || !keepSum, "keepSum = true without skip: there is no sum to keep");
  Shape shape = x.shape;
  if (skip) {
    const auto& other = context.input(kSkipInput);
    checkSameType(context, 0, kSkipInput);
    context.check(other.rank() == x.rank(), "skip has shape {}, expected that of the input, {}", text(other.shape),
                  text(x.shape));
    for (size_t axis = 0; axis < shape.size(); ++axis)
      shape[axis] = context.merge(shape[axis], other.shape[axis], "skip and input");
  }
  context.output(x.dtype, shape);
  if (keepSum) context.output(x.dtype, std::move(shape));
}

void Normalization::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  const Dims& dims = out.dims;
  const auto x = normalized(*this, context);
  const auto scale = toDoubles(context.inputs[1]);
  const auto bias = toDoubles(context.inputs[2]);
  size_t count = 0;
  const Coarse statistics = statisticsOf(*this, dims, count);
  const Coarse scales = parameterOf(*this, context.inputs[1].dims, dims);
  const Coarse biases = parameterOf(*this, context.inputs[2].dims, dims);
  const double members = count == 0 ? 0 : static_cast<double>(x.size()) / static_cast<double>(count);
  std::vector<double> mean(count);
  std::vector<double> variance(count);
  size_t position = 0;
  if (centered) {
    for (IndexIterator i(dims); i.valid(); i.next()) mean[statistics.offset(i)] += x[position++] / members;
  }
  position = 0;
  for (IndexIterator i(dims); i.valid(); i.next(), ++position) {
    const size_t at = statistics.offset(i);
    variance[at] += (x[position] - mean[at]) * (x[position] - mean[at]) / members;
  }
  position = 0;
  for (IndexIterator i(dims); i.valid(); i.next(), ++position) {
    const size_t at = statistics.offset(i);
    const double normal = (x[position] - mean[at]) / std::sqrt(variance[at] + epsilon);
    out.storeDouble(static_cast<int64_t>(position), normal * scale[scales.offset(i)] + bias[biases.offset(i)]);
  }
}

OperatorInfo operatorInfo_normalization() { return describe<Normalization>(); }

}  // namespace tenon::ops
