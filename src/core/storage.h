// Bytes that a tensor takes in memory in a given layout.
#pragma once

#include <cstdint>

#include "core/dims.h"
#include "core/layout.h"

namespace tenon {

// Channels of a block where axis 1 is in blocks; else 1.
constexpr int64_t channelBlock(Layout layout) { return layout.blockedAxis == 1 ? layout.block : 1; }

// Padding included. UINT64_MAX when an extent is negative or the product does not fit.
uint64_t storageBytes(DataType dtype, const Dims& dims, Layout layout) noexcept;
// The same as a number of elements over symbols.
Extent storedCount(const Shape& shape, Layout layout);

// More than a process can address: no tensor has as many bytes, and no build plans for one.
constexpr uint64_t kMostBytes = uint64_t{1} << 47;

// Sums and products of sizes; UINT64_MAX, which no allocation grants, where they do not fit.
constexpr uint64_t addBytes(uint64_t a, uint64_t b) noexcept { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
constexpr uint64_t multiplyBytes(uint64_t a, uint64_t b) noexcept {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}
// The next multiple of an alignment that is a power of two.
constexpr uint64_t alignBytes(uint64_t bytes, uint64_t alignment) noexcept {
  return bytes > UINT64_MAX - (alignment - 1) ? UINT64_MAX : (bytes + alignment - 1) & ~(alignment - 1);
}

}  // namespace tenon
