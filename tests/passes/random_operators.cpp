// Random graphs: operators that compute, with all of their fields; what an operator refuses is tried again, then left.
#include <algorithm>

#include "ops/op/attention.h"
#include "ops/op/concat_gather.h"
#include "ops/op/concat_pointwise.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/multi_pointwise.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/pointwise_reduce.h"
#include "ops/op/pooling.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/rotate_pairs.h"
#include "ops/op/slice.h"
#include "ops/op/sliced_pointwise.h"
#include "ops/op/softmax.h"
#include "ops/op/swapped_pointwise.h"
#include "random_generator.h"

namespace tenon::passes {

void Generator::anyOperator(ValueId x) {
  switch (pick(21)) {
    case 0: return anyScalar(x);
    case 1: return pick(3) == 0 ? anyRegion(x) : anyScalar(x);
    case 2:
    case 3: return anyWindow(x);
    case 4: return pick(6) == 0 ? anyExperts(x) : anyMatMul(x);
    case 5: return anyAttention(x);
    case 6:
    case 7: return anyNormalization(x);
    case 8: return anyRowwise(x);
    case 9: return anyTopK(x);
    case 10: return anyResize(x);
    case 11: return pick(3) == 0 ? anyScatter(x) : pick(4) == 0 ? anyCacheUpdate(x) : anyGather(x);
    case 12: return anySlice(x);
    case 13: return anyTranspose(x);
    case 14: return anyReshape(x);
    case 15: return anyConcat(x);
    case 16: return pick(2) == 0 ? shapeArithmetic(x) : pick(4) == 0 ? noise(x) : fill(x);
    case 17: return pick(3) == 0 ? halves(x) : anyScalar(x);
    case 18: return quantized();
    case 19: return pick(3) == 0 ? suppression(x) : selection(x);
    default: return integerStep();
  }
}

// Expressions that keep the size of their values; what rounds or compares is given exact values only.
void Generator::anyScalar(ValueId x) {
  constexpr const char* kSmooth[] = {"abs(x0);add(t0,0.5);log(t1)",
                                     "abs(x0);sqrt(t0)",
                                     "abs(x0);add(t0,0.5);rsqrt(t1)",
                                     "abs(x0);add(t0,0.5);recip(t1)",
                                     "clip(x0,-2,2);exp(t0)",
                                     "sin(x0)",
                                     "cos(x0)",
                                     "clip(x0,-1,1);tan(t0)",
                                     "clip(x0,-2,2);sinh(t0)",
                                     "clip(x0,-2,2);cosh(t0)",
                                     "clip(x0,-0.9,0.9);asin(t0)",
                                     "clip(x0,-0.9,0.9);acos(t0)",
                                     "atan(x0)",
                                     "asinh(x0)",
                                     "abs(x0);add(t0,1.25);acosh(t1)",
                                     "clip(x0,-0.9,0.9);atanh(t0)",
                                     "erf(x0)",
                                     "softplus(x0)",
                                     "softsign(x0)",
                                     "gelu_erf(x0)",
                                     "gelu_tanh(x0)",
                                     "leaky_relu(x0,0.125)",
                                     "elu(x0,1.5)",
                                     "selu(x0,1.5,1.125)",
                                     "hard_sigmoid(x0,0.2,0.5)",
                                     "hard_sigmoid(x0,0.25,0.5);mul(x0,t0)",
                                     "abs(x0);add(t0,0.5);pow(t1,1.5)",
                                     "abs(x0);add(t0,0.5);div(x0,t1)",
                                     "fma(x0,x0,0.5)",
                                     "min(x0,0.25)",
                                     "max(x0,-0.25)",
                                     "min(x0,0.5);max(t0,-0.5)",
                                     "pow(x0,2)",
                                     "div(x0,3)",
                                     "sub(0.5,x0)",
                                     "mul(x0,x0)"};
  constexpr const char* kExact[] = {"ceil(x0)",
                                    "floor(x0)",
                                    "mul(x0,4);round(t0)",
                                    "sign(x0)",
                                    "thresholded_relu(x0,0.25)",
                                    "floor_div(x0,0.3)",
                                    "mod(x0,0.7)",
                                    "fmod(x0,0.7)",
                                    "greater(x0,0.1);select(t0,x0,-1)",
                                    "less(x0,0.1);select(t0,2,x0)",
                                    "equal(x0,x0);select(t0,x0,0.5)",
                                    "isnan(x0);select(t0,1,x0)",
                                    "isinf(x0);not(t0);select(t1,x0,1)",
                                    "greater(x0,0);less(x0,0.5);and(t0,t1);select(t2,x0,3)",
                                    "greater(x0,0.5);less(x0,-0.5);or(t0,t1);select(t2,x0,0)",
                                    "greater(x0,0);greater(x0,0.5);xor(t0,t1);select(t2,x0,0)",
                                    "greater(x0,0);cast.f32(t0)",
                                    "mul(x0,8);cast.i32(t0);cast.f32(t1)",
                                    "identity(x0)"};
  if (isExact(x) && pick(2) == 0) {
    unaryOf(kExact[pick(std::size(kExact))], x);
    return;
  }
  if (pick(12) == 0) {
    put(ops::MultiPointwise{ops::parseScalarExpr("tanh(x0);mul(t0,x0);add(t1,0.5)"), {2, pick(2)}}, {x});
    const auto expr = ops::parseScalarExpr("sub(x0,x1);mul(t0,x0)");
    const auto rank = static_cast<int64_t>(shape(x).size());
    constexpr ops::ReduceOp kOps[] = {ops::ReduceOp::kSum, ops::ReduceOp::kMax, ops::ReduceOp::kAvg};
    if (rank > 0) put(ops::PointwiseReduce{expr, kOps[pick(3)], {pick(rank)}, true}, {x, last_});
    if (rank > 0) put(ops::ConcatPointwise{-1, 2, ops::parseScalarExpr("mul(x0,0.5);tanh(t0)")}, {x, x});
    if (rank > 0 && shape(last_).back().isConstant() && shape(last_).back().constant() > 0) {
      const int64_t both = 2 * shape(last_).back().constant();
      HostTensor picks(DataType::kI32, {1 + pick(5)});
      for (int64_t i = 0; i < picks.view().count(); ++i) picks.view().storeInt(i, pick(2 * both) - both);
      put(ops::ConcatGather{-1}, {last_, graph_.addConstant(graph::Constant::own(std::move(picks))), last_});
    }
    if (rank > 0 && shape(last_).back().isConstant() && shape(last_).back().constant() % 2 == 0) {
      const int64_t half = shape(last_).back().constant() / 2;
      if (half > 0) tryPut(ops::RotatePairs{pick(2) == 0}, {last_, weights({half}), weights({half})});
      put(ops::SwappedPointwise{-1, ops::parseScalarExpr("tanh(x0);sub(x1,t0)")}, {last_, last_});
      if (pick(2) == 0) {
        put(ops::SlicedPointwise{-1, half, {0, half}, ops::parseScalarExpr("tanh(x0);sub(x1,t0)")}, {last_, last_});
        return;
      }
      put(ops::SlicedPointwise{-1, half, {half, 0}, ops::parseScalarExpr("sub(x0,x1);mul(t0,x1)"), {1, 0}},
          {last_, last_});
    }
    return;
  }
  unaryOf(kSmooth[pick(std::size(kSmooth))], x);
}

// The elements of x with so many spatial axes; x itself where that cannot be.
ValueId Generator::imageOf(ValueId x, size_t axes) {
  const Shape in = shape(x);
  if (in.size() < 2 || !isConstantFrom(x, 1)) return x;
  std::vector<Extent> to(in.begin() + 1, in.end());
  while (to.size() > axes + 1) {
    const Extent last = to.back();
    to.pop_back();
    to.back() = to.back() * last;
  }
  while (to.size() < axes + 1)
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(pick(static_cast<int64_t>(to.size()) + 1)), Extent(1));
  Shape wanted{in[0]};
  wanted.insert(wanted.end(), to.begin(), to.end());
  if (wanted == in) return x;
  put(ops::Reshape{wanted}, {x});
  return last_;
}

void Generator::anyWindow(ValueId x) {
  const auto axes = static_cast<size_t>(1 + pick(3));
  x = imageOf(x, axes);
  if (shape(x).size() != axes + 2 || !isConstantFrom(x, 1)) return unary(x);
  for (int tries = 0; tries < 4; ++tries) {
    const int64_t kind = pick(3);
    if (kind == 0 ? anyConvolution(x, axes) : kind == 1 ? anyDeconvolution(x, axes) : anyPooling(x, axes)) return;
  }
  unary(x);
}

// The text of an epilogue and its inputs; `broadcast` is what they have besides extents of one.
std::pair<std::string, std::vector<ValueId>> Generator::anyEpilogue(const Dims& broadcast) {
  switch (pick(6)) {
    case 0: return {"relu(x0)", {}};
    case 1: return {"add(x0,x1)", {weights(broadcast)}};
    case 2: return {"mul(x0,0.5);add(t0,x1);sigmoid(t1)", {weights(broadcast)}};
    case 3: return {"mul(x0,x1);add(t0,x2)", {weights(broadcast), weights({})}};
    default: return {"", {}};
  }
}

bool Generator::anyConvolution(ValueId x, size_t axes) {
  ops::Convolution op;
  const int64_t channels = shape(x)[1].constant();
  op.groups = pick(3) == 0 ? channels : 1;
  const int64_t out = op.groups * (1 + pick(3));
  Dims kernel{out, channels / std::max<int64_t>(op.groups, 1)};
  Dims perChannel{out};
  for (size_t i = 0; i < axes; ++i) {
    kernel.push(1 + pick(3));
    perChannel.push(1);
    op.strides.push_back(1 + pick(3));
    op.dilations.push_back(1 + pick(2));
    op.prePadding.emplace_back(pick(4) - 1);
    op.postPadding.emplace_back(pick(4) - 1);
  }
  std::vector<ValueId> inputs{x, weights(kernel)};
  op.hasBias = pick(2) == 0;
  if (op.hasBias) inputs.push_back(weights({out}));
  const auto [epilogue, extras] = anyEpilogue(perChannel);
  op.epilogue = ops::parseScalarExpr(epilogue);
  inputs.insert(inputs.end(), extras.begin(), extras.end());
  return tryPut(std::move(op), std::move(inputs));
}

bool Generator::anyDeconvolution(ValueId x, size_t axes) {
  ops::Deconvolution op;
  const int64_t channels = shape(x)[1].constant();
  op.groups = pick(3) == 0 ? channels : 1;
  const int64_t out = 1 + pick(3);
  Dims kernel{channels, out};
  Dims perChannel{out * op.groups};
  for (size_t i = 0; i < axes; ++i) {
    kernel.push(1 + pick(3));
    perChannel.push(1);
    op.strides.push_back(1 + pick(2));
    op.dilations.push_back(1 + pick(2));
    op.prePadding.emplace_back(pick(2));
    op.postPadding.emplace_back(pick(3) - 1);
  }
  std::vector<ValueId> inputs{x, weights(kernel)};
  op.hasBias = pick(2) == 0;
  if (op.hasBias) inputs.push_back(weights({out * op.groups}));
  const auto [epilogue, extras] = anyEpilogue(perChannel);
  op.epilogue = ops::parseScalarExpr(epilogue);
  inputs.insert(inputs.end(), extras.begin(), extras.end());
  for (size_t i = 0; i < axes; ++i) {  // an output without elements is no image for those behind it
    const int64_t covered = op.dilations[i] * (kernel[static_cast<int>(i) + 2] - 1) + 1;
    if ((shape(x)[i + 2].constant() - 1) * op.strides[i] + covered - op.prePadding[i].constant() -
            op.postPadding[i].constant() <=
        0)
      return false;
  }
  return tryPut(std::move(op), std::move(inputs));
}

bool Generator::anyPooling(ValueId x, size_t axes) {
  ops::Pooling op;
  op.type = static_cast<ops::PoolingType>(pick(3));
  op.blend = op.type == ops::PoolingType::kMaxAverageBlend ? 0.25 : 0;
  op.exclusive = pick(2) == 0;
  op.ceilMode = pick(2) == 0;
  const bool apart = pick(3) == 0;
  for (size_t i = 0; i < axes; ++i) {
    op.window.push_back(1 + pick(3));
    op.strides.push_back(1 + pick(3));
    op.dilations.push_back(apart ? 1 + pick(2) : 1);
    op.prePadding.emplace_back(pick(op.window.back()));
    op.postPadding.emplace_back(pick(op.window.back()));
    // A window without a cell has an infinite maximum, which kernels behind it may make a NaN of.
    const int64_t extent = shape(x)[i + 2].constant();
    const int64_t reach = (op.window[i] - 1) * op.dilations[i] + 1;
    const int64_t room = extent + op.prePadding[i].constant() + op.postPadding[i].constant() - reach;
    const int64_t last = (room + op.strides[i] - 1) / op.strides[i] * op.strides[i] - op.prePadding[i].constant();
    const bool mayMiss = op.ceilMode || op.dilations[i] > 1;
    if (mayMiss && op.type != ops::PoolingType::kAverage && (last >= extent || op.dilations[i] >= extent)) return false;
  }
  return tryPut(std::move(op), {x});
}

void Generator::anyMatMul(ValueId x) {
  const Shape in = shape(x);
  if (in.size() < 2 || !isConstantFrom(x, in.size() - 2)) return unary(x);
  ops::MatMul op;
  op.transposeA = pick(2) == 0;
  op.transposeB = pick(2) == 0;
  if (pick(3) == 0) {
    op.transposeB = !op.transposeA;  // x times itself
    return put(std::move(op), {x, x});
  }
  const int64_t inner = in[in.size() - (op.transposeA ? 2 : 1)].constant();
  const int64_t rows = in[in.size() - (op.transposeA ? 1 : 2)].constant();
  const int64_t columns = 1 + pick(5);
  Dims right;
  if (in.size() == 3 && pick(2) == 0) right.push(in[0].isConstant() ? in[0].constant() : 1);
  if (in.size() == 4 && in[1].isConstant() && pick(2) == 0) right.push(in[1].constant());
  right.push(op.transposeB ? columns : inner);
  right.push(op.transposeB ? inner : columns);
  const Dims row = pick(3) == 0 ? Dims{rows, 1} : Dims{columns};
  const auto [epilogue, extras] = anyEpilogue(row);
  op.epilogue = ops::parseScalarExpr(epilogue);
  std::vector<ValueId> inputs{x, weights(right)};
  inputs.insert(inputs.end(), extras.begin(), extras.end());
  if (!tryPut(std::move(op), std::move(inputs))) unary(x);
}

// Attention as one operator: heads apart in leading axes or together in columns, packed or not, with and without mask.
void Generator::anyAttention(ValueId x) {
  const Shape in = shape(x);
  if (in.size() < 3 || !isConstantFrom(x, 1)) return unary(x);
  if (in.size() > 3 && pick(2) == 0) {
    ops::Attention op;
    op.scale = 0.5;
    op.hasMask = pick(2) == 0;
    op.causal = pick(3) == 0;
    std::vector<ValueId> inputs{x, x, x};
    if (in.size() == 4 && in[1].constant() > 0 && pick(4) == 0) {  // the first head's keys for all
      put(ops::Slice{{0, 0, 0, 0}, {in[0], 1, in[2], in[3]}, {}, ops::SliceMode::kStrict}, {x});
      inputs[1] = inputs[2] = last_;
    }
    const int64_t rows = in[in.size() - 2].constant();
    if (op.hasMask) inputs.push_back(pick(2) == 0 ? weights({rows, rows}) : weights({1, rows}));
    return put(std::move(op), std::move(inputs));
  }
  const int64_t columns = in.back().constant();
  Extent rows = 1;
  for (size_t i = 1; i + 1 < in.size(); ++i) rows = rows * in[i];
  if (rows.constant() > 40 || columns == 0) return unary(x);
  put(ops::Reshape{{in[0], rows, in.back()}}, {x});
  const ValueId flat = last_;
  ops::Attention op;
  op.heads = 1 + pick(3);
  op.scale = 0.25 + static_cast<double>(pick(4)) * 0.25;
  op.packed = pick(2) == 0;
  op.hasMask = pick(2) == 0;
  op.causal = pick(3) == 0;
  const int64_t width = op.heads * (1 + pick(3));
  std::vector<ValueId> inputs;
  for (int i = 0; i < (op.packed ? 1 : 3); ++i) {
    put(ops::MatMul{}, {flat, weights({columns, op.packed ? 3 * width : width})});
    inputs.push_back(last_);
  }
  if (op.hasMask)
    inputs.push_back(pick(2) == 0 ? weights({rows.constant(), rows.constant()})
                                  : weights({op.heads, 1, rows.constant()}));
  put(std::move(op), std::move(inputs));
}

void Generator::anyNormalization(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank < 2 || !isConstantFrom(x, 1)) return unary(x);
  ops::Normalization op;
  op.epsilon = 0.05;
  for (int64_t axis = 1; axis < rank; ++axis) {
    if (pick(2) == 0) op.axes.push_back(pick(2) == 0 ? axis : axis - rank);
  }
  if (op.axes.empty()) op.axes.push_back(-1);
  const int64_t channels = shape(x)[1].constant();
  if (channels > 1 && pick(3) == 0) op.groups = channels % 2 == 0 ? 2 : channels;
  Dims parameter = channelDims(x);
  switch (pick(4)) {
    case 0: parameter = {shape(x).back().constant()}; break;
    case 1: parameter = {1}; break;
    case 2: parameter[1] = op.groups; break;
    default: break;
  }
  const ValueId scale = weights(parameter);
  std::vector<ValueId> inputs{x, scale, weights(parameter)};
  for (const ValueId other : pool_) {
    if (other == x || shape(other) != shape(x) || pick(2) == 0) continue;
    op.skip = true;
    op.keepSum = pick(2) == 0;
    inputs.push_back(other);
    break;
  }
  if (!tryPut(std::move(op), std::move(inputs))) unary(x);
}

// Reductions of every kind over any axes, softmax, sums along an axis, normalization across channels.
void Generator::anyRowwise(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank == 0) return anyScalar(x);
  const int64_t kind = elements(x) > 1000 ? 0 : pick(5);
  if (kind == 2) return put(ops::Softmax{pick(2 * rank) - rank}, {x});
  if (kind == 3) {
    const auto cumulative =
        fmt::format("cumulative{{axis={} exclusive={} reverse={}}}", pick(rank), pick(2) == 0, pick(2) == 0);
    return put(ops::Operator::parse(cumulative), {x});
  }
  if (kind == 4 && rank > 1) {
    return put(ops::Operator::parse(fmt::format("lrn{{window={} alpha=0.{} beta={} k=1.5}}", 1 + pick(5), 1 + pick(9),
                                                pick(2) == 0 ? 0.75 : 0.5)),
               {x});
  }
  ops::Reduce op;
  op.op = static_cast<ops::ReduceOp>(pick(5));
  op.keepDims = pick(2) == 0;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (pick(2) == 0) op.axes.push_back(pick(2) == 0 ? axis : axis - rank);
  }
  if (op.axes.empty() || elements(x) > 1000) op.axes = {rank - 1};
  if (op.op == ops::ReduceOp::kSum && rank > 2) op.op = ops::ReduceOp::kAvg;  // sums of sums would grow
  if (elements(x) == 0) op.op = ops::ReduceOp::kSum;  // infinite extremes of nothing make NaNs behind them
  put(std::move(op), {x});
}

}  // namespace tenon::passes
