// Convolution of lines: some channels of a line of the result at once, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

// Elements that are read behind the last one that counts.
constexpr int64_t kRowConvolutionSlack = 64;

// out[c * outStep + i] = bias[c] + sum over taps t of weights[c * taps + t] * lines[offsets[t] + i], added in this
// order.
struct RowConvolution {
  const float* lines = nullptr;
  const int64_t* offsets = nullptr;
  int64_t taps = 0;
  const float* weights = nullptr;
  const float* bias = nullptr;  // or null
  float* out = nullptr;
  int64_t outStep = 0;
  int64_t count = 0;
  // What becomes of the sums: where it `bends`, those below zero are multiplied by the slope, then they are clamped.
  bool bends = false, isBounded = false;
  float slope = 1, low = 0, high = 0;
};

constexpr int64_t kMostRowChannels = 4;
constexpr int64_t kManyRowChannels = 8;  // of at most one vector of elements

// By the number of channels, 1 to kMostRowChannels or kManyRowChannels.
using RowConvolutionFunction = void (*)(const RowConvolution& call);
RowConvolutionFunction rowConvolutionFunction(int64_t channels);

// kLinesAtOnce lines of one channel by windows that move down line by line: line l of the result, `outLine` floats
// behind the one before, reads what line 0 reads `line` floats further on. The sums are those of one line at a time, to
// the bit.
constexpr int64_t kLinesAtOnce = 4;
struct LinesConvolution {
  RowConvolution call;  // of line 0; the offsets are of the first row of a window
  int64_t planes = 0;   // of the image, `plane` floats apart
  int64_t plane = 0;
  int64_t rows = 0, columns = 0;  // of the window
  int64_t line = 0, outLine = 0;
};
using LinesConvolutionFunction = void (*)(const LinesConvolution& call);
LinesConvolutionFunction linesConvolutionFunction();

}  // namespace tenon::backends::cpu
