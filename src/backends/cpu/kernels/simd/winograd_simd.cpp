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
HWY_INLINE void transformIn(const V (&in)[6], V* out, int step) {
  const D d;
  const V two = hn::Set(d, 2.f), four = hn::Set(d, 4.f), five = hn::Set(d, 5.f);
  const V even = hn::NegMulAdd(four, in[2], in[4]);
  const V odd = hn::NegMulAdd(four, in[1], in[3]);
  const V evenHalf = hn::Sub(in[4], in[2]);
  const V oddHalf = hn::Mul(two, hn::Sub(in[3], in[1]));
  out[0 * step] = hn::MulAdd(four, in[0], hn::NegMulAdd(five, in[2], in[4]));
  out[1 * step] = hn::Add(even, odd);
  out[2 * step] = hn::Sub(even, odd);
  out[3 * step] = hn::Add(evenHalf, oddHalf);
  out[4 * step] = hn::Sub(evenHalf, oddHalf);
  out[5 * step] = hn::MulAdd(four, in[1], hn::NegMulAdd(five, in[3], in[5]));
}

//   1  0 -1  0
//   0  1  1  0
//   0 -1  1  0
//   0 -1  0  1
HWY_INLINE void transformIn(const V (&in)[4], V* out, int step) {
  out[0 * step] = hn::Sub(in[0], in[2]);
  out[1 * step] = hn::Add(in[1], in[2]);
  out[2 * step] = hn::Sub(in[2], in[1]);
  out[3 * step] = hn::Sub(in[3], in[1]);
}

// A^T m with
//   1  1  1  1  1  0
//   0  1 -1  2 -2  0
//   0  1  1  4  4  0
//   0  1 -1  8 -8  1
HWY_INLINE void transformOut(const V (&in)[6], V* out, int step) {
  const D d;
  const V two = hn::Set(d, 2.f), four = hn::Set(d, 4.f), eight = hn::Set(d, 8.f);
  const V sum = hn::Add(in[1], in[2]), difference = hn::Sub(in[1], in[2]);
  const V farSum = hn::Add(in[3], in[4]), farDifference = hn::Sub(in[3], in[4]);
  out[0 * step] = hn::Add(hn::Add(in[0], sum), farSum);
  out[1 * step] = hn::MulAdd(two, farDifference, difference);
  out[2 * step] = hn::MulAdd(four, farSum, sum);
  out[3 * step] = hn::Add(hn::MulAdd(eight, farDifference, difference), in[5]);
}

//   1  1  1  0
//   0  1 -1  1
HWY_INLINE void transformOut(const V (&in)[4], V* out, int step) {
  out[0 * step] = hn::Add(in[0], hn::Add(in[1], in[2]));
  out[1 * step] = hn::Add(in[3], hn::Sub(in[1], in[2]));
}

template <int Out>
struct Form {
  static constexpr int kIn = Out + 2;
  static constexpr int kProducts = kIn * kIn;

  static HWY_INLINE void oneInput(const float* const* patch, int64_t at, float* to, int64_t productStride) {
    const D d;
    V rows[kIn][kIn];
    for (int i = 0; i < kIn; ++i) {
      V column[kIn];
      for (int j = 0; j < kIn; ++j) column[j] = hn::LoadU(d, patch[kIn * j + i] + at);
      transformIn(column, &rows[0][i], kIn);
    }
    for (int i = 0; i < kIn; ++i) {
      V line[kIn];
      transformIn(rows[i], line, 1);
      for (int j = 0; j < kIn; ++j) hn::StoreU(line[j], d, to + (kIn * i + j) * productStride);
    }
  }

  // A few runs of pixels of each line are too short for the processor to see what comes next.
  static HWY_INLINE void fetch(const float* const* patch, int64_t at) {
    for (int i = 0; i < kIn; ++i) {
      for (int j = kIn - Out; j < kIn; ++j) __builtin_prefetch(patch[kIn * i + j] + at);
    }
  }

  static void input(const float* const* patch, int64_t channels, float* to, int64_t productStride, int64_t ahead) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      if (ahead != 0) fetch(patch, c + ahead);
      oneInput(patch, c, to + c, productStride);
    }
    if (c == channels) return;
    // The last channels, by way of a buffer.
    alignas(64) float from[kProducts * 16] = {};
    alignas(64) float products[kProducts * 16];
    const float* places[kProducts];
    for (int i = 0; i < kProducts; ++i) {
      places[i] = from + 16 * i;
      for (int64_t k = c; k < channels; ++k) from[16 * i + k - c] = patch[i][k];
    }
    oneInput(places, 0, products, 16);
    for (int i = 0; i < kProducts; ++i) {
      for (int64_t k = c; k < channels; ++k) to[i * productStride + k] = products[16 * i + k - c];
    }
  }

  // The first half of the way back: `Out` rows.
  static HWY_INLINE void halfOutput(const float* products, int64_t productStride, V (*rows)[kIn]) {
    const D d;
    for (int i = 0; i < kIn; ++i) {
      V column[kIn];
      for (int j = 0; j < kIn; ++j) column[j] = hn::LoadU(d, products + (kIn * j + i) * productStride);
      transformOut(column, &rows[0][i], kIn);
    }
  }

  static void output(const float* products, int64_t productStride, int64_t channels, const float* bias, float* to,
                     int64_t toStride) {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t c = 0; c < channels; c += lanes) {
      V rows[Out][kIn];
      halfOutput(products + c, productStride, rows);
      const V shift = bias != nullptr ? hn::LoadU(d, bias + c) : hn::Zero(d);
      for (int i = 0; i < Out; ++i) {
        V line[Out];
        transformOut(rows[i], line, 1);
        for (int j = 0; j < Out; ++j) hn::StoreU(hn::Add(line[j], shift), d, to + (Out * i + j) * toStride + c);
      }
    }
  }

  template <bool Leaky>
  static HWY_INLINE void patchToImage(const WinogradPatch& patch) {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const V low = hn::Set(d, patch.low), high = hn::Set(d, patch.high);
    const int64_t down = patch.down, across = patch.across, rowStep = patch.rowStep, pixelStep = patch.pixelStep;
    const auto go = [&](int64_t c, size_t some, auto isWhole) {
      V rows[Out][kIn];
      halfOutput(patch.products + c, patch.productStride, rows);
      const V shift = patch.bias != nullptr ? hn::LoadU(d, patch.bias + c) : hn::Zero(d);
      V slope = hn::Set(d, patch.slope);
      if constexpr (Leaky) {
        if (patch.slopes != nullptr)
          slope = isWhole() ? hn::LoadU(d, patch.slopes + c) : loadSome(patch.slopes + c, some);
      }
      for (int64_t i = 0; i < down; ++i) {
        V line[Out];
        transformOut(rows[i], line, 1);
        float* to = patch.out + i * rowStep + c;
#pragma GCC unroll 4
        for (int j = 0; j < Out; ++j, to += pixelStep) {
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

  static void outputToImage(const WinogradPatch& patch) {
    if (patch.bends) return patchToImage<true>(patch);
    patchToImage<false>(patch);
  }

  static constexpr WinogradTransforms kTransforms{&input, &output, &outputToImage};
};

const WinogradTransforms* largeTransforms() { return &Form<4>::kTransforms; }
const WinogradTransforms* smallTransforms() { return &Form<2>::kTransforms; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(largeTransforms);
TENON_SIMD_TABLE(smallTransforms);

// The rows of G.
constexpr double kLargeG[6][3] = {{1. / 4, 0, 0},
                                  {-1. / 6, -1. / 6, -1. / 6},
                                  {-1. / 6, 1. / 6, -1. / 6},
                                  {1. / 24, 1. / 12, 1. / 6},
                                  {1. / 24, -1. / 12, 1. / 6},
                                  {0, 0, 1}};
constexpr double kSmallG[4][3] = {{1, 0, 0}, {1. / 2, 1. / 2, 1. / 2}, {1. / 2, -1. / 2, 1. / 2}, {0, 0, 1}};

}  // namespace

const WinogradTransforms& winogradTransforms(WinogradForm form) {
  static const WinogradTransforms* const kLarge = TENON_SIMD_BEST(largeTransforms)();
  static const WinogradTransforms* const kSmall = TENON_SIMD_BEST(smallTransforms)();
  return form.out == 4 ? *kLarge : *kSmall;
}

// G w G^T.
void winogradWeights(WinogradForm form, const double* window, double* products) {
  const auto* const g = form.out == 4 ? kLargeG : kSmallG;
  const int in = form.in();
  double half[6][3];
  for (int i = 0; i < in; ++i) {
    for (int j = 0; j < 3; ++j) half[i][j] = g[i][0] * window[j] + g[i][1] * window[3 + j] + g[i][2] * window[6 + j];
  }
  for (int i = 0; i < in; ++i) {
    for (int j = 0; j < in; ++j)
      products[in * i + j] = half[i][0] * g[j][0] + half[i][1] * g[j][1] + half[i][2] * g[j][2];
  }
}

}  // namespace tenon::backends::cpu
#endif
