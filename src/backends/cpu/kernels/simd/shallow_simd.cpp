// Products of little depth in Highway: the factors of two rows stay in registers while the columns go by, so that
// results are written as they lie. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/shallow_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "backends/cpu/kernels/simd/shallow_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/tile_store.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace shallow {

struct Ends {
  V scale, low, high;
};

template <bool kScaled>
HWY_INLINE V finished(V sum, V added, const Ends& ends) {
  if constexpr (kScaled) sum = hn::Mul(sum, ends.scale);
  return lesser(ends.high, greater(ends.low, hn::Add(sum, added)));
}

template <int kRows, int kDepth, bool kScaled, bool kAdded>
void rows(const ShallowProduct& p, int64_t row) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t panel = 2 * lanes;
  const Ends ends{hn::Set(d, p.scale), hn::Set(d, p.low), hn::Set(d, p.high)};
  V factors[kRows][kDepth];
  for (int r = 0; r < kRows; ++r) {
    for (int k = 0; k < kDepth; ++k) factors[r][k] = hn::Set(d, p.a[(row + r) * p.aStep + k]);
  }
  float* const out = p.out + row * p.outStep;
  const float* const addend = p.addend + (kAdded ? row * p.addendStep : 0);
  const auto sum = [&](int r, const V* b) {
    V value = hn::Mul(factors[r][0], b[0]);
#pragma GCC unroll 4
    for (int k = 1; k < kDepth; ++k) value = hn::MulAdd(factors[r][k], b[k], value);
    return value;
  };
  const auto rowOf = [&](int64_t j) { return p.b + j / panel * p.panelStep + j % panel; };
  int64_t j = 0;
  for (; j + lanes <= p.columns; j += lanes) {
    const float* const from = rowOf(j);
    V b[kDepth];
#pragma GCC unroll 4
    for (int k = 0; k < kDepth; ++k) b[k] = hn::LoadU(d, from + k * p.bStep);
    const V bias = p.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, p.bias + j);
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      V added = bias;
      if constexpr (kAdded) added = hn::Add(added, hn::LoadU(d, addend + r * p.addendStep + j));
      hn::StoreU(finished<kScaled>(sum(r, b), added, ends), d, out + r * p.outStep + j);
    }
  }
  if (j == p.columns) return;
  const auto some = static_cast<size_t>(p.columns - j);
  const float* const from = rowOf(j);
  V b[kDepth];
  for (int k = 0; k < kDepth; ++k)
    b[k] = p.isFilled ? hn::LoadU(d, from + k * p.bStep) : loadSome(from + k * p.bStep, some);
  const V bias = p.bias == nullptr ? hn::Zero(d) : loadSome(p.bias + j, some);
  for (int r = 0; r < kRows; ++r) {
    V added = bias;
    if constexpr (kAdded) added = hn::Add(added, loadSome(addend + r * p.addendStep + j, some));
    storeSome(finished<kScaled>(sum(r, b), added, ends), some, out + r * p.outStep + j);
  }
}

// Columns that one vector holds: the second matrix stays in registers.
template <int kDepth, bool kScaled, bool kAdded>
void narrow(const ShallowProduct& p) {
  const D d;
  const auto some = static_cast<size_t>(p.columns);
  const Ends ends{hn::Set(d, p.scale), hn::Set(d, p.low), hn::Set(d, p.high)};
  V b[kDepth];
  for (int k = 0; k < kDepth; ++k)
    b[k] = p.isFilled ? hn::LoadU(d, p.b + k * p.bStep) : loadSome(p.b + k * p.bStep, some);
  const V bias = p.bias == nullptr ? hn::Zero(d) : loadSome(p.bias, some);
  const float* a = p.a;
  const float* addend = p.addend;
  float* out = p.out;
  for (int64_t row = 0; row < p.rows; ++row, a += p.aStep, out += p.outStep) {
    V sum = hn::Mul(hn::Set(d, a[0]), b[0]);
#pragma GCC unroll 4
    for (int k = 1; k < kDepth; ++k) sum = hn::MulAdd(hn::Set(d, a[k]), b[k], sum);
    V added = bias;
    if constexpr (kAdded) {
      added = hn::Add(added, loadSome(addend, some));
      addend += p.addendStep;
    }
    storeSome(finished<kScaled>(sum, added, ends), some, out);
  }
}

template <int kDepth, bool kScaled, bool kAdded>
void allRows(const ShallowProduct& p) {
  if constexpr (HWY_TARGET <= HWY_AVX3) {  // which stores parts of vectors at no cost
    if (p.columns <= static_cast<int64_t>(hn::Lanes(D()))) return narrow<kDepth, kScaled, kAdded>(p);
  }
  int64_t row = 0;
  for (; row + 2 <= p.rows; row += 2) rows<2, kDepth, kScaled, kAdded>(p, row);
  if (row < p.rows) rows<1, kDepth, kScaled, kAdded>(p, row);
}

template <int kDepth>
void ofDepth(const ShallowProduct& p) {
  const bool isScaled = p.scale != 1.f;
  if (p.addend != nullptr) return isScaled ? allRows<kDepth, true, true>(p) : allRows<kDepth, false, true>(p);
  return isScaled ? allRows<kDepth, true, false>(p) : allRows<kDepth, false, false>(p);
}

void multiply(const ShallowProduct& p) {
  constexpr ShallowFunction kByDepth[] = {nullptr, ofDepth<1>, ofDepth<2>, ofDepth<3>, ofDepth<4>};
  kByDepth[p.depth](p);
}

}  // namespace shallow

ShallowFunction findShallow() { return shallow::multiply; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findShallow);

}  // namespace

ShallowFunction shallowFunction() { return TENON_SIMD_BEST(findShallow)(); }

}  // namespace tenon::backends::cpu
#endif
