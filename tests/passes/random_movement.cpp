// Random graphs: operators that move elements, with all of their fields.
#include <algorithm>
#include <bit>

#include "ops/op/cache_update.h"
#include "ops/op/concat.h"
#include "ops/op/expert_matmul.h"
#include "ops/op/gather.h"
#include "ops/op/reshape.h"
#include "ops/op/resize.h"
#include "ops/op/scatter.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"
#include "random_generator.h"

namespace tenon::passes {

void Generator::anyResize(ValueId x) {
  const Shape in = shape(x);
  if (in.empty() || elements(x) > 600) return unary(x);
  ops::Resize op;
  op.mode = static_cast<ops::ResizeMode>(pick(3));
  op.coordinates = static_cast<ops::CoordinateTransform>(pick(3));
  op.selector = static_cast<ops::SelectorForSinglePixel>(pick(2));
  op.rounding = static_cast<ops::NearestRounding>(pick(4));
  op.cubicCoeff = pick(2) == 0 ? -0.75 : -0.5;
  op.excludeOutside = op.mode == ops::ResizeMode::kCubic && pick(2) == 0;
  op.shape = in;
  const auto scales = pick(3);  // none, given, computed
  for (size_t i = 0; i < in.size(); ++i) {
    double scale = 1;
    if (i + 2 >= in.size() && in[i].isConstant() && in[i].constant() > 0) {
      const int64_t to = 1 + pick(2 * in[i].constant());
      scale = static_cast<double>(to) / static_cast<double>(in[i].constant());
      op.shape[i] = to;
    }
    if (scales == 1) op.scales.push_back(scale);
    if (scales == 2) op.scaleBits.push_back(Extent(std::bit_cast<int32_t>(static_cast<float>(scale))));
  }
  if (!tryPut(std::move(op), {x})) unary(x);
}

void Generator::anyGather(ValueId x) {
  const Shape in = shape(x);
  const auto rank = static_cast<int64_t>(in.size());
  if (rank == 0) return unary(x);
  const int64_t axis = pick(rank);
  const Extent extent = in[static_cast<size_t>(axis)];
  if (!extent.isConstant() || extent.constant() == 0 || elements(x) > 600) return unary(x);
  const int64_t count = extent.constant();
  ops::Gather op;
  op.axis = pick(2) == 0 ? axis : axis - rank;
  switch (pick(5)) {
    case 0: {  // one index for each element of a part of x
      if (!isConstantFrom(x, 0)) return unary(x);
      op.mode = ops::GatherMode::kElement;
      Dims dims;
      for (int64_t i = 0; i < rank; ++i)
        dims.push(i == axis ? 1 + pick(3) : 1 + pick(std::max<int64_t>(in[static_cast<size_t>(i)].constant(), 1)));
      return static_cast<void>(tryPut(std::move(op), {x, indices(dims, -count, count)}));
    }
    case 1: {  // rows of indices name the first axes
      if (!isConstantFrom(x, 0)) return unary(x);
      op.mode = ops::GatherMode::kNd;
      const int64_t named = 1 + pick(std::min<int64_t>(rank, 2));
      int64_t least = in[0].constant();
      for (int64_t i = 0; i < named; ++i) least = std::min(least, in[static_cast<size_t>(i)].constant());
      if (least == 0) return unary(x);
      return static_cast<void>(tryPut(std::move(op), {x, indices({1 + pick(3), named}, -least, least)}));
    }
    case 2: {  // indices of their own for each element of the first axis
      if (axis == 0 || !in[0].isConstant()) return unary(x);
      op.batchDims = 1;
      return static_cast<void>(tryPut(std::move(op), {x, indices({in[0].constant(), 1 + pick(3)}, -count, count)}));
    }
    case 3: {  // indices that are computed
      if (integers_.empty()) integerStep();
      const ValueId from = pickFrom(integers_);
      if ((type(from) != DataType::kI32 && type(from) != DataType::kI64) || elements(from) > 24) return unary(x);
      return static_cast<void>(tryPut(std::move(op), {x, unaryOf(fmt::format("mod(x0,{})", count), from)}));
    }
    default: {
      const Dims dims = pick(3) == 0 ? Dims{} : pick(2) == 0 ? Dims{1 + pick(4)} : Dims{2, 1 + pick(2)};
      return put(std::move(op), {x, indices(dims, -count, count)});
    }
  }
}

// Rows or elements of x replaced; several updates of one place among them.
void Generator::anyScatter(ValueId x) {
  if (pick(3) == 0) return anyDetection(x);
  const Shape in = shape(x);
  if (in.empty() || !isConstantFrom(x, 0) || elements(x) == 0 || elements(x) > 600) return unary(x);
  Dims dims;
  for (const auto& extent : in) dims.push(extent.constant());
  const int64_t axis = pick(dims.rank);
  ops::Scatter op;
  if (pick(2) == 0) {
    op.axis = pick(2) == 0 ? axis : axis - dims.rank;
    Dims some;
    for (int i = 0; i < dims.rank; ++i) some.push(i == axis ? 1 + pick(4) : 1 + pick(dims[i]));
    return put(std::move(op),
               {x, indices(some, -dims[static_cast<int>(axis)], dims[static_cast<int>(axis)]), weights(some)});
  }
  op.mode = ops::ScatterMode::kNd;
  const int named = static_cast<int>(1 + pick(std::min(dims.rank, 2)));
  int64_t least = dims[0];
  for (int i = 0; i < named; ++i) least = std::min(least, dims[i]);
  const int64_t rows = 1 + pick(3);
  Dims updates{rows};
  for (int i = named; i < dims.rank; ++i) updates.push(dims[i]);
  put(std::move(op), {x, indices({rows, named}, -least, least), weights(updates)});
}

// New rows for x as a cache, some of them outside.
void Generator::anyCacheUpdate(ValueId x) {
  const Shape in = shape(x);
  if (in.size() != 4 || !isConstantFrom(x, 0) || elements(x) == 0 || elements(x) > 600) return unary(x);
  const int64_t capacity = in[2].constant();
  const ValueId update = weights({in[0].constant(), in[1].constant(), pick(capacity + 1), in[3].constant()});
  put(ops::CacheUpdate{}, {x, update, indices({in[0].constant()}, -2, capacity + 2)});
}

// Rows of x by the matrices of one or more experts each, some by none.
void Generator::anyExperts(ValueId x) {
  const Shape in = shape(x);
  if (in.size() != 3 || !isConstantFrom(x, 0) || elements(x) == 0 || elements(x) > 600) return unary(x);
  const int64_t chosen = in[1].isConstant(1) ? 1 + pick(3) : in[1].constant();
  const int64_t experts = 1 + pick(4);
  put(ops::ExpertMatMul{},
      {x, indices({in[0].constant(), chosen}, -1, experts + 1), weights({experts, in[2].constant(), 1 + pick(9)})});
}

void Generator::anySlice(ValueId x) {
  const Shape in = shape(x);
  for (int tries = 0; tries < 4; ++tries) {
    ops::Slice op;
    op.mode = static_cast<ops::SliceMode>(pick(5));
    const bool strided = pick(2) == 0;
    for (size_t i = 0; i < in.size(); ++i) {
      const bool whole = !in[i].isConstant() || in[i].constant() == 0 || pick(3) == 0;
      const int64_t extent = whole ? 1 : in[i].constant();
      const int64_t stride = whole || !strided ? 1 : pick(5) - 2;
      const bool strict = op.mode == ops::SliceMode::kStrict;
      const int64_t start = whole ? 0 : strict ? pick(extent) : pick(extent + 4) - 2;
      int64_t size = 1 + pick(extent + 2);
      if (strict)
        size = std::min(size, stride > 0 ? (extent - 1 - start) / stride + 1 : stride < 0 ? start / -stride + 1 : size);
      if (pick(60) == 0) size = 0;
      op.start.emplace_back(start);
      op.size.push_back(whole ? in[i] : Extent(size));
      if (strided) op.stride.emplace_back(stride);
    }
    std::vector<ValueId> inputs{x};
    if (op.mode == ops::SliceMode::kFill && type(x) == DataType::kF32 && pick(2) == 0) inputs.push_back(number(0.75));
    if (tryPut(std::move(op), std::move(inputs))) return;
  }
}

void Generator::anyTranspose(ValueId x) {
  ops::Transpose op;
  for (size_t i = 0; i < shape(x).size(); ++i) op.permutation.push_back(static_cast<int64_t>(i));
  std::shuffle(op.permutation.begin(), op.permutation.end(), random_);
  put(std::move(op), {x});
}

// Joins two axes, cuts one, or puts one of extent 1 somewhere.
void Generator::anyReshape(ValueId x) {
  Shape to = shape(x);
  const size_t rank = to.size();
  const auto at = static_cast<size_t>(pick(static_cast<int64_t>(rank) + 1));
  const auto place = [&](size_t i) { return to.begin() + static_cast<std::ptrdiff_t>(i); };
  if (pick(2) == 0 && at + 1 < rank) {
    to[at] = to[at] * to[at + 1];
    to.erase(place(at + 1));
  } else if (at < rank && to[at].isConstant() && to[at].constant() % 2 == 0 && to[at].constant() > 0 && rank < 6) {
    const bool behind = pick(2) == 0;
    const Extent half = to[at].constant() / 2;
    to[at] = behind ? half : Extent(2);
    to.insert(place(at + 1), behind ? Extent(2) : half);
  } else if (at < rank && to[at].isConstant(1)) {
    to.erase(place(at));
  } else if (rank < 6) {
    to.insert(place(at), Extent(1));
  }
  put(ops::Reshape{to}, {x});
}

void Generator::anyConcat(ValueId x) {
  const auto rank = static_cast<int64_t>(shape(x).size());
  if (rank == 0 || elements(x) > 800) return unary(x);
  const int64_t axis = pick(rank);
  std::vector<ValueId> inputs{x};
  for (const ValueId other : pool_) {
    if (inputs.size() < 3 && other != x && shape(other).size() == shape(x).size() && pick(2) == 0) {
      Shape same = shape(other);
      same[static_cast<size_t>(axis)] = shape(x)[static_cast<size_t>(axis)];
      if (same == shape(x)) inputs.push_back(other);
    }
  }
  if (inputs.size() == 1 || pick(4) == 0) inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(pick(2)), x);
  put(ops::Concat{pick(2) == 0 ? axis : axis - rank}, std::move(inputs));
}

}  // namespace tenon::passes
