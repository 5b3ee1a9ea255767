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

}  // namespace tenon
