// Strides of tensors in memory layouts, and loops over index spaces collapsed to few axes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/dims.h"
#include "core/layout.h"

namespace tenon {

using Strides = std::array<int64_t, kMaxRank>;

// Element strides of axes in a layout without blocks; an axis that the layout moves and the tensor lacks is none.
Strides stridesOf(const Dims& dims, Layout layout);

// Strides of an operand within the axes of `space` (aligned at the right): 0 where it broadcasts.
Strides stridesWithin(const Dims& operand, Layout layout, const Dims& space);

// Blocked layouts have strides once axis 1 is two axes, blocks and channels of a block: [N,C/b,b,H,W]. With a block of
// 1 both functions are those of the space itself. Channels must fill whole blocks, else InternalError is thrown.
Dims splitChannels(const Dims& space, int64_t block);
// Strides of an operand, in a layout of this block or in a strided one, within the axes of splitChannels(space, block).
Strides stridesWithinSplit(const Dims& operand, Layout layout, const Dims& space, int64_t block);

// An index space with the strides of several operands. Axes are ordered so that the first operand walks forward in
// memory as far as possible, and neighbours that all operands walk as one are merged; extents of one vanish. At least
// one axis remains.
struct LoopSpace {
  std::vector<int64_t> extents;               // outermost first
  std::vector<std::vector<int64_t>> strides;  // per operand, per axis

  int64_t inner() const { return extents.back(); }
  int64_t outer() const;  // product of all but the innermost
  // Offset of each operand at the outer index (row-major over all axes but the innermost).
  void offsets(int64_t outerIndex, int64_t* result) const;
};

LoopSpace collapse(const Dims& space, const std::vector<Strides>& operands);

}  // namespace tenon
