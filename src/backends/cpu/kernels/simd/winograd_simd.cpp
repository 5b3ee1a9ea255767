// Transforms in Highway: a vector holds neighbouring channels of one pixel.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/winograd_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "backends/cpu/kernels/simd/winograd_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/tile_store.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

// One row or column: B^T d with
//   4  0 -5  0  1  0
//   0 -4 -4  1  1  0
//   0  4 -4 -1  1  0
//   0 -2 -1  2  1  0
//   0  2 -1 -2  1  0
//   0  4  0 -5  0  1
HWY_INLINE void transformIn(V d0, V d1, V d2, V d3, V d4, V d5, V* out, int step) {
  const D d;
  const V two = hn::Set(d, 2.f), four = hn::Set(d, 4.f), five = hn::Set(d, 5.f);
  const V even = hn::NegMulAdd(four, d2, d4);
  const V odd = hn::NegMulAdd(four, d1, d3);
  const V evenHalf = hn::Sub(d4, d2);
  const V oddHalf = hn::Mul(two, hn::Sub(d3, d1));
  out[0 * step] = hn::MulAdd(four, d0, hn::NegMulAdd(five, d2, d4));
  out[1 * step] = hn::Add(even, odd);
  out[2 * step] = hn::Sub(even, odd);
  out[3 * step] = hn::Add(evenHalf, oddHalf);
  out[4 * step] = hn::Sub(evenHalf, oddHalf);
  out[5 * step] = hn::MulAdd(four, d1, hn::NegMulAdd(five, d3, d5));
}

// A^T m with
//   1  1  1  1  1  0
//   0  1 -1  2 -2  0
//   0  1  1  4  4  0
//   0  1 -1  8 -8  1
HWY_INLINE void transformOut(V m0, V m1, V m2, V m3, V m4, V m5, V* out, int step) {
  const D d;
  const V two = hn::Set(d, 2.f), four = hn::Set(d, 4.f), eight = hn::Set(d, 8.f);
  const V sum = hn::Add(m1, m2), difference = hn::Sub(m1, m2);
  const V farSum = hn::Add(m3, m4), farDifference = hn::Sub(m3, m4);
  out[0 * step] = hn::Add(hn::Add(m0, sum), farSum);
  out[1 * step] = hn::MulAdd(two, farDifference, difference);
  out[2 * step] = hn::MulAdd(four, farSum, sum);
  out[3 * step] = hn::Add(hn::MulAdd(eight, farDifference, difference), m5);
}

HWY_INLINE void oneInput(const float* const* patch, int64_t at, float* to, int64_t productStride) {
  const D d;
  V rows[36];
  for (int i = 0; i < 6; ++i) {
    transformIn(hn::LoadU(d, patch[i] + at), hn::LoadU(d, patch[6 + i] + at), hn::LoadU(d, patch[12 + i] + at),
                hn::LoadU(d, patch[18 + i] + at), hn::LoadU(d, patch[24 + i] + at), hn::LoadU(d, patch[30 + i] + at),
                rows + i, 6);
  }
  for (int i = 0; i < 6; ++i) {
    V line[6];
    const V* const r = rows + 6 * i;
    transformIn(r[0], r[1], r[2], r[3], r[4], r[5], line, 1);
    for (int j = 0; j < 6; ++j) hn::StoreU(line[j], d, to + (6 * i + j) * productStride);
  }
}

void input(const float* const* patch, int64_t channels, float* to, int64_t productStride) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t c = 0;
  for (; c + lanes <= channels; c += lanes) oneInput(patch, c, to + c, productStride);
  if (c == channels) return;
  // The last channels, by way of a buffer.
  alignas(64) float from[36 * 16] = {};
  alignas(64) float products[36 * 16];
  const float* places[36];
  for (int i = 0; i < 36; ++i) {
    places[i] = from + 16 * i;
    for (int64_t k = c; k < channels; ++k) from[16 * i + k - c] = patch[i][k];
  }
  oneInput(places, 0, products, 16);
  for (int i = 0; i < 36; ++i) {
    for (int64_t k = c; k < channels; ++k) to[i * productStride + k] = products[16 * i + k - c];
  }
}

// The first half of the way back: four rows of six.
HWY_INLINE void halfOutput(const float* products, int64_t productStride, V* rows) {
  const D d;
  for (int i = 0; i < 6; ++i) {
    const float* const m = products + i * productStride;
    transformOut(hn::LoadU(d, m), hn::LoadU(d, m + 6 * productStride), hn::LoadU(d, m + 12 * productStride),
                 hn::LoadU(d, m + 18 * productStride), hn::LoadU(d, m + 24 * productStride),
                 hn::LoadU(d, m + 30 * productStride), rows + i, 6);
  }
}

void output(const float* products, int64_t productStride, int64_t channels, const float* bias, float* to,
            int64_t toStride) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t c = 0; c < channels; c += lanes) {
    V rows[24];
    halfOutput(products + c, productStride, rows);
    const V shift = bias != nullptr ? hn::LoadU(d, bias + c) : hn::Zero(d);
    for (int i = 0; i < 4; ++i) {
      V line[4];
      const V* const r = rows + 6 * i;
      transformOut(r[0], r[1], r[2], r[3], r[4], r[5], line, 1);
      for (int j = 0; j < 4; ++j) hn::StoreU(hn::Add(line[j], shift), d, to + (4 * i + j) * toStride + c);
    }
  }
}

template <bool Leaky>
HWY_INLINE void patchToImage(const WinogradPatch& patch) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V low = hn::Set(d, patch.low), high = hn::Set(d, patch.high);
  const int64_t down = patch.down, across = patch.across, rowStep = patch.rowStep, pixelStep = patch.pixelStep;
  const auto go = [&](int64_t c, size_t some, auto isWhole) {
    V rows[24];
    halfOutput(patch.products + c, patch.productStride, rows);
    const V shift = patch.bias != nullptr ? hn::LoadU(d, patch.bias + c) : hn::Zero(d);
    V slope = hn::Set(d, patch.slope);
    if constexpr (Leaky) {
      if (patch.slopes != nullptr)
        slope = isWhole() ? hn::LoadU(d, patch.slopes + c) : loadSome(patch.slopes + c, some);
    }
    for (int64_t i = 0; i < down; ++i) {
      V line[4];
      const V* const r = rows + 6 * i;
      transformOut(r[0], r[1], r[2], r[3], r[4], r[5], line, 1);
      float* to = patch.out + i * rowStep + c;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j, to += pixelStep) {
        if (j >= across) break;
        const V value = finish<Leaky>(hn::Add(line[j], shift), low, high, slope);
        if constexpr (isWhole()) {
          hn::StoreU(value, d, to);
        } else {
          storeSome(value, some, to);
        }
      }
    }
  };
  int64_t c = 0;
  for (; c + lanes <= patch.channels; c += lanes) go(c, 0, std::true_type{});
  if (c < patch.channels) go(c, static_cast<size_t>(patch.channels - c), std::false_type{});
}

void outputToImage(const WinogradPatch& patch) {
  if (patch.bends) return patchToImage<true>(patch);
  patchToImage<false>(patch);
}

WinogradTransforms transforms() { return {&input, &output, &outputToImage}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(transforms);

}  // namespace

const WinogradTransforms& winogradTransforms() {
  static const WinogradTransforms kTransforms = TENON_SIMD_BEST(transforms)();
  return kTransforms;
}

// G w G^T with the rows of G: 1/4 0 0; -1/6 -1/6 -1/6; -1/6 1/6 -1/6; 1/24 1/12 1/6; 1/24 -1/12 1/6; 0 0 1.
void winogradWeights(const double* window, double* products) {
  static constexpr double kG[6][3] = {{1. / 4, 0, 0},
                                      {-1. / 6, -1. / 6, -1. / 6},
                                      {-1. / 6, 1. / 6, -1. / 6},
                                      {1. / 24, 1. / 12, 1. / 6},
                                      {1. / 24, -1. / 12, 1. / 6},
                                      {0, 0, 1}};
  double half[6][3];
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 3; ++j) half[i][j] = kG[i][0] * window[j] + kG[i][1] * window[3 + j] + kG[i][2] * window[6 + j];
  }
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j)
      products[6 * i + j] = half[i][0] * kG[j][0] + half[i][1] * kG[j][1] + half[i][2] * kG[j][2];
  }
}

}  // namespace tenon::backends::cpu
#endif
