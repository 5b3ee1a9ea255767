// Loops of a reduction with a pointwise prologue.
#include "backends/cpu/kernels/common/pointwise_reduce.h"

#include <algorithm>

namespace tenon::backends::cpu {
namespace {

// Whether all inputs (the operands behind the first one) step by 1 or stand still along the innermost axis, and one
// steps.
bool isLine(const LoopSpace& space) {
  bool steps = false;
  for (size_t k = 1; k < space.strides.size(); ++k) {
    const int64_t stride = space.strides[k].back();
    if (stride != 0 && stride != 1) return false;
    steps = steps || stride == 1;
  }
  return steps;
}

}  // namespace

PointwiseReduceLoops::PointwiseReduceLoops(const ops::PointwiseReduce& op, std::span<const runtime::TensorShape> inputs,
                                           const runtime::TensorShape& output) {
  std::vector<Dims> extents;
  for (const auto& input : inputs) extents.push_back(input.dims);
  dims = ops::broadcastDims(extents);
  size_t widest = 0;
  for (size_t k = 0; k < extents.size(); ++k) widest = extents[k].count() > extents[widest].count() ? k : widest;
  std::vector<Strides> from;
  for (const auto& input : inputs) from.push_back(stridesWithin(input.dims, input.layout, dims));
  from.insert(from.begin(), from[widest]);
  std::vector<bool> isReduced(static_cast<size_t>(dims.rank), false);
  for (const int64_t axis : op.axes) isReduced[static_cast<size_t>(axis < 0 ? axis + dims.rank : axis)] = true;
  const auto own = stridesOf(output.dims, output.layout);
  Dims keptDims, reducedDims;
  std::vector<Strides> keptStrides(from.size(), Strides{}), reducedStrides(from.size(), Strides{});
  for (int axis = 0, next = 0; axis < dims.rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    const auto to = static_cast<size_t>(op.keepDims ? axis : next);
    next += isReduced[at] ? 0 : 1;
    auto& space = isReduced[at] ? reducedDims : keptDims;
    auto& strides = isReduced[at] ? reducedStrides : keptStrides;
    const auto place = static_cast<size_t>(space.rank);
    for (size_t k = 0; k < from.size(); ++k) strides[k][place] = from[k][at];
    if (!isReduced[at]) strides[0][place] = own[to];
    space.push(dims[axis]);
  }
  kept = collapse(keptDims, keptStrides);
  reduced = collapse(reducedDims, reducedStrides);
  const int64_t rows = isLine(reduced) ? reduced.inner() : 0;
  const int64_t columns = isLine(kept) ? kept.inner() : 0;
  byRows = rows >= columns || rows >= 256;
  run = byRows ? rows : columns;
}

}  // namespace tenon::backends::cpu
