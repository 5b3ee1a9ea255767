// How the copy engine of sm_90 and later finds tiles of a matrix: the driver's tensor map as bytes.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

struct alignas(64) TileMap {
  unsigned char bytes[128] = {};
};

}  // namespace tenon::backends::cuda
