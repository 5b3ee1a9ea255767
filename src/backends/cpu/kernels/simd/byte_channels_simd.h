// Quantized windows over single channels that lie side by side, compiled for every SIMD width and for the instructions
// that multiply and add four bytes at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// A vector of channels of some pixels. Blocks of 16 bytes are interleaved one by one: lane l of part k of a vector is
// of channel 16 * (l / 4) + 4 * k + l % 4.
struct ByteChannels {
  const uint8_t* const* rows = nullptr;  // the windows of pixels
  int64_t count = 0;
  const int64_t* taps = nullptr;  // what is added to their addresses
  int64_t tapCount = 0;
  const int8_t* weights = nullptr;  // [quads of taps][4 parts][lanes][4]; 0 for taps that are not there
  int64_t width = 0;                // channels that are there
  int64_t offset = 0;               // added to the windows
};

// Results of 8 bits; numbers of channels in the order of lanes.
struct ByteChannelResults {
  const int32_t* added = nullptr;  // to sums
  const float* scales = nullptr;
  const float* biases = nullptr;  // added then
  int32_t zero = 0, low = 0;
  bool isSigned = false;
  uint8_t* to = nullptr;
  int64_t step = 0;  // from pixel to pixel
};

struct ByteChannelFunctions {
  int64_t channels = 16;  // of a vector, at most
  // Sums in the order of channels, `step` from pixel to pixel; of a whole vector, whatever is there.
  void (*sums)(const ByteChannels& c, int32_t* to, int64_t step) = nullptr;
  void (*bytes)(const ByteChannels& c, const ByteChannelResults& results) = nullptr;
};

const ByteChannelFunctions& byteChannels();

// Which channel of a vector of `channels` stands at place `place` of its parts.
inline int64_t byteChannelAt(int64_t place, int64_t channels) {
  const int64_t lanes = channels / 4;
  const int64_t lane = place % lanes;
  return 16 * (lane / 4) + 4 * (place / lanes) + lane % 4;
}

}  // namespace tenon::backends::cpu
