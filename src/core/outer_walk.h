// Steps through the outer axes of a loop space.
#pragma once

#include <array>
#include <cstdint>

#include "core/strided.h"

namespace tenon {

// Offsets of `kOperands` operands at one index after another over the first `axes` axes of a space, row-major: sums, as
// a division for each axis costs more than what short rows do.
template <size_t kOperands>
class OuterWalk {
 public:
  OuterWalk(const LoopSpace& space, size_t axes, int64_t begin) : space_(space), axes_(axes) {
    for (size_t axis = axes; axis-- > 0;) {
      at_[axis] = begin % space.extents[axis];
      begin /= space.extents[axis];
      for (size_t k = 0; k < kOperands; ++k) offsets_[k] += at_[axis] * space.strides[k][axis];
    }
  }
  int64_t offset(size_t operand) const { return offsets_[operand]; }
  void next() {
    for (size_t axis = axes_; axis-- > 0;) {
      const bool ends = ++at_[axis] == space_.extents[axis];
      for (size_t k = 0; k < kOperands; ++k)
        offsets_[k] += space_.strides[k][axis] * (ends ? 1 - space_.extents[axis] : 1);
      if (!ends) return;
      at_[axis] = 0;
    }
  }

 private:
  const LoopSpace& space_;
  size_t axes_;
  std::array<int64_t, kMaxRank + 1> at_{};
  std::array<int64_t, kOperands> offsets_{};
};

}  // namespace tenon
