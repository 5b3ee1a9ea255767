// Collapsing of index spaces.
#include "core/strided.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "core/error.h"
#include "core/storage.h"

namespace tenon {

Strides stridesOf(const Dims& dims, Layout layout) {
  Strides result{};
  int64_t stride = 1;
  const auto place = [&](int axis, int64_t multiple) {
    result[static_cast<size_t>(axis)] = stride;
    stride *= (dims[axis] + multiple - 1) / multiple * multiple;
  };
  const int inner = layout.innermost < dims.rank ? layout.innermost : -1;
  if (inner >= 0) place(inner, layout.multiple);
  bool isRow = true;
  for (int axis = dims.rank - 1; axis >= 0; --axis) {
    if (axis == inner) continue;
    place(axis, 1);
    if (isRow) stride = (stride + layout.rowMultiple - 1) / layout.rowMultiple * layout.rowMultiple;
    isRow = false;
  }
  return result;
}

Strides stridesWithin(const Dims& operand, Layout layout, const Dims& space) {
  const Strides own = stridesOf(operand, layout);
  Strides result{};
  const int offset = space.rank - operand.rank;
  for (int axis = 0; axis < operand.rank; ++axis) {
    if (operand[axis] != 1) result[static_cast<size_t>(axis + offset)] = own[static_cast<size_t>(axis)];
  }
  return result;
}

Dims splitChannels(const Dims& space, int64_t block) {
  if (block == 1) return space;
  checkInternal(space.rank >= 2 && space.rank < kMaxRank && space[1] % block == 0, "{} in blocks of {} channels",
                space.text(), block);
  Dims result{space[0], space[1] / block, block};
  for (int axis = 2; axis < space.rank; ++axis) result.push(space[axis]);
  return result;
}

Strides stridesWithinSplit(const Dims& operand, Layout layout, const Dims& space, int64_t block) {
  if (block == 1) return stridesWithin(operand, layout, space);
  Strides result{};
  if (channelBlock(layout) == 1) {
    const auto own = stridesWithin(operand, layout, space);
    result[0] = own[0];
    result[1] = own[1] * block;
    std::copy(own.begin() + 1, own.end() - 1, result.begin() + 2);
    return result;
  }
  checkInternal(channelBlock(layout) == block && operand.rank == space.rank && operand[1] % block == 0,
                "{} as {} within {} in blocks of {} channels", operand.text(), name(layout), space.text(), block);
  result[2] = 1;
  int64_t stride = block;
  for (int axis = operand.rank - 1; axis >= 0; --axis) {
    const int64_t extent = axis == 1 ? operand[1] / block : operand[axis];
    if (operand[axis] != 1) result[static_cast<size_t>(axis < 2 ? axis : axis + 1)] = stride;
    stride *= extent;
  }
  return result;
}

int64_t LoopSpace::outer() const {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < extents.size(); ++i) count *= extents[i];
  return count;
}

void LoopSpace::offsets(int64_t outerIndex, int64_t* result) const {
  std::fill_n(result, strides.size(), 0);
  for (size_t axis = extents.size() - 1; axis-- > 0;) {
    const int64_t i = outerIndex % extents[axis];
    outerIndex /= extents[axis];
    for (size_t k = 0; k < strides.size(); ++k) result[k] += i * strides[k][axis];
  }
}

LoopSpace collapse(const Dims& space, const std::vector<Strides>& operands) {
  std::vector<int> axes;
  for (int axis = 0; axis < space.rank; ++axis) {
    if (space[axis] != 1) axes.push_back(axis);
  }
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
    return std::abs(operands[0][static_cast<size_t>(a)]) > std::abs(operands[0][static_cast<size_t>(b)]);
  });
  LoopSpace result;
  result.strides.resize(operands.size());
  for (const int axis : axes) {
    const auto at = static_cast<size_t>(axis);
    bool merges = !result.extents.empty();
    for (size_t k = 0; k < operands.size() && merges; ++k) {
      merges = result.strides[k].back() == operands[k][at] * space[axis];
    }
    if (merges) {
      result.extents.back() *= space[axis];
    } else {
      result.extents.push_back(space[axis]);
    }
    for (size_t k = 0; k < operands.size(); ++k) {
      if (merges) {
        result.strides[k].back() = operands[k][at];
      } else {
        result.strides[k].push_back(operands[k][at]);
      }
    }
  }
  if (result.extents.empty()) {
    result.extents.push_back(1);
    for (auto& strides : result.strides) strides.push_back(1);
  }
  return result;
}

}  // namespace tenon
