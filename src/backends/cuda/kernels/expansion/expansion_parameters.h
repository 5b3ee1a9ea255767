// What a pointwise convolution together with the depthwise convolution behind it is given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

struct ExpansionParameters {
  const void* x = nullptr;           // [images][height][width][channels in]
  void* y = nullptr;                 // [images][rows][columns][channels]
  const void* expand = nullptr;      // [channels][channels in]
  const void* expandBias = nullptr;  // or null
  const void* window = nullptr;      // [channels][taps]
  const void* windowBias = nullptr;  // or null
  int32_t height = 0, width = 0, rows = 0, columns = 0, channels = 0;
  int32_t top = 0, left = 0;  // padding in front of the image
  int32_t tilesOfRow = 0;     // tiles of results side by side
};

}  // namespace tenon::backends::cuda
