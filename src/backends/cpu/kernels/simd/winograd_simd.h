// The transforms of Winograd's F(4x4, 3x3), over channels-last data.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

// A window of 3x3 gives 4x4 results from 6x6 inputs in 36 products instead of 144 (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", with the points 0, 1, -1, 2, -2).
constexpr int kWinogradIn = 6;
constexpr int kWinogradOut = 4;
constexpr int kWinogradProducts = kWinogradIn * kWinogradIn;

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
  // to[p * productStride + c] from 36 patches of `channels` values each; `patch[i]` is the pixel (i / 6, i % 6).
  void (*input)(const float* const* patch, int64_t channels, float* to, int64_t productStride);
  // The 16 results of `channels` columns from 36 products, plus the bias where there is one: to[i][c] for pixel
  // (i / 4, i % 4); rows of `to` are `channels` apart. All sizes are multiples of the vector's, bias filled up.
  void (*output)(const float* products, int64_t productStride, int64_t channels, const float* bias, float* to,
                 int64_t toStride);
  void (*outputToImage)(const WinogradPatch& patch);
};
const WinogradTransforms& winogradTransforms();

// The 36 values of one 3x3 window.
void winogradWeights(const double* window, double* products);

}  // namespace tenon::backends::cpu
