// Pooling of channels-last pixels in Highway.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/pool_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backends/cpu/kernels/simd/pool_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

void maximum(const float* const* sources, int64_t count, int64_t channels, float* out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + 2 * lanes <= channels; c += 2 * lanes) {
    auto a = hn::LoadU(d, sources[0] + c);
    auto b = hn::LoadU(d, sources[0] + c + lanes);
    for (int64_t t = 1; t < count; ++t) {
      a = greater(a, hn::LoadU(d, sources[t] + c));
      b = greater(b, hn::LoadU(d, sources[t] + c + lanes));
    }
    hn::StoreU(a, d, out + c);
    hn::StoreU(b, d, out + c + lanes);
  }
  for (; c + lanes <= channels; c += lanes) {
    auto a = hn::LoadU(d, sources[0] + c);
    for (int64_t t = 1; t < count; ++t) a = greater(a, hn::LoadU(d, sources[t] + c));
    hn::StoreU(a, d, out + c);
  }
  for (; c < channels; ++c) {
    float a = sources[0][c];
    for (int64_t t = 1; t < count; ++t) a = a > sources[t][c] ? a : sources[t][c];
    out[c] = a;
  }
}

void sum(const float* const* sources, int64_t count, int64_t channels, float scale, float* out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  int64_t c = 0;
  for (; c + 2 * lanes <= channels; c += 2 * lanes) {
    auto a = hn::Zero(d);
    auto b = hn::Zero(d);
    for (int64_t t = 0; t < count; ++t) {
      a = hn::Add(a, hn::LoadU(d, sources[t] + c));
      b = hn::Add(b, hn::LoadU(d, sources[t] + c + lanes));
    }
    hn::StoreU(hn::Mul(a, factor), d, out + c);
    hn::StoreU(hn::Mul(b, factor), d, out + c + lanes);
  }
  for (; c + lanes <= channels; c += lanes) {
    auto a = hn::Zero(d);
    for (int64_t t = 0; t < count; ++t) a = hn::Add(a, hn::LoadU(d, sources[t] + c));
    hn::StoreU(hn::Mul(a, factor), d, out + c);
  }
  for (; c < channels; ++c) {
    float a = 0;
    for (int64_t t = 0; t < count; ++t) a += sources[t][c];
    out[c] = a * scale;
  }
}

PoolFunctions functions() { return {&maximum, &sum}; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(functions);

}  // namespace

const PoolFunctions& poolFunctions() {
  static const PoolFunctions kFunctions = TENON_SIMD_BEST(functions)();
  return kFunctions;
}

}  // namespace tenon::backends::cpu
#endif
