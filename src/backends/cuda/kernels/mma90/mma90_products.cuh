// Products of warpgroups for chips without them, and for the host, element by element. The including text defines X and
// kInParts: f32 operands are sums of two TF32 numbers.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "bulk_copies.cuh"
#include "prelude.cuh"

template <bool kFirst, typename A, typename B>
struct Either {
  typedef A Type;
};
template <typename A, typename B>
struct Either<false, A, B> {
  typedef B Type;
};

// The rows of x, and where two products are added those of the other one behind them.
template <typename First, typename Second, bool kBoth>
struct Mma90Rows {
  First first;
  Second second;

  template <typename Place>
  __device__ __forceinline__ Mma90Rows(const Mma90Parameters& p, const Place& at)
      : first(p, p.window, at), second(p, p.moreWindow, at) {}
  __device__ __forceinline__ void copy(const Mma90Parameters& p, unsigned char* to, int step,
                                       ByteBarrier* barrier) const {
    if (!kBoth || step < p.firstSteps) first.copy(p, p.x, p.window, to, step, barrier);
    else second.copy(p, p.more, p.moreWindow, to, step - p.firstSteps, barrier);
  }
};

// What tensor cores see of an f32.
constexpr int kSeenBits = (int)0xffffe000;
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr bool kInWarpgroups = true;
#else
constexpr bool kInWarpgroups = false;
#endif

#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The same element by element, as groups of the other form lie in registers: c += a b for 32 bytes of the inner extent.
template <int kRows>
struct Products {
  __device__ __forceinline__ static float element(const unsigned char* tile, int row, int k) {
    const auto address = (unsigned long long)(tile + row * kMma90Bytes + k * sizeof(X));
    const float value = Element<X>::load(*(const X*)(address ^ (address >> 7 & 7) << 4));
    return kInParts ? __int_as_float(__float_as_int(value) & kSeenBits) : value;  // all that tensor cores see
  }
  template <bool kMore = true>
  __device__ static void add(float (*c)[4], const unsigned char* a, const unsigned char* b) {
    const int column = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    for (int n = 0; n < kRows / 8 && !kMore; ++n) c[n][0] = c[n][1] = c[n][2] = c[n][3] = 0.f;
    for (int k = 0; k < 32 / (int)sizeof(X); ++k) {
      const float left[2] = {element(a, column, k), element(a, column + 8, k)};
      for (int n = 0; n < kRows / 8; ++n) {
        for (int i = 0; i < 4; ++i) c[n][i] += left[i / 2] * element(b, 8 * n + threadIdx.x % 4 * 2 + i % 2, k);
      }
    }
  }
};
#endif
