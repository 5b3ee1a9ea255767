// Convolution of lines in Highway: written once, compiled per instruction set. Sums stay in registers.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/row_convolution_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "backends/cpu/kernels/simd/row_convolution_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace row_convolutions {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
static_assert(4 * HWY_MAX_BYTES / sizeof(float) <= static_cast<size_t>(kRowConvolutionSlack));

// The first `count` of the vectors' elements, of which the last vector has at least one.
template <int kVectors>
HWY_INLINE void store(const V* sums, int64_t count, float* out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
#pragma GCC unroll 4
  for (int v = 0; v + 1 < kVectors; ++v) hn::StoreU(sums[v], d, out + v * lanes);
  const int64_t rest = count - (kVectors - 1) * lanes;
  if (rest >= lanes) return hn::StoreU(sums[kVectors - 1], d, out + (kVectors - 1) * lanes);
  HWY_ALIGN float some[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(sums[kVectors - 1], d, some);
  std::copy_n(some, rest, out + (kVectors - 1) * lanes);
}

// The minimum and the maximum take their second operand where one is NaN, so NaN stays.
template <int kVectors>
HWY_INLINE void finish(const RowConvolution& call, V* sums) {
  const D d;
  if (call.bends) {
    const V slope = hn::Set(d, call.slope);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[v] = hn::IfThenElse(hn::Ge(sums[v], hn::Zero(d)), sums[v], hn::Mul(sums[v], slope));
  }
  if (call.isBounded) {
    const V low = hn::Set(d, call.low), high = hn::Set(d, call.high);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[v] = lesser(high, greater(low, sums[v]));
  }
}

template <int kChannels, int kVectors>
HWY_INLINE void block(const RowConvolution& call, int64_t first) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kChannels][kVectors];
#pragma GCC unroll 8
  for (int c = 0; c < kChannels; ++c) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[c][v] = hn::Set(d, call.bias != nullptr ? call.bias[c] : 0.f);
  }
  const float* const lines = call.lines + first;
  for (int64_t t = 0; t < call.taps; ++t) {
    const float* const from = lines + call.offsets[t];
    V x[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(d, from + v * lanes);
#pragma GCC unroll 8
    for (int c = 0; c < kChannels; ++c) {
      const V weight = hn::Set(d, call.weights[c * call.taps + t]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[c][v] = hn::MulAdd(weight, x[v], sums[c][v]);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kChannels; ++c) {
    finish<kVectors>(call, sums[c]);
    store<kVectors>(sums[c], call.count - first, call.out + c * call.outStep + first);
  }
}

// One vector of twice as many channels, whose sums are as many chains as multiply-adds need.
void convolveVector(const RowConvolution& call) { block<kManyRowChannels, 1>(call, 0); }

template <int kChannels>
void convolve(const RowConvolution& call) {
  constexpr int kMost = kChannels <= 2 || HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  for (int64_t first = 0; first < call.count;) {
    const int64_t vectors = (call.count - first + lanes - 1) / lanes;
    if (vectors >= kMost) {
      block<kChannels, kMost>(call, first);
      first += kMost * lanes;
    } else if (kMost > 3 && vectors == 3) {
      block<kChannels, 3>(call, first);
      first += 3 * lanes;
    } else if (vectors >= 2) {
      block<kChannels, 2>(call, first);
      first += 2 * lanes;
    } else {
      block<kChannels, 1>(call, first);
      first += lanes;
    }
  }
}

// What is loaded of a line of the image serves all lines of the result that read it.
template <int kVectors>
HWY_INLINE void lines(const LinesConvolution& all, int64_t first) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto& call = all.call;
  V sums[kLinesAtOnce][kVectors];
#pragma GCC unroll 4
  for (int l = 0; l < kLinesAtOnce; ++l) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[l][v] = hn::Set(d, call.bias != nullptr ? call.bias[0] : 0.f);
  }
  const float* weights = call.weights;
  for (int64_t p = 0; p < all.planes; ++p, weights += all.rows * all.columns) {
    const float* line = call.lines + p * all.plane + first;
    for (int64_t r = 0; r < all.rows + kLinesAtOnce - 1; ++r, line += all.line) {
      for (int64_t s = 0; s < all.columns; ++s) {
        V x[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) x[v] = hn::LoadU(d, line + call.offsets[s] + v * lanes);
#pragma GCC unroll 4
        for (int l = 0; l < kLinesAtOnce; ++l) {
          if (r < l || r - l >= all.rows) continue;
          const V weight = hn::Set(d, weights[(r - l) * all.columns + s]);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) sums[l][v] = hn::MulAdd(weight, x[v], sums[l][v]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int l = 0; l < kLinesAtOnce; ++l) {
    finish<kVectors>(call, sums[l]);
    store<kVectors>(sums[l], call.count - first, call.out + l * all.outLine + first);
  }
}

void convolveLines(const LinesConvolution& call) {
  constexpr int kMost = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // sums, what is loaded and a weight stay in registers
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  for (int64_t first = 0; first < call.call.count;) {
    const int64_t vectors = (call.call.count - first + lanes - 1) / lanes;
    if (vectors >= kMost) {
      lines<kMost>(call, first);
      first += kMost * lanes;
    } else if (vectors >= 2) {
      lines<2>(call, first);
      first += 2 * lanes;
    } else {
      lines<1>(call, first);
      first += lanes;
    }
  }
}

}  // namespace row_convolutions

LinesConvolutionFunction findLinesConvolution() { return row_convolutions::convolveLines; }

RowConvolutionFunction findRowConvolution(int64_t channels) {
  switch (channels) {
    case 1: return row_convolutions::convolve<1>;
    case 2: return row_convolutions::convolve<2>;
    case 3: return row_convolutions::convolve<3>;
    case kManyRowChannels: return row_convolutions::convolveVector;
    default: return row_convolutions::convolve<4>;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findRowConvolution);
TENON_SIMD_TABLE(findLinesConvolution);

}  // namespace

RowConvolutionFunction rowConvolutionFunction(int64_t channels) {
  return TENON_SIMD_BEST(findRowConvolution)(channels);
}

LinesConvolutionFunction linesConvolutionFunction() { return TENON_SIMD_BEST(findLinesConvolution)(); }

}  // namespace tenon::backends::cpu
#endif
