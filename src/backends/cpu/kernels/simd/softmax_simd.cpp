// Softmax, in Highway: written once, compiled per instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/softmax_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/simd/softmax_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/exp.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
namespace softmax {

constexpr size_t kNarrow = 8;  // elements of a row that are worth being beside those of other rows

// Whether parts of vectors are loaded and stored by masks, which touch nothing behind them.
constexpr bool kMasks = HWY_TARGET <= HWY_AVX2;

// The last elements of a row, filled up with what changes neither maximum nor sum.
HWY_INLINE V loadTail(const float* from, size_t count) {
  const D d;
  if constexpr (kMasks) {
    const auto there = hn::FirstN(d, count);
    return hn::IfThenElse(there, hn::MaskedLoad(there, d, from), hn::Set(d, -HUGE_VALF));
  } else {
    alignas(64) float values[kSoftmaxColumns];
    std::fill_n(values, kSoftmaxColumns, -HUGE_VALF);
    std::memcpy(values, from, count * sizeof(float));
    return hn::Load(d, values);
  }
}
HWY_INLINE void storeTail(V v, float* to, size_t count) {
  const D d;
  if constexpr (kMasks) {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  } else {
    alignas(64) float values[kSoftmaxColumns];
    hn::Store(v, d, values);
    std::memcpy(to, values, count * sizeof(float));
  }
}

// The greatest elements of whole vectors and of `most`, by lane; four chains, since a maximum takes some cycles.
HWY_INLINE V greatest(const float* x, size_t count, V most) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V second = most;
  V third = most;
  V fourth = most;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    most = greater(most, hn::LoadU(d, x + i));
    second = greater(second, hn::LoadU(d, x + i + lanes));
    third = greater(third, hn::LoadU(d, x + i + 2 * lanes));
    fourth = greater(fourth, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i < count; i += lanes) most = greater(most, hn::LoadU(d, x + i));
  return greater(greater(most, second), greater(third, fourth));
}

// The sum of exp(x - shift) over whole vectors; with kStores each goes to y. Two at a time, so that they overlap.
template <bool kStores>
HWY_INLINE double exponentials(const float* x, [[maybe_unused]] float* y, size_t count, V shift) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t kChunk = 4096;  // what f32 sums up in lanes before it goes on in double
  double total = 0;
  const auto one = [&](size_t i) HWY_ATTR {
    const V e = exponential::ofNegative(hn::Sub(hn::LoadU(d, x + i), shift));
    if constexpr (kStores) hn::StoreU(e, d, y + i);
    return e;
  };
  for (size_t begin = 0; begin < count; begin += kChunk) {
    const size_t end = std::min(count, begin + kChunk);
    V even = hn::Zero(d);
    V odd = hn::Zero(d);
    size_t i = begin;
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      even = hn::Add(even, one(i));
      odd = hn::Add(odd, one(i + lanes));
    }
    for (; i < end; i += lanes) even = hn::Add(even, one(i));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))));
  }
  return total;
}

HWY_INLINE void scale(float* y, size_t count, V factor) {
  const D d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), factor), d, y + i);
}

HWY_INLINE void wholeRow(const float* x, float* y, size_t count) {
  const D d;
  const V most = greatest(x, count, hn::LoadU(d, x));
  const double total = exponentials<true>(x, y, count, hn::MaxOfLanes(d, most));
  scale(y, count, hn::Set(d, static_cast<float>(1 / total)));
}

void row(const float* x, float* y, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t whole = count - count % lanes;
  if (whole == count) return wholeRow(x, y, count);
  const size_t some = count - whole;
  const V tail = loadTail(x + whole, some);
  const V shift = hn::MaxOfLanes(d, greatest(x, whole, tail));
  const V rest = exponential::ofNegative(hn::Sub(tail, shift));
  const V counted = hn::IfThenElseZero(hn::FirstN(d, some), rest);
  const double total =
      exponentials<true>(x, y, whole, shift) + static_cast<double>(hn::GetLane(hn::SumOfLanes(d, counted)));
  const V factor = hn::Set(d, static_cast<float>(1 / total));
  scale(y, whole, factor);
  storeTail(hn::Mul(rest, factor), y + whole, some);
}

// Rows of kVectors vectors, which stay in registers. kPart: the last one is not filled.
template <size_t kVectors, bool kPart, bool kLogarithm>
HWY_INLINE void rowsOfVectors(const float* x, float* y, size_t rowCount, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  constexpr size_t kWhole = kVectors - (kPart ? 1 : 0);
  const size_t some = count - kWhole * lanes;
  for (size_t r = 0; r < rowCount; ++r, x += count, y += count) {
    V e[kVectors];
    for (size_t v = 0; v < kWhole; ++v) e[v] = hn::LoadU(d, x + v * lanes);
    if constexpr (kPart) e[kWhole] = loadTail(x + kWhole * lanes, some);
    V most = e[0];
    for (size_t v = 1; v < kVectors; ++v) most = greater(most, e[v]);
    most = hn::MaxOfLanes(d, most);
    V sum = hn::Zero(d);
    for (size_t v = 0; v < kVectors; ++v) {
      e[v] = hn::Sub(e[v], most);
      V power = exponential::ofNegative(e[v]);
      if (kPart && v == kWhole) power = hn::IfThenElseZero(hn::FirstN(d, some), power);
      if (!kLogarithm) e[v] = power;
      sum = hn::Add(sum, power);
    }
    sum = hn::SumOfLanes(d, sum);
    const V last = kLogarithm ? hn::Set(d, std::log(hn::GetLane(sum))) : hn::Div(hn::Set(d, 1.f), sum);
    for (auto& each : e) each = kLogarithm ? hn::Sub(each, last) : hn::Mul(each, last);
    for (size_t v = 0; v < kWhole; ++v) hn::StoreU(e[v], d, y + v * lanes);
    if constexpr (kPart) storeTail(e[kWhole], y + kWhole * lanes, some);
  }
}

// Rows of up to four vectors, the last of which may be a part. False where there are none such.
template <bool kLogarithm>
HWY_INLINE bool fewVectors(const float* x, float* y, size_t rowCount, size_t count) {
  const size_t lanes = hn::Lanes(D());
  if (count == lanes) return rowsOfVectors<1, false, kLogarithm>(x, y, rowCount, count), true;
  if (count == 2 * lanes) return rowsOfVectors<2, false, kLogarithm>(x, y, rowCount, count), true;
  if (count == 4 * lanes) return rowsOfVectors<4, false, kLogarithm>(x, y, rowCount, count), true;
  if (!kMasks || count % lanes == 0) return false;
  switch (count / lanes) {
    case 0: return rowsOfVectors<1, true, kLogarithm>(x, y, rowCount, count), true;
    case 1: return rowsOfVectors<2, true, kLogarithm>(x, y, rowCount, count), true;
    case 2: return rowsOfVectors<3, true, kLogarithm>(x, y, rowCount, count), true;
    case 3: return rowsOfVectors<4, true, kLogarithm>(x, y, rowCount, count), true;
    default: return false;
  }
}

// The logarithm of sums, which are NaN or at least 1.
HWY_INLINE V logarithmOf(V sum) { return hn::IfThenElse(hn::IsNaN(sum), sum, hn::Log(D(), sum)); }

// As many rows as a vector has lanes, element i of all of them in vector i; and back.
HWY_INLINE void turnIn(const float* x, float* columns, size_t rowCount, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  if (rowCount == lanes && count >= 2 && count <= 4) {
    V v0, v1, v2 = hn::Zero(d), v3 = hn::Zero(d);
    if (count == 2) hn::LoadInterleaved2(d, x, v0, v1);
    if (count == 3) hn::LoadInterleaved3(d, x, v0, v1, v2);
    if (count == 4) hn::LoadInterleaved4(d, x, v0, v1, v2, v3);
    hn::Store(v0, d, columns);
    hn::Store(v1, d, columns + lanes);
    hn::Store(v2, d, columns + 2 * lanes);
    hn::Store(v3, d, columns + 3 * lanes);
    return;
  }
  for (size_t lane = 0; lane < rowCount; ++lane) {
    for (size_t i = 0; i < count; ++i) columns[i * lanes + lane] = x[lane * count + i];
  }
}
HWY_INLINE void turnOut(const float* columns, float* y, size_t rowCount, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const auto of = [&](size_t i) HWY_ATTR { return hn::Load(d, columns + i * lanes); };
  if (rowCount == lanes && count == 2) return hn::StoreInterleaved2(of(0), of(1), d, y);
  if (rowCount == lanes && count == 3) return hn::StoreInterleaved3(of(0), of(1), of(2), d, y);
  if (rowCount == lanes && count == 4) return hn::StoreInterleaved4(of(0), of(1), of(2), of(3), d, y);
  for (size_t lane = 0; lane < rowCount; ++lane) {
    for (size_t i = 0; i < count; ++i) y[lane * count + i] = columns[i * lanes + lane];
  }
}

// Rows shorter than a vector, as many side by side as it has lanes. A row's result does not depend on its lane. x and y
// may be the same.
template <bool kLogarithm>
HWY_INLINE void narrowRows(const float* x, float* y, size_t rowCount, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  HWY_ALIGN float columns[HWY_MAX_BYTES / sizeof(float) * kNarrow] = {};
  for (size_t r = 0; r < rowCount; r += lanes, x += lanes * count, y += lanes * count) {
    const size_t some = std::min(lanes, rowCount - r);
    turnIn(x, columns, some, count);
    V most = hn::Load(d, columns);
    for (size_t i = 1; i < count; ++i) most = greater(most, hn::Load(d, columns + i * lanes));
    V sum = hn::Zero(d);
    for (size_t i = 0; i < count; ++i) {
      const V below = hn::Sub(hn::Load(d, columns + i * lanes), most);
      const V e = exponential::ofNegative(below);
      hn::Store(kLogarithm ? below : e, d, columns + i * lanes);
      sum = hn::Add(sum, e);
    }
    const V last = kLogarithm ? logarithmOf(sum) : hn::Div(hn::Set(d, 1.f), sum);
    for (size_t i = 0; i < count; ++i) {
      const V each = hn::Load(d, columns + i * lanes);
      hn::Store(kLogarithm ? hn::Sub(each, last) : hn::Mul(each, last), d, columns + i * lanes);
    }
    turnOut(columns, y, some, count);
  }
}

void rows(const float* x, float* y, size_t rowCount, size_t count) {
  const size_t lanes = hn::Lanes(D());
  if (count == 8 * lanes) return rowsOfVectors<8, false, false>(x, y, rowCount, count);
  if (count <= kNarrow && count != lanes) return narrowRows<false>(x, y, rowCount, count);
  if (fewVectors<false>(x, y, rowCount, count)) return;
  for (size_t r = 0; r < rowCount; ++r) row(x + r * count, y + r * count, count);
}

template <size_t kVectors>
HWY_INLINE void columnsOf(const float* x, float* y, size_t rowCount, size_t step) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V most[kVectors], sum[kVectors];
  for (size_t v = 0; v < kVectors; ++v) most[v] = hn::LoadU(d, x + v * lanes);
  for (size_t r = 1; r < rowCount; ++r) {
    for (size_t v = 0; v < kVectors; ++v) most[v] = greater(most[v], hn::LoadU(d, x + r * step + v * lanes));
  }
  for (auto& each : sum) each = hn::Zero(d);
  for (size_t r = 0; r < rowCount; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      const V e = exponential::ofNegative(hn::Sub(hn::LoadU(d, x + r * step + v * lanes), most[v]));
      hn::StoreU(e, d, y + r * step + v * lanes);
      sum[v] = hn::Add(sum[v], e);
    }
  }
  for (auto& each : sum) each = hn::Div(hn::Set(d, 1.f), each);
  for (size_t r = 0; r < rowCount; ++r) {
    for (size_t v = 0; v < kVectors; ++v) {
      float* const to = y + r * step + v * lanes;
      hn::StoreU(hn::Mul(hn::LoadU(d, to), sum[v]), d, to);
    }
  }
}

// The last vector may share columns with the one before, which computes the same.
void columns(const float* x, float* y, size_t rowCount, size_t step, size_t count) {
  constexpr size_t kVectors = 4;
  const size_t lanes = hn::Lanes(D());
  size_t first = 0;
  for (; first + kVectors * lanes <= count; first += kVectors * lanes)
    columnsOf<kVectors>(x + first, y + first, rowCount, step);
  for (; first + lanes <= count; first += lanes) columnsOf<1>(x + first, y + first, rowCount, step);
  if (first < count) columnsOf<1>(x + count - lanes, y + count - lanes, rowCount, step);
}

void logRow(const float* x, float* y, size_t count) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  const size_t whole = count - count % lanes;
  const size_t some = count - whole;
  const V tail = loadTail(x + whole, some);  // none are far below all
  const V shift = hn::MaxOfLanes(d, greatest(x, whole, tail));
  const V rest = hn::Sub(tail, shift);
  const V counted = hn::IfThenElseZero(hn::FirstN(d, some), exponential::ofNegative(rest));
  const double total =
      exponentials<false>(x, y, whole, shift) + static_cast<double>(hn::GetLane(hn::SumOfLanes(d, counted)));
  const V logarithm = hn::Set(d, std::log(static_cast<float>(total)));
  for (size_t i = 0; i < whole; i += lanes)
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), shift), logarithm), d, y + i);
  if (some != 0) storeTail(hn::Sub(rest, logarithm), y + whole, some);
}

void logRows(const float* x, float* y, size_t rowCount, size_t count) {
  if (count <= kNarrow) return narrowRows<true>(x, y, rowCount, count);
  if (fewVectors<true>(x, y, rowCount, count)) return;
  for (size_t r = 0; r < rowCount; ++r) logRow(x + r * count, y + r * count, count);
}

void logColumnsOf(const float* x, float* y, size_t rowCount, size_t step) {
  const D d;
  V most = hn::LoadU(d, x);
  for (size_t r = 1; r < rowCount; ++r) most = greater(most, hn::LoadU(d, x + r * step));
  V sum = hn::Zero(d);
  for (size_t r = 0; r < rowCount; ++r)
    sum = hn::Add(sum, exponential::ofNegative(hn::Sub(hn::LoadU(d, x + r * step), most)));
  const V logarithm = logarithmOf(sum);
  for (size_t r = 0; r < rowCount; ++r)
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + r * step), most), logarithm), d, y + r * step);
}

void logColumns(const float* x, float* y, size_t rowCount, size_t step, size_t count) {
  const size_t lanes = hn::Lanes(D());
  size_t first = 0;
  for (; first + lanes <= count; first += lanes) logColumnsOf(x + first, y + first, rowCount, step);
  if (first < count) logColumnsOf(x + count - lanes, y + count - lanes, rowCount, step);
}

}  // namespace softmax

SoftmaxFunctions allSoftmaxFunctions() {
  return {softmax::rows, softmax::columns, softmax::logRows, softmax::logColumns};
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(allSoftmaxFunctions);

}  // namespace

const SoftmaxFunctions& softmaxFunctions() {
  static const SoftmaxFunctions kFunctions = TENON_SIMD_BEST(allSoftmaxFunctions)();
  return kFunctions;
}

}  // namespace tenon::backends::cpu
#endif
