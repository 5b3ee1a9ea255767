// A row times a matrix in Highway: columns stay in registers while the rows of the matrix go by.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/gemv_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "backends/cpu/kernels/simd/gemv_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace gemv {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kAhead = 8;  // rows that are asked for early

// Few columns have sums of their own for each of several rows, as sums wait for themselves.
template <int kVectors, int kChains, typename Tag>
HWY_INLINE void columns(Tag d, const float* a, const float* b, int64_t step, int64_t depth, float* out) {
  using Part = hn::Vec<Tag>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Part sums[kChains][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kChains; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  const auto add = [&](int64_t k, Part(&to)[kVectors]) HWY_ATTR {
    const Part factor = hn::Set(d, a[k]);
    const float* const row = b + k * step;
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      __builtin_prefetch(row + kAhead * step + v * lanes);
      to[v] = hn::MulAdd(factor, hn::LoadU(d, row + v * lanes), to[v]);
    }
  };
  int64_t k = 0;
  for (; k + kChains <= depth; k += kChains) {
#pragma GCC unroll 8
    for (int i = 0; i < kChains; ++i) add(k + i, sums[i]);
  }
  for (; k < depth; ++k) add(k, sums[0]);
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    Part sum = sums[0][v];
#pragma GCC unroll 8
    for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, sums[i][v]);
    hn::StoreU(sum, d, out + v * lanes);
  }
}

// Fewer than a vector, or the end of a line: the last ones again, together with some in front of them.
template <typename Tag>
HWY_INLINE bool lastColumns(Tag d, const float* a, const float* b, int64_t step, int64_t depth, float* out, int64_t j,
                            int64_t count) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes || (lanes > 4 && j + lanes / 2 >= count)) return false;
  for (; j < count; j += lanes) {
    const int64_t at = std::min(j, count - lanes);
    columns<1, 8>(d, a, b + at, step, depth, out + at);
  }
  return true;
}

// Adds some rows of the matrix to sums that stay in the first cache.
template <int kRows>
HWY_INLINE void addRows(const float* a, const float* b, int64_t step, float* out, int64_t count, bool goesOn) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V factors[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) factors[r] = hn::Set(d, a[r]);
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    V sum = goesOn ? hn::LoadU(d, out + j) : hn::Zero(d);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum = hn::MulAdd(factors[r], hn::LoadU(d, b + r * step + j), sum);
    hn::StoreU(sum, d, out + j);
  }
  for (; j < count; ++j) {
    float sum = goesOn ? out[j] : 0;
    for (int r = 0; r < kRows; ++r) sum += a[r] * b[r * step + j];
    out[j] = sum;
  }
}

// Long pieces of a few rows at a time: rows that lie far apart come from memory in whole pages.
void multiplyLong(const float* a, const float* b, int64_t step, int64_t depth, float* out, int64_t count) {
  constexpr int kTogether = 8;
  int64_t k = 0;
  for (; k + kTogether <= depth; k += kTogether) addRows<kTogether>(a + k, b + k * step, step, out, count, k > 0);
  for (; k < depth; ++k) addRows<1>(a + k, b + k * step, step, out, count, k > 0);
}

void multiply(const float* a, const float* b, int64_t step, int64_t depth, float* out, int64_t count) {
  if (count > kShortRow && depth > 0) return multiplyLong(a, b, step, depth, out, count);
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  if constexpr (HWY_TARGET <= HWY_AVX3) {  // whose registers hold so many sums
    for (; j + 16 * lanes <= count; j += 16 * lanes) columns<16, 1>(d, a, b + j, step, depth, out + j);
  }
  for (; j + 8 * lanes <= count; j += 8 * lanes) columns<8, 1>(d, a, b + j, step, depth, out + j);
  for (; j + 4 * lanes <= count; j += 4 * lanes) columns<4, 2>(d, a, b + j, step, depth, out + j);
  for (; j + 2 * lanes <= count; j += 2 * lanes) columns<2, 4>(d, a, b + j, step, depth, out + j);
  for (; j + lanes <= count; j += lanes) columns<1, 8>(d, a, b + j, step, depth, out + j);
  if (j == count) return;
  if (lastColumns(d, a, b, step, depth, out, j, count)) return;
  if (lastColumns(hn::CappedTag<float, 8>(), a, b, step, depth, out, j, count)) return;
  if (lastColumns(hn::CappedTag<float, 4>(), a, b, step, depth, out, j, count)) return;
  for (; j < count; ++j) {
    float sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum = hn::GetLane(hn::MulAdd(hn::Set(D(), a[k]), hn::Set(D(), b[k * step + j]), hn::Set(D(), sum)));
    out[j] = sum;
  }
}

// One row after another, as they lie in memory: several at a time took up to twice as long where that is no cache's.
void rowsByPiece(const float* a, int64_t step, const float* b, int64_t depth, float* out, int64_t rows, bool goesOn) {
  constexpr int kChains = 4;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, a += step) {
    V sums[kChains];
    for (auto& sum : sums) sum = hn::Zero(d);
    int64_t k = 0;
    for (; k + kChains * lanes <= depth; k += kChains * lanes) {
#pragma GCC unroll 4
      for (int i = 0; i < kChains; ++i)
        sums[i] = hn::MulAdd(hn::LoadU(d, a + k + i * lanes), hn::LoadU(d, b + k + i * lanes), sums[i]);
    }
    for (; k + lanes <= depth; k += lanes) sums[0] = hn::MulAdd(hn::LoadU(d, a + k), hn::LoadU(d, b + k), sums[0]);
    const V all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    float sum = hn::GetLane(hn::SumOfLanes(d, all));
    for (; k < depth; ++k) sum += a[k] * b[k];
    out[r] = goesOn ? out[r] + sum : sum;
  }
}

// A piece of the column stays in the first cache.
void rowsByColumn(const float* a, int64_t step, const float* b, int64_t depth, float* out, int64_t rows) {
  constexpr int64_t kPiece = 4096;
  for (int64_t k = 0; k == 0 || k < depth; k += kPiece)
    rowsByPiece(a + k, step, b + k, std::min(kPiece, depth - k), out, rows, k > 0);
}

constexpr int kMostRows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // whose sums there are registers for

template <int kRows, int kColumns>
HWY_INLINE void crossed(const float* a, int64_t aStep, const float* b, int64_t bStep, int64_t depth, float* out,
                        int64_t outStep) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kColumns; ++j) sums[r][j] = hn::Zero(d);
  }
  int64_t k = 0;
  for (; k + lanes <= depth; k += lanes) {
    V factors[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) factors[j] = hn::LoadU(d, b + j * bStep + k);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V value = hn::LoadU(d, a + r * aStep + k);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sums[r][j] = hn::MulAdd(value, factors[j], sums[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kColumns; ++j) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[r][j]));
      for (int64_t rest = k; rest < depth; ++rest) sum += a[r * aStep + rest] * b[j * bStep + rest];
      out[r * outStep + j] = sum;
    }
  }
}

template <int kRows>
HWY_INLINE void crossedRows(const float* a, int64_t aStep, const float* b, int64_t bStep, int64_t columns,
                            int64_t depth, float* out, int64_t outStep) {
  constexpr int kColumns = kRows <= kMostRows / 2 ? 4 : 2;
  int64_t j = 0;
  for (; j + kColumns <= columns; j += kColumns)
    crossed<kRows, kColumns>(a, aStep, b + j * bStep, bStep, depth, out + j, outStep);
  for (; j < columns; ++j) crossed<kRows, 1>(a, aStep, b + j * bStep, bStep, depth, out + j, outStep);
}

void rowsByRows(const float* a, int64_t aStep, int64_t rows, const float* b, int64_t bStep, int64_t columns,
                int64_t depth, float* out, int64_t outStep) {
  while (rows > 0) {
    int64_t count = 1;
    if (rows >= kMostRows) {
      count = kMostRows;
      crossedRows<kMostRows>(a, aStep, b, bStep, columns, depth, out, outStep);
    } else if (rows >= kMostRows / 2) {
      count = kMostRows / 2;
      crossedRows<kMostRows / 2>(a, aStep, b, bStep, columns, depth, out, outStep);
    } else if (rows >= 2) {
      count = 2;
      crossedRows<2>(a, aStep, b, bStep, columns, depth, out, outStep);
    } else {
      crossedRows<1>(a, aStep, b, bStep, columns, depth, out, outStep);
    }
    a += count * aStep;
    out += count * outStep;
    rows -= count;
  }
}

}  // namespace gemv

RowTimesMatrix findRowTimesMatrix() { return gemv::multiply; }
RowsTimesColumn findRowsTimesColumn() { return gemv::rowsByColumn; }
RowsTimesRows findRowsTimesRows() { return gemv::rowsByRows; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findRowTimesMatrix);
TENON_SIMD_TABLE(findRowsTimesColumn);
TENON_SIMD_TABLE(findRowsTimesRows);

}  // namespace

RowTimesMatrix rowTimesMatrix() { return TENON_SIMD_BEST(findRowTimesMatrix)(); }
RowsTimesRows rowsTimesRows() { return TENON_SIMD_BEST(findRowsTimesRows)(); }
RowsTimesColumn rowsTimesColumn() { return TENON_SIMD_BEST(findRowsTimesColumn)(); }

}  // namespace tenon::backends::cpu
#endif
