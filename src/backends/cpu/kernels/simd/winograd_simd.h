// The transforms of Winograd's F(4x4, 3x3) and F(2x2, 3x3), over channels-last data.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/common/winograd_form.h"

namespace tenon::backends::cpu {

// The results of one patch where all that is left to do is a slope below zero and a clamp: those of its first `down`
// rows and `across` columns of pixels go straight to the image.
struct WinogradPatch {
  const float* products = nullptr;
  int64_t productStride = 0;
  int64_t channels = 0;         // of the image; products and bias are filled up to whole vectors
  const float* bias = nullptr;  // or null
  float low = 0, high = 0;
  bool bends = false;             // what is below zero is multiplied by a slope
  const float* slopes = nullptr;  // of the channels; null: `slope`
  float slope = 0;
  float* out = nullptr;  // of the first pixel
  int64_t rowStep = 0, pixelStep = 0;
  int64_t down = 0, across = 0;
};

struct WinogradTransforms {
  // to[p * productStride + c] from a patch of in x in pixels with `channels` values each, row by row. What lies `ahead`
  // floats behind the pixels that a patch does not share with the one before is asked for, if it is not 0.
  void (*input)(const float* const* patch, int64_t channels, float* to, int64_t productStride, int64_t ahead);
  // The out x out results of `channels` columns from their products, plus the bias where there is one: to[i][c] for
  // pixel i of the rows; rows of `to` are `toStride` apart. All sizes are multiples of the vector's, bias filled up.
  void (*output)(const float* products, int64_t productStride, int64_t channels, const float* bias, float* to,
                 int64_t toStride);
  void (*outputToImage)(const WinogradPatch& patch);
};
const WinogradTransforms& winogradTransforms(WinogradForm form);

// The values of one 3x3 window.
void winogradWeights(WinogradForm form, const double* window, double* products);

}  // namespace tenon::backends::cpu
