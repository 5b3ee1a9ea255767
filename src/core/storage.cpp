// Sizes of layouts, saturating, so that absurd extents are told apart from small ones.
#include "core/storage.h"

namespace tenon {
namespace {

// Where the extents of a tensor are rounded up: each axis, and the last one with what is stored within it.
struct Rounding {
  Rounding(int rank, Layout layout) : layout(layout), row(rank - 1) {
    if (layout.innermost >= rank) this->layout.innermost = -1;
    if (layout.innermost == row && row > 0) --row;
  }
  int64_t of(int axis) const {
    return axis == layout.blockedAxis ? layout.block : axis == layout.innermost ? layout.multiple : 1;
  }
  Layout layout;
  int row;  // the axis that rows run along
};

// The next multiple, or UINT64_MAX.
uint64_t roundUp(uint64_t value, int64_t multiple) noexcept {
  const auto by = static_cast<uint64_t>(multiple);
  return value > UINT64_MAX - by ? UINT64_MAX : (value + by - 1) / by * by;
}

}  // namespace

uint64_t storageBytes(DataType dtype, const Dims& dims, Layout layout) noexcept {
  const Rounding rounding(dims.rank, layout);
  uint64_t count = 1;
  bool zero = false;
  const auto take = [&](int axis) {
    const int64_t extent = dims[axis];
    if (extent < 0 || extent > INT64_MAX - INT16_MAX) return false;
    zero = zero || extent == 0;
    return extent == 0 ||
           !__builtin_mul_overflow(count, roundUp(static_cast<uint64_t>(extent), rounding.of(axis)), &count);
  };
  const int inner = rounding.layout.innermost;
  if (dims.rank > 0 && !take(rounding.row)) return UINT64_MAX;
  if (inner >= 0 && inner != rounding.row && !take(inner)) return UINT64_MAX;
  count = roundUp(count, rounding.layout.rowMultiple);
  for (int axis = 0; axis < dims.rank; ++axis) {
    if (axis != rounding.row && axis != inner && !take(axis)) return UINT64_MAX;
  }
  if (count >= UINT64_MAX / 128) return UINT64_MAX;  // also beside a zero: products in another order would overflow
  if (zero) return 0;
  return (count * static_cast<uint64_t>(bits(dtype)) + 7) / 8;
}

Extent storedCount(const Shape& shape, Layout layout) {
  const Rounding rounding(static_cast<int>(shape.size()), layout);
  const auto rounded = [](const Extent& extent, int64_t multiple) {
    return multiple == 1 ? extent : ceilDiv(extent, multiple) * Extent(multiple);
  };
  const auto stored = [&](int axis) { return rounded(shape[static_cast<size_t>(axis)], rounding.of(axis)); };
  if (shape.empty()) return 1;
  Extent row = stored(rounding.row);
  if (rounding.layout.innermost >= 0 && rounding.layout.innermost != rounding.row)
    row = row * stored(rounding.layout.innermost);
  Extent count = rounded(row, rounding.layout.rowMultiple);
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    if (axis != rounding.row && axis != rounding.layout.innermost) count = count * stored(axis);
  }
  return count;
}

}  // namespace tenon
