// Loops of running sums and arg-extremes along columns. They are plain loops, of which the compiler makes vectors for
// each instruction set. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/scan_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/simd/scan_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace scans {

template <typename T>
HWY_INLINE T plus(T a, T b) {  // unsigned arithmetic wraps
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// The first row of sums; returns the row of x that comes next.
template <typename T, bool kExclusive>
const T* firstRow(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, size_t count, int64_t step) {
  if constexpr (kExclusive) {
    std::fill_n(y, count, T(0));
    return x;
  } else {
    std::copy_n(x, count, y);
    return x + step;
  }
}

// The row before has the sums. Whole rows one after another, as memory is read fastest.
template <typename T, bool kExclusive>
void sumsInPlace(const T* HWY_RESTRICT x, T* y, size_t rows, size_t count, int64_t step) {
  x = firstRow<T, kExclusive>(x, y, count, step);
  for (size_t r = 1; r < rows; ++r, x += step, y += step) {
    const T* HWY_RESTRICT before = y;
    T* HWY_RESTRICT to = y + step;
    for (size_t i = 0; i < count; ++i) to[i] = plus(before[i], x[i]);
  }
}

// What a sum in f32 lost by rounding is taken off the next element (Kahan's sum), which is as good as a sum in double.
// Infinite sums lose nothing.
void addRow(const float* HWY_RESTRICT x, const float* HWY_RESTRICT before, float* HWY_RESTRICT to,
            float* HWY_RESTRICT lost, size_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;  // the compiler's own vectors may be half as wide
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto sumBefore = hn::LoadU(d, before + i);
    const auto more = hn::Sub(hn::LoadU(d, x + i), hn::LoadU(d, lost + i));
    const auto sum = hn::Add(sumBefore, more);
    const auto rest = hn::Sub(hn::Sub(sum, sumBefore), more);
    hn::StoreU(hn::IfThenElseZero(hn::Eq(hn::Sub(rest, rest), hn::Zero(d)), rest), d, lost + i);
    hn::StoreU(sum, d, to + i);
  }
  for (; i < count; ++i) {
    const float more = x[i] - lost[i];
    const float sum = before[i] + more;
    const float rest = (sum - before[i]) - more;
    lost[i] = rest - rest == 0 ? rest : 0.f;
    to[i] = sum;
  }
}

constexpr bool kMaskedSums = HWY_TARGET <= HWY_AVX2;  // stores of some lanes touch no others

// Sums of a block of rows, the blocks before it, and what rounding lost of those.
template <typename V>
struct Blocks {
  V own, total, lost;
};
// kVectors vectors of columns, whose sums stay in registers, the last one of `last` columns.
template <size_t kVectors, bool kExclusive>
HWY_INLINE void sumsInRegisters(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, size_t rows, size_t last,
                                int64_t step) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto some = hn::FirstN(d, last);
  Blocks<hn::Vec<decltype(d)>> all[kVectors];
  for (auto& each : all) each = {hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  for (size_t r = 0; r < rows;) {
    for (const size_t end = HWY_MIN(rows, r + kScanRows); r < end; ++r, x += step, y += step) {
      for (size_t k = 0; k < kVectors; ++k) {
        auto& [own, total, lost] = all[k];
        const auto before = own;
        const bool isLast = k + 1 == kVectors;
        own = hn::Add(own, isLast ? hn::MaskedLoad(some, d, x + k * lanes) : hn::LoadU(d, x + k * lanes));
        const auto sum = hn::Add(total, kExclusive ? before : own);
        if (isLast) {
          hn::BlendedStore(sum, some, d, y + k * lanes);
        } else {
          hn::StoreU(sum, d, y + k * lanes);
        }
      }
    }
    for (auto& [own, total, lost] : all) {
      const auto more = hn::Sub(own, lost);
      const auto sum = hn::Add(total, more);
      const auto rest = hn::Sub(hn::Sub(sum, total), more);
      lost = hn::IfThenElseZero(hn::Eq(hn::Sub(rest, rest), hn::Zero(d)), rest);
      total = sum;
      own = hn::Zero(d);
    }
  }
}
template <bool kExclusive>
void sumsOfFew(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, size_t rows, size_t count, int64_t step) {
  const size_t lanes = hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<float>());
  constexpr size_t kAtOnce = HWY_TARGET <= HWY_AVX3 ? 8 : 4;
  for (size_t left = count; left > 0;) {
    const size_t vectors = HWY_MIN((left + lanes - 1) / lanes, kAtOnce);
    const size_t width = HWY_MIN(left, vectors * lanes);
    const size_t last = width - (vectors - 1) * lanes;
    switch (vectors) {
      case 1: sumsInRegisters<1, kExclusive>(x, y, rows, last, step); break;
      case 2: sumsInRegisters<2, kExclusive>(x, y, rows, last, step); break;
      case 3: sumsInRegisters<3, kExclusive>(x, y, rows, last, step); break;
      case 4: sumsInRegisters<4, kExclusive>(x, y, rows, last, step); break;
      case 5: sumsInRegisters<HWY_MIN(5, kAtOnce), kExclusive>(x, y, rows, last, step); break;
      case 6: sumsInRegisters<HWY_MIN(6, kAtOnce), kExclusive>(x, y, rows, last, step); break;
      case 7: sumsInRegisters<HWY_MIN(7, kAtOnce), kExclusive>(x, y, rows, last, step); break;
      default: sumsInRegisters<kAtOnce, kExclusive>(x, y, rows, last, step); break;
    }
    x += width;
    y += width;
    left -= width;
  }
}

// So few rows that sums lose little.
template <bool kExclusive>
void sumsOfRows(const float* HWY_RESTRICT x, float* y, size_t rows, size_t count, int64_t step) {
  x = firstRow<float, kExclusive>(x, y, count, step);
  for (size_t r = 1; r < rows; ++r, x += step, y += step) {
    const float* HWY_RESTRICT before = y;
    float* HWY_RESTRICT to = y + step;
    for (size_t i = 0; i < count; ++i) to[i] = before[i] + x[i];
  }
}

template <bool kExclusive>
void sumsInFloats(const float* HWY_RESTRICT x, float* y, size_t rows, size_t count, int64_t step, bool isNarrow) {
  if (rows <= kScanRows) return sumsOfRows<kExclusive>(x, y, rows, count, step);
  if constexpr (kMaskedSums) {
    if (isNarrow) return sumsOfFew<kExclusive>(x, y, rows, count, step);
  }
  alignas(64) float lost[kScanColumns];
  std::fill_n(lost, count, 0.f);
  x = firstRow<float, kExclusive>(x, y, count, step);
  for (size_t r = 1; r < rows; ++r, x += step, y += step) addRow(x, y, y + step, lost, count);
}

template <typename T, bool kExclusive>
void sumsOf(const T* x, T* y, size_t rows, size_t count, int64_t step, [[maybe_unused]] bool isNarrow) {
  if constexpr (std::is_same_v<T, float>) {
    sumsInFloats<kExclusive>(x, y, rows, count, step, isNarrow);
  } else {
    sumsInPlace<T, kExclusive>(x, y, rows, count, step);
  }
}

template <typename T>
void sums(const void* vx, void* vy, size_t rows, size_t count, int64_t step, ColumnSums how) {
  const T* const x = static_cast<const T*>(vx);
  T* const y = static_cast<T*>(vy);
  if (how.exclusive) return sumsOf<T, true>(x, y, rows, count, step, how.narrow);
  sumsOf<T, false>(x, y, rows, count, step, how.narrow);
}

template <typename T>
HWY_INLINE bool isNan(T a) {
  if constexpr (std::is_floating_point_v<T>) return __builtin_isnan(a);
  return false;
}

// Whether a goes before b, which stands further ahead. Without branches.
template <bool kLargest, typename T>
HWY_INLINE bool isBetter(T a, T b) {
  if constexpr (kLargest) return (a > b) | (isNan(a) & !isNan(b));
  return (a < b) | (isNan(b) & !isNan(a));
}

template <typename T, bool kLargest>
void bestOfRows(const T* HWY_RESTRICT x, size_t rows, size_t count, size_t step, int64_t* HWY_RESTRICT indices) {
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  alignas(64) T best[kScanColumns];
  alignas(64) Index at[kScanColumns] = {};
  std::copy_n(x, count, best);
  for (size_t r = 1; r < rows; ++r) {
    const T* HWY_RESTRICT from = x + r * step;
    const auto row = static_cast<Index>(r);
    for (size_t i = 0; i < count; ++i) {
      const bool better = isBetter<kLargest>(from[i], best[i]);
      best[i] = better ? from[i] : best[i];
      at[i] = better ? row : at[i];
    }
  }
  for (size_t i = 0; i < count; ++i) indices[i] = at[i];
}

// Few columns whose rows lie behind each other: so many rows as fill some vectors are one row of more columns, of whose
// best elements the first best one of each column is taken. False where there are too few rows.
template <typename T, bool kLargest>
bool bestOfFew(const T* HWY_RESTRICT x, size_t rows, size_t count, int64_t* HWY_RESTRICT indices) {
  constexpr size_t kTogether = 128, kFewTogether = 32, kLeast = 4;
  const bool areMany = rows >= kLeast * (kTogether / count);
  const size_t together = (areMany ? kTogether : kFewTogether) / count;
  if (together < 2 || rows < kLeast * together) return false;
  int64_t at[kTogether];
  bestOfRows<T, kLargest>(x, rows / together, together * count, together * count, at);
  for (size_t i = 0; i < count; ++i) {
    size_t best = static_cast<size_t>(at[i]) * together;
    for (size_t k = 1; k < together; ++k) {
      const size_t other = static_cast<size_t>(at[k * count + i]) * together + k;
      const T value = x[best * count + i];
      const T next = x[other * count + i];
      if (isBetter<kLargest>(next, value) || (other < best && !isBetter<kLargest>(value, next))) best = other;
    }
    for (size_t r = rows / together * together; r < rows; ++r) {
      if (isBetter<kLargest>(x[r * count + i], x[best * count + i])) best = r;
    }
    indices[i] = static_cast<int64_t>(best);
  }
  return true;
}

#if HWY_TARGET != HWY_SCALAR
// The same of columns that divide the lanes of a vector: the best of each lane, of these the best of each column, and
// the first place where that stands. False where they do not, where there are too few or too many rows, or a NaN.
template <typename T, bool kLargest>
bool bestOfLanes(const T* HWY_RESTRICT x, size_t rows, size_t count, int64_t* HWY_RESTRICT indices) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  constexpr size_t kMost = 4096;  // elements, which stay in the first cache
  const size_t lanes = hn::Lanes(d);
  const size_t all = rows * count;
  if (lanes % count != 0 || all < 2 * lanes || all > kMost) return false;
  const auto better = [](auto a, auto b) { return kLargest ? hn::Max(a, b) : hn::Min(a, b); };
  auto best = hn::LoadU(d, x + all - lanes);
  auto sum = hn::Sub(best, best);  // NaN where an element is, or an infinity
  for (size_t i = 0; i + lanes <= all; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    best = better(best, v);
    if constexpr (std::is_floating_point_v<T>) sum = hn::Add(sum, hn::Sub(v, v));
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (!hn::AllTrue(d, hn::Eq(sum, sum))) return false;
  }
  alignas(64) T ofLanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(best, d, ofLanes);
  for (size_t i = count; i < lanes; ++i) {
    T& column = ofLanes[i % count];
    column = isBetter<kLargest>(ofLanes[i], column) ? ofLanes[i] : column;
  }
  for (size_t i = count; i < lanes; ++i) ofLanes[i] = ofLanes[i - count];
  const auto wanted = hn::Load(d, ofLanes);
  std::fill_n(indices, count, int64_t{-1});
  for (size_t i = 0, found = 0; found < count; i = HWY_MIN(i + lanes, all - lanes)) {
    const auto hits = hn::Eq(hn::LoadU(d, x + i), wanted);
    if (hn::AllFalse(d, hits)) continue;
    uint64_t bits = 0;
    hn::StoreMaskBits(d, hits, reinterpret_cast<uint8_t*>(&bits));
    if (lanes < 64) bits &= (uint64_t{1} << lanes) - 1;
    for (; bits != 0; bits &= bits - 1) {
      const size_t at = i + static_cast<size_t>(__builtin_ctzll(bits));
      if (indices[at % count] >= 0) continue;
      indices[at % count] = static_cast<int64_t>(at / count);
      ++found;
    }
  }
  return true;
}
#else
template <typename T, bool kLargest>
bool bestOfLanes(const T*, size_t, size_t, int64_t*) {
  return false;
}
#endif

template <typename T, bool kLargest>
void bestOf(const T* HWY_RESTRICT x, size_t rows, size_t count, size_t step, int64_t* HWY_RESTRICT indices) {
  constexpr size_t kFew = 16;
  if (count <= kFew && step == count && bestOfLanes<T, kLargest>(x, rows, count, indices)) return;
  if (count <= kFew && step == count && bestOfFew<T, kLargest>(x, rows, count, indices)) return;
  bestOfRows<T, kLargest>(x, rows, count, step, indices);
}

template <typename T>
void best(const void* vx, size_t rows, size_t count, size_t step, bool largest, int64_t* indices) {
  const T* const x = static_cast<const T*>(vx);
  if (largest) return bestOf<T, true>(x, rows, count, step, indices);
  bestOf<T, false>(x, rows, count, step, indices);
}

template <typename T, bool kLargest>
size_t betterOf(const T* HWY_RESTRICT x, size_t first, size_t count, T limit) {
  constexpr size_t kStep = 64;
  size_t i = first;
  for (; i + kStep <= count; i += kStep) {
    uint32_t found = 0;
    for (size_t k = 0; k < kStep; ++k) found |= isBetter<kLargest>(x[i + k], limit) ? 1u : 0u;
    if (found != 0) break;
  }
  while (i < count && !isBetter<kLargest>(x[i], limit)) ++i;
  return i;
}

template <typename T>
size_t better(const void* vx, size_t first, size_t count, bool largest, const void* vLimit) {
  const T* const x = static_cast<const T*>(vx);
  const T limit = *static_cast<const T*>(vLimit);
  return largest ? betterOf<T, true>(x, first, count, limit) : betterOf<T, false>(x, first, count, limit);
}

template <typename T>
ScanFunctions of() {
  return {sums<T>, addRow, best<T>, better<T>};
}

}  // namespace scans

ScanFunctions findScan(DataType type) {
  switch (type) {
    case DataType::kF32: return scans::of<float>();
    case DataType::kI64: return scans::of<int64_t>();
    case DataType::kI32: return scans::of<int32_t>();
    case DataType::kI8: return scans::of<int8_t>();
    case DataType::kU8: return scans::of<uint8_t>();
    default: return {};
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findScan);

}  // namespace

ScanFunctions scanFunctions(DataType type) { return TENON_SIMD_BEST(findScan)(type); }

}  // namespace tenon::backends::cpu
#endif
