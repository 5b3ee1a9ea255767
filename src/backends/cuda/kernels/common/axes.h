// An index space cut in two: axes that stay, and axes over which something is computed.
#pragma once

#include <vector>

#include "core/strided.h"

namespace tenon::backends::cuda {

struct SplitAxes {
  LoopSpace kept;
  LoopSpace reduced;
};

// Both halves have the same operands, in the order given; the order of axes follows the first.
inline SplitAxes splitAxes(const Dims& dims, const std::vector<bool>& isReduced, const std::vector<Strides>& operands) {
  Dims keptDims;
  Dims reducedDims;
  std::vector<Strides> kept(operands.size(), Strides{});
  std::vector<Strides> reduced(operands.size(), Strides{});
  for (int axis = 0; axis < dims.rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    auto& to = isReduced[at] ? reducedDims : keptDims;
    auto& strides = isReduced[at] ? reduced : kept;
    for (size_t k = 0; k < operands.size(); ++k) strides[k][static_cast<size_t>(to.rank)] = operands[k][at];
    to.push(dims[axis]);
  }
  return {collapse(keptDims, kept), collapse(reducedDims, reduced)};
}

// [-rank, rank) to a mask.
inline std::vector<bool> axisMask(const std::vector<int64_t>& axes, int rank) {
  std::vector<bool> mask(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) mask[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  return mask;
}

}  // namespace tenon::backends::cuda
