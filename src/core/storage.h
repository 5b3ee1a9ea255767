// Bytes that a tensor takes in memory in a given format.
#pragma once

#include <cstdint>

#include "core/dims.h"
#include "core/format.h"

namespace tenon {

// Extent to which axis 1 is rounded up in storage: 1, 8 or 16.
constexpr int64_t channelBlock(Format format) {
  return format == Format::kBlocked8 ? 8 : format == Format::kBlocked16 ? 16 : 1;
}

// Padding of blocked formats included. UINT64_MAX when an extent is negative or the product does not fit.
uint64_t storageBytes(DataType dtype, const Dims& dims, Format format) noexcept;

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
