// How the host fills the index spaces of kernels.
#pragma once

#include <cstdint>

#include "backends/cuda/kernels/common/space_parameters.h"
#include "core/error.h"
#include "core/strided.h"

namespace tenon::backends::cuda {

static_assert(kMaxAxes == kMaxRank);

inline Divider dividerBy(int64_t d) {
  Divider result;
  if (d <= 1 || d >= int64_t{1} << 31) return result;  // spaces as large as that are divided in 64 bits
  result.divisor = static_cast<uint32_t>(d);
  while (uint64_t{1} << result.shift < result.divisor) ++result.shift;
  const uint64_t missing = (uint64_t{1} << result.shift) - result.divisor;
  result.multiplier = static_cast<uint32_t>((uint64_t{1} << 32) * missing / result.divisor + 1);
  return result;
}

// Steps of `width` elements along the innermost axis, whose extent `width` divides.
template <int kOperands>
void setSpace(Space<kOperands>& space, const LoopSpace& from, int width = 1) {
  checkInternal(from.strides.size() <= static_cast<size_t>(kOperands), "{} operands of a space for {}",
                from.strides.size(), kOperands);
  space.axes = static_cast<int32_t>(from.extents.size());
  space.count = 1;
  for (size_t axis = 0; axis < from.extents.size(); ++axis) {
    const bool inner = axis + 1 == from.extents.size();
    const int64_t extent = inner ? from.extents[axis] / width : from.extents[axis];
    space.extent[axis] = extent;
    space.divider[axis] = dividerBy(extent);
    space.count *= extent;
    for (size_t k = 0; k < from.strides.size(); ++k)
      space.stride[k][axis] = from.strides[k][axis] * (inner ? width : 1);
  }
}

// 32-bit indices do not reach.
template <int kOperands>
bool isWide(const Space<kOperands>& space) {
  return space.count >= int64_t{1} << 31;
}

// The largest power of two up to `most` by which the space can be walked in packs: it divides the innermost extent;
// operands step 1 there (operand 0 must) and by multiples of the pack elsewhere, or stand still.
inline int packWidth(const LoopSpace& space, int most) {
  const auto fits = [&](int width) {
    if (space.inner() % width != 0) return false;
    for (size_t k = 0; k < space.strides.size(); ++k) {
      const auto& strides = space.strides[k];
      if (strides.back() == 0 && k != 0) continue;
      if (strides.back() != 1) return false;
      for (size_t axis = 0; axis + 1 < strides.size(); ++axis) {
        if (strides[axis] % width != 0) return false;
      }
    }
    return true;
  };
  int width = most;
  while (width > 1 && !fits(width)) width /= 2;
  return width;
}

inline bool isAligned(const void* pointer, size_t bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

}  // namespace tenon::backends::cuda
