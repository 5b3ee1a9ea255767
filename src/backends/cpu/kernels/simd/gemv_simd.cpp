// A row times a matrix in Highway: columns stay in registers while the rows of the matrix go by.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/gemv_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backends/cpu/kernels/simd/gemv_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace gemv {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kAhead = 8;  // rows that are asked for early

template <int kVectors>
HWY_INLINE void columns(const float* a, const float* b, int64_t step, int64_t depth, float* out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (int64_t k = 0; k < depth; ++k, b += step) {
    const V factor = hn::Set(d, a[k]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      __builtin_prefetch(b + kAhead * step + v * lanes);
      sums[v] = hn::MulAdd(factor, hn::LoadU(d, b + v * lanes), sums[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, out + v * lanes);
}

void multiply(const float* a, const float* b, int64_t step, int64_t depth, float* out, int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t j = 0;
  for (; j + 8 * lanes <= count; j += 8 * lanes) columns<8>(a, b + j, step, depth, out + j);
  for (; j + lanes <= count; j += lanes) columns<1>(a, b + j, step, depth, out + j);
  for (; j < count; ++j) {
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum = hn::GetLane(hn::MulAdd(hn::Set(D(), a[k]), hn::Set(D(), b[k * step + j]), hn::Set(D(), sum)));
    out[j] = sum;
  }
}

}  // namespace gemv

RowTimesMatrix findRowTimesMatrix() { return gemv::multiply; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findRowTimesMatrix);

}  // namespace

RowTimesMatrix rowTimesMatrix() { return TENON_SIMD_BEST(findRowTimesMatrix)(); }

}  // namespace tenon::backends::cpu
#endif
