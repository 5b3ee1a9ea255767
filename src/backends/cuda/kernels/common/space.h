// Index spaces as kernels take them; mirrors Space and Divider of prelude.cuh.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "core/strided.h"

namespace tenon::backends::cuda {

constexpr int kMaxAxes = 8;

// n / divisor = (high 32 bits of n * multiplier + n) >> shift, for n below 2^31.
struct Divider {
  uint32_t divisor = 1;
  uint32_t multiplier = 1;
  uint32_t shift = 0;

  Divider() = default;
  explicit Divider(int64_t d) {
    if (d <= 1 || d >= int64_t{1} << 31) return;  // spaces as large as that are divided in 64 bits
    divisor = static_cast<uint32_t>(d);
    while (uint64_t{1} << shift < divisor) ++shift;
    multiplier = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift) - divisor) / divisor + 1);
  }
};

template <int kOperands>
struct Space {
  int64_t count = 0;
  int32_t axes = 0;
  Divider divider[kMaxAxes];
  int64_t extent[kMaxAxes] = {};
  int64_t stride[kOperands][kMaxAxes] = {};

  // Steps of `width` elements along the innermost axis, whose extent `width` divides.
  void set(const LoopSpace& from, int width = 1) {
    checkInternal(from.strides.size() <= static_cast<size_t>(kOperands), "{} operands of a space for {}",
                  from.strides.size(), kOperands);
    axes = static_cast<int32_t>(from.extents.size());
    count = 1;
    for (size_t axis = 0; axis < from.extents.size(); ++axis) {
      const bool inner = axis + 1 == from.extents.size();
      extent[axis] = inner ? from.extents[axis] / width : from.extents[axis];
      divider[axis] = Divider(extent[axis]);
      count *= extent[axis];
      for (size_t k = 0; k < from.strides.size(); ++k) stride[k][axis] = from.strides[k][axis] * (inner ? width : 1);
    }
  }
  bool wide() const { return count >= int64_t{1} << 31; }  // 32-bit indices do not reach
};

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
