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
#include <array>
#include <limits>
#include <utility>

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
void tile(const Operands& o, size_t tail) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, tail);
  V sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  const float* rows[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) rows[i] = o.a + i * o.aStep;
  const float* from = o.b;
  const int64_t step = o.bStep;
  const int64_t depth = o.depth;
  for (int64_t k = 0; k < depth; ++k, from += step) {
    V columns[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j)
      columns[j] = tail == 0 ? hn::LoadU(d, from + j * lanes) : hn::MaskedLoad(mask, d, from + j * lanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V factor = hn::Set(d, rows[i][k]);
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::MulAdd(factor, columns[j], sums[i][j]);
    }
  }
  float* to = o.c;
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i, to += o.cStep) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      if (tail == 0) {
        hn::StoreU(sums[i][j], d, to + j * lanes);
      } else {
        hn::BlendedStore(sums[i][j], mask, d, to + j * lanes);
      }
    }
  }
}

// As many rows as the registers hold the sums of.
constexpr int64_t kMostRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

template <int kVectors, int... kRows>
constexpr std::array<void (*)(const Operands&, size_t), sizeof...(kRows) + 1> tilesOf(
    std::integer_sequence<int, kRows...>) {
  return {nullptr, &tile<kRows + 1, kVectors>...};
}

// In tiles of nearly as many rows each: those of one or two would wait for their own sums.
template <int kVectors>
void columnsOf(const Operands& all, int64_t rows, size_t tail) {
  static constexpr auto kTiles = tilesOf<kVectors>(std::make_integer_sequence<int, kMostRows>());
  const int64_t tiles = (rows + kMostRows - 1) / kMostRows;
  Operands o = all;
  int64_t first = 0;
  for (int64_t t = 1; t <= tiles; ++t) {
    const int64_t end = rows * t / tiles;
    o.a = all.a + first * o.aStep;
    o.c = all.c + first * o.cStep;
    kTiles[static_cast<size_t>(end - first)](o, tail);
    first = end;
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

// Columns from `count` on as they are left out of a softmax. The vector in which they begin is stored as a whole, so
// that a load of it need not wait for several stores.
void leaveOut(float* row, int64_t count, int64_t columns) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V none = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = count / lanes * lanes;
  if (i < count) {
    hn::StoreU(hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(count - i)), hn::LoadU(d, row + i), none), d, row + i);
    i += lanes;
  }
  for (; i < columns; i += lanes) hn::StoreU(none, d, row + i);
}

void masked(float* row, const float* mask, int64_t count, int64_t columns, float factor) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(d, row + i), f, hn::LoadU(d, mask + i)), d, row + i);
  if (i < count) {
    V last;
    if constexpr (HWY_TARGET <= HWY_AVX2) {
      last = hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count - i)), d, mask + i);
    } else {  // whose masked loads touch what they leave out
      alignas(64) float buffer[kScoreLanes] = {};
      std::copy_n(mask + i, count - i, buffer);
      last = hn::Load(d, buffer);
    }
    hn::StoreU(hn::MulAdd(hn::LoadU(d, row + i), f, last), d, row + i);
  }
  leaveOut(row, count, columns);
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
  return {attention::product, attention::softmax,  attention::scale,
          attention::masked,  attention::leaveOut, attention::capped};
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
