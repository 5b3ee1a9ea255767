// The two forms of Winograd's convolution by 3x3 windows.
#pragma once

#include <string_view>

namespace tenon::backends::cpu {

// A window of 3x3 gives out x out results from (out + 2)^2 inputs in as many products (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", with the points 0, 1, -1 and, for 4x4, 2, -2): 36 products for 16 results, or 16
// for 4. The first has fewer multiplications, the second less than half of the weights.
struct WinogradForm {
  int out = 4;  // or 2
  constexpr int in() const noexcept { return out + 2; }
  constexpr int products() const noexcept { return in() * in(); }
};
constexpr int kMostWinogradResults = 16;
constexpr int kMostWinogradProducts = 36;

// The second in plans and timing caches.
inline constexpr std::string_view kSmallWinograd = "2x2";

}  // namespace tenon::backends::cpu
