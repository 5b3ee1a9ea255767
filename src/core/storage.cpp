// Sizes of formats, saturating, so that absurd extents are told apart from small ones.
#include "core/storage.h"

namespace tenon {

uint64_t storageBytes(DataType dtype, const Dims& dims, Format format) noexcept {
  const int64_t block = channelBlock(format);
  uint64_t count = 1;
  bool zero = false;
  for (int axis = 0; axis < dims.rank; ++axis) {
    uint64_t extent = static_cast<uint64_t>(dims[axis]);
    if (dims[axis] < 0 || dims[axis] > INT64_MAX - block) return UINT64_MAX;
    if (axis == 1)
      extent =
          (extent + static_cast<uint64_t>(block) - 1) / static_cast<uint64_t>(block) * static_cast<uint64_t>(block);
    if (extent == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(count, extent, &count)) {
      return UINT64_MAX;
    }
  }
  if (count >= UINT64_MAX / 128) return UINT64_MAX;  // also beside a zero: products in another order would overflow
  if (zero) return 0;
  return (count * static_cast<uint64_t>(bits(dtype)) + 7) / 8;
}

}  // namespace tenon
