// Running sums within vectors: each lane adds the lane one, two, four, ... places before it, then what came before the
// vector. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/line_scan_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <type_traits>

#include "backends/cpu/kernels/simd/line_scan_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace line_scan {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <typename T>
HWY_INLINE SumOf<T> plus(SumOf<T> sum, T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
  } else {
    return sum + static_cast<double>(value);
  }
}

#if HWY_TARGET != HWY_SCALAR

template <typename T>
struct Within {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Index = hn::TFromD<hn::RebindToSigned<D>>;
  using Indices = decltype(hn::SetTableIndices(D(), static_cast<const Index*>(nullptr)));
  static constexpr size_t kSteps = 4;  // of vectors of up to 16 lanes

  Within() : last(from(0, true)), places{from(1, false), from(2, false), from(4, false), from(8, false)} {
    static_assert(HWY_MAX_BYTES / sizeof(T) <= 16);
  }

  // Each lane with those before it.
  HWY_INLINE V sums(V v) const {
    const D d;
    for (size_t s = 0; s < kSteps && (size_t{1} << s) < hn::Lanes(d); ++s) {
      const auto hasOne = hn::Not(hn::FirstN(d, size_t{1} << s));
      v = hn::Add(v, hn::IfThenElseZero(hasOne, hn::TableLookupLanes(v, places[s])));
    }
    return v;
  }
  HWY_INLINE V lastOf(V v) const { return hn::TableLookupLanes(v, last); }

 private:
  // Of the lane `before` places before each, or of the last one.
  static Indices from(size_t before, bool isLast) {
    const D d;
    const size_t lanes = hn::Lanes(d);
    Index indices[HWY_MAX_BYTES / sizeof(T)];
    for (size_t i = 0; i < lanes; ++i)
      indices[i] = static_cast<Index>(isLast ? lanes - 1 : i < before ? 0 : i - before);
    return hn::SetTableIndices(d, indices);
  }

  Indices last;
  Indices places[kSteps];
};

// Whole vectors; returns how many elements.
template <typename T, bool kReverse, bool kExclusive>
HWY_INLINE size_t vectors(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, size_t count, SumOf<T>& sum) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const size_t end = count - (kExclusive ? 1 : 0);  // sums stand one element further on
  const Within<T> within;
  auto total = hn::Set(d, static_cast<T>(sum));
  if (end < lanes) return 0;
  if (kExclusive) y[kReverse ? count - 1 : 0] = static_cast<T>(sum);
  size_t i = 0;
  for (; i + lanes <= end; i += lanes) {
    const size_t at = kReverse ? count - i - lanes : i;
    auto v = hn::LoadU(d, x + at);
    if (kReverse) v = hn::Reverse(d, v);
    const auto own = within.sums(v);
    auto all = hn::Add(total, own);
    if constexpr (std::is_floating_point_v<T>) {
      sum += static_cast<double>(hn::GetLane(within.lastOf(own)));
      total = hn::Set(d, static_cast<T>(sum));
    } else {
      total = within.lastOf(all);
    }
    if (kReverse) all = hn::Reverse(d, all);
    hn::StoreU(all, d, y + (kReverse ? at - (kExclusive ? 1 : 0) : at + (kExclusive ? 1 : 0)));
  }
  if constexpr (std::is_integral_v<T>) sum = hn::GetLane(total);
  return i;
}

#else

template <typename T, bool kReverse, bool kExclusive>
size_t vectors(const T*, T*, size_t, SumOf<T>&) {
  return 0;
}

#endif

template <typename T, bool kReverse, bool kExclusive>
void line(const T* x, T* y, size_t count, SumOf<T>& sum) {
  for (size_t i = count == 0 ? 0 : vectors<T, kReverse, kExclusive>(x, y, count, sum); i < count; ++i) {
    const size_t at = kReverse ? count - 1 - i : i;
    const auto before = sum;
    sum = plus(sum, x[at]);
    y[at] = static_cast<T>(kExclusive ? before : sum);
  }
}

template <typename T>
void lineOf(const void* vx, void* vy, size_t count, LineSums sums, void* vSum) {
  const T* const x = static_cast<const T*>(vx);
  T* const y = static_cast<T*>(vy);
  auto& sum = *static_cast<SumOf<T>*>(vSum);
  if (sums.reverse)
    return sums.exclusive ? line<T, true, true>(x, y, count, sum) : line<T, true, false>(x, y, count, sum);
  return sums.exclusive ? line<T, false, true>(x, y, count, sum) : line<T, false, false>(x, y, count, sum);
}

}  // namespace line_scan

LineSumsFunction findLineSums(DataType type) {
  switch (type) {
    case DataType::kF32: return line_scan::lineOf<float>;
    case DataType::kI64: return line_scan::lineOf<int64_t>;
    case DataType::kI32: return line_scan::lineOf<int32_t>;
    default: return nullptr;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findLineSums);

}  // namespace

LineSumsFunction lineSumsFunction(DataType type) { return TENON_SIMD_BEST(findLineSums)(type); }

}  // namespace tenon::backends::cpu
#endif
