// Pairs of columns turned by angles. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/rotate_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include "backends/cpu/kernels/simd/rotate_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace rotation {

namespace hn = hwy::HWY_NAMESPACE;

template <typename Tag>
HWY_INLINE int64_t halves(Tag d, const float* x, const float* c, const float* s, float* y, int64_t pairs, int64_t p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; p + lanes <= pairs; p += lanes) {
    const auto a = hn::LoadU(d, x + p), b = hn::LoadU(d, x + pairs + p);
    const auto cosine = hn::LoadU(d, c + p), sine = hn::LoadU(d, s + p);
    hn::StoreU(hn::MulSub(a, cosine, hn::Mul(b, sine)), d, y + p);
    hn::StoreU(hn::MulAdd(a, sine, hn::Mul(b, cosine)), d, y + pairs + p);
  }
  return p;
}

template <typename Tag>
HWY_INLINE int64_t neighbours(Tag d, const float* x, const float* c, const float* s, float* y, int64_t pairs,
                              int64_t p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; p + lanes <= pairs; p += lanes) {
    hn::Vec<Tag> a, b;
    hn::LoadInterleaved2(d, x + 2 * p, a, b);
    const auto cosine = hn::LoadU(d, c + p), sine = hn::LoadU(d, s + p);
    hn::StoreInterleaved2(hn::MulSub(a, cosine, hn::Mul(b, sine)), hn::MulAdd(a, sine, hn::Mul(b, cosine)), d,
                          y + 2 * p);
  }
  return p;
}

void rotate(const RotatedRows& t) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> four;
  const hn::CappedTag<float, 1> one;
  const float* x = t.x;
  float* y = t.y;
  const float *c = t.cosines, *s = t.sines;
  for (int64_t r = 0; r < t.rows; ++r, x += t.xStep, y += t.yStep, c += t.angleStep, s += t.angleStep) {
    int64_t p = 0;
    if (t.interleaved) {
      p = neighbours(d, x, c, s, y, t.pairs, p);
      p = neighbours(four, x, c, s, y, t.pairs, p);
      for (; p < t.pairs; ++p) {
        const float a = x[2 * p], b = x[2 * p + 1];
        y[2 * p] = a * c[p] - b * s[p];
        y[2 * p + 1] = a * s[p] + b * c[p];
      }
    } else {
      p = halves(d, x, c, s, y, t.pairs, p);
      p = halves(four, x, c, s, y, t.pairs, p);
      halves(one, x, c, s, y, t.pairs, p);
    }
  }
}

}  // namespace rotation

RotateRows findRotateRows() { return rotation::rotate; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findRotateRows);

}  // namespace

RotateRows rotateRowsFunction() {
  static const RotateRows kFunction = TENON_SIMD_BEST(findRotateRows)();
  return kFunction;
}

}  // namespace tenon::backends::cpu
#endif
