// Best elements of columns: each column has a lane, in which a new element moves those that it is better than one place
// down. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/topk_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/topk_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace top {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<int32_t, kTopColumns>;
using V = hn::Vec<D>;

// A number that is larger for better elements.
template <typename T>
HWY_INLINE int32_t keyOf(T value, bool largest) {
  int32_t order;
  if constexpr (std::is_same_v<T, float>) {
    const auto bits = std::bit_cast<int32_t>(value + 0.f);  // no zero below another
    const int32_t number = bits ^ ((bits >> 31) & 0x7fffffff);
    order = value != value ? 0x7fffffff : number;  // NOLINT(misc-redundant-expression): NaN is not itself
  } else {
    order = static_cast<int32_t>(value);
  }
  return largest ? order : ~order;
}

template <typename T>
HWY_INLINE void keysOf(const T* HWY_RESTRICT x, size_t count, bool largest, int32_t* HWY_RESTRICT keys) {
  if (count == kTopColumns) {  // a count that the compiler knows
    for (size_t i = 0; i < kTopColumns; ++i) keys[i] = keyOf(x[i], largest);
  } else {
    for (size_t i = 0; i < count; ++i) keys[i] = keyOf(x[i], largest);
  }
}

// Places the keys of row `row` among the best `held`, which are sorted, the last of which goes or is not there yet.
HWY_INLINE void place(const int32_t* HWY_RESTRICT keys, int32_t row, size_t held, bool isFull,
                      int32_t* HWY_RESTRICT best, int32_t* HWY_RESTRICT rows) {
  const D d;
  const V at = hn::Set(d, row);
  for (size_t lane = 0; lane < kTopColumns; lane += hn::Lanes(d)) {
    const V key = hn::Load(d, keys + lane);
    int32_t* to = best + (held - 1) * kTopColumns + lane;
    int32_t* toRow = rows + (held - 1) * kTopColumns + lane;
    V here = hn::Load(d, to);
    V hereRow = hn::Load(d, toRow);
    auto better = isFull ? hn::Gt(key, here) : hn::Eq(at, at);
    if (hn::AllFalse(d, better)) continue;
    for (size_t j = held - 1; j > 0; --j) {
      const V above = hn::Load(d, to - kTopColumns);
      const V aboveRow = hn::Load(d, toRow - kTopColumns);
      const auto betterAbove = hn::Gt(key, above);
      hn::Store(hn::IfThenElse(betterAbove, above, hn::IfThenElse(better, key, here)), d, to);
      hn::Store(hn::IfThenElse(betterAbove, aboveRow, hn::IfThenElse(better, at, hereRow)), d, toRow);
      to -= kTopColumns;
      toRow -= kTopColumns;
      here = above;
      hereRow = aboveRow;
      better = betterAbove;
      if (hn::AllFalse(d, better)) break;
    }
    hn::Store(hn::IfThenElse(better, key, here), d, to);
    hn::Store(hn::IfThenElse(better, at, hereRow), d, toRow);
  }
}

template <typename T>
void columns(const void* vx, size_t step, size_t extent, size_t count, size_t k, bool largest, int32_t* result) {
  const T* x = static_cast<const T*>(vx);
  alignas(64) int32_t keys[kTopColumns] = {};
  alignas(64) int32_t best[kMostTop * kTopColumns];
  alignas(64) int32_t rows[kMostTop * kTopColumns];
  std::fill_n(best, k * kTopColumns, 0);  // what is used of them: all of them would take longer than two rows
  std::fill_n(rows, k * kTopColumns, 0);
  for (size_t r = 0; r < extent; ++r, x += step) {
    keysOf(x, count, largest, keys);
    place(keys, static_cast<int32_t>(r), r < k ? r + 1 : k, r >= k, best, rows);
  }
  for (size_t i = 0; i < k * kTopColumns; ++i) result[i] = rows[i];
}

void rank(const uint64_t* HWY_RESTRICT numbers, size_t count, size_t k, uint64_t* HWY_RESTRICT sorted) {
  const hn::ScalableTag<int64_t> d;
  const size_t lanes = hn::Lanes(d);
  constexpr uint64_t kSign = uint64_t{1} << 63;  // comparisons are those of signed numbers
  alignas(64) int64_t ordered[kMostRanked];
  const size_t whole = (count + lanes - 1) / lanes * lanes;
  for (size_t i = 0; i < count; ++i) ordered[i] = static_cast<int64_t>(numbers[i] ^ kSign);
  for (size_t i = count; i < kMostRanked; ++i) ordered[i] = std::numeric_limits<int64_t>::max();
  constexpr size_t kTogether = 4;
  for (size_t i = 0; i < count; i += kTogether) {
    hn::Vec<decltype(d)> number[kTogether], smaller[kTogether];
    for (size_t n = 0; n < kTogether; ++n) {
      number[n] = hn::Set(d, ordered[i + n]);
      smaller[n] = hn::Zero(d);
    }
    for (size_t j = 0; j < whole; j += lanes) {
      const auto all = hn::Load(d, ordered + j);
      for (size_t n = 0; n < kTogether; ++n)
        smaller[n] = hn::Sub(smaller[n], hn::VecFromMask(d, hn::Lt(all, number[n])));  // a truth is -1
    }
    for (size_t n = 0; n < kTogether && i + n < count; ++n) {
      const auto place = static_cast<size_t>(hn::GetLane(hn::SumOfLanes(d, smaller[n])));
      if (place < k) sorted[place] = numbers[i + n];
    }
  }
}

}  // namespace top

RankFunction findRank() { return top::rank; }

TopColumnsFunction findTopColumns(DataType type) {
  switch (type) {
    case DataType::kF32: return top::columns<float>;
    case DataType::kI32: return top::columns<int32_t>;
    case DataType::kI8: return top::columns<int8_t>;
    case DataType::kU8:
    case DataType::kBool: return top::columns<uint8_t>;
    default: return nullptr;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findTopColumns);
TENON_SIMD_TABLE(findRank);

}  // namespace

TopColumnsFunction topColumnsFunction(DataType type) { return TENON_SIMD_BEST(findTopColumns)(type); }
RankFunction rankFunction() { return TENON_SIMD_BEST(findRank)(); }

}  // namespace tenon::backends::cpu
#endif
