// Matmuls and softmax of attention, in Highway: written once, compiled per instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/attention_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "backends/cpu/kernels/simd/attention_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/exp.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
#include "backends/cpu/kernels/simd/tanh.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
namespace attention {

struct Operands {
  const float* a;
  int64_t aStep;
  const float* b;
  int64_t bStep;
  float* c;
  int64_t cStep;
  int64_t depth;
};

// kRows x kVectors results in registers. With `tail` the only vector holds that many columns.
template <int kRows, int kVectors>
HWY_INLINE void tile(const Operands& o, size_t tail) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, tail);
  V sums[kRows][kVectors];
  for (auto& row : sums) {
    for (auto& sum : row) sum = hn::Zero(d);
  }
  for (int64_t k = 0; k < o.depth; ++k) {
    V columns[kVectors];
    for (int64_t j = 0; j < kVectors; ++j) {
      const float* from = o.b + k * o.bStep + j * lanes;
      columns[j] = tail == 0 ? hn::LoadU(d, from) : hn::MaskedLoad(mask, d, from);
    }
    for (int64_t i = 0; i < kRows; ++i) {
      const V factor = hn::Set(d, o.a[i * o.aStep + k]);
      for (int64_t j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, columns[j], sums[i][j]);
    }
  }
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kVectors; ++j) {
      float* to = o.c + i * o.cStep + j * lanes;
      if (tail == 0) {
        hn::StoreU(sums[i][j], d, to);
      } else {
        hn::BlendedStore(sums[i][j], mask, d, to);
      }
    }
  }
}

template <int kVectors>
void columnsOf(Operands o, int64_t rows, size_t tail) {
  // As many as the registers hold the sums of.
  constexpr int kMany = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
  constexpr int kRows = 4;
  for (; kMany > kRows && rows >= kMany; rows -= kMany) {
    tile<kMany, kVectors>(o, tail);
    o.a += kMany * o.aStep;
    o.c += kMany * o.cStep;
  }
  for (; rows >= kRows; rows -= kRows) {
    tile<kRows, kVectors>(o, tail);
    o.a += kRows * o.aStep;
    o.c += kRows * o.cStep;
  }
  for (; rows > 0; --rows) {
    tile<1, kVectors>(o, tail);
    o.a += o.aStep;
    o.c += o.cStep;
  }
}

void product(const float* a, int64_t aStep, const float* b, int64_t bStep, float* c, int64_t cStep, int64_t rows,
             int64_t columns, int64_t depth) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  Operands o{a, aStep, b, bStep, c, cStep, depth};
  const auto advance = [&](int64_t by) {
    columns -= by;
    o.b += by;
    o.c += by;
  };
  while (columns >= 2 * lanes) {
    columnsOf<2>(o, rows, 0);
    advance(2 * lanes);
  }
  if (columns >= lanes) {
    columnsOf<1>(o, rows, 0);
    advance(lanes);
  }
  if (columns > 0) columnsOf<1>(o, rows, static_cast<size_t>(columns));
}

float softmax(float* row, int64_t count, float factor) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V most = hn::LoadU(d, row);
  for (int64_t i = lanes; i < count; i += lanes) most = greater(most, hn::LoadU(d, row + i));
  const V shift = hn::MaxOfLanes(d, most);
  const V f = hn::Set(d, factor);
  V sum = hn::Zero(d);
  for (int64_t i = 0; i < count; i += lanes) {
    const V e = exponential::ofNegative(hn::Mul(f, hn::Sub(hn::LoadU(d, row + i), shift)));
    hn::StoreU(e, d, row + i);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

void masked(float* row, const float* mask, int64_t count, float factor) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(d, row + i), f, hn::LoadU(d, mask + i)), d, row + i);
  for (; i < count; ++i) row[i] = row[i] * factor + mask[i];
}

void scale(float* row, int64_t count, float factor) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, row + i), f), d, row + i);
  for (; i < count; ++i) row[i] *= factor;
}

void capped(float* row, int64_t count, float factor, float cap) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V f = hn::Set(d, factor);
  const V c = hn::Set(d, cap);
  for (int64_t i = 0; i < count; i += lanes)
    hn::StoreU(hn::Mul(c, hyperbolicTangent(hn::Mul(f, hn::LoadU(d, row + i)))), d, row + i);
}

}  // namespace attention

AttentionFunctions allAttentionFunctions() {
  return {attention::product, attention::softmax, attention::scale, attention::masked, attention::capped};
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(allAttentionFunctions);

}  // namespace

const AttentionFunctions& attentionFunctions() {
  static const AttentionFunctions kFunctions = TENON_SIMD_BEST(allAttentionFunctions)();
  return kFunctions;
}

}  // namespace tenon::backends::cpu
#endif
