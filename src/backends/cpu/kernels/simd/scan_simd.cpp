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
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/scan_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace scans {

template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <typename A>
HWY_INLINE A plus(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T, typename A>
HWY_INLINE T stored(A sum) {
  if constexpr (std::is_integral_v<A> && sizeof(T) < sizeof(A)) {
    constexpr A kLow = std::numeric_limits<T>::min();
    constexpr A kHigh = std::numeric_limits<T>::max();
    const A above = sum < kLow ? kLow : sum;
    return static_cast<T>(above > kHigh ? kHigh : above);
  } else {
    return static_cast<T>(sum);
  }
}

// Sums of the accumulator's type, beside the rows.
template <typename T, bool kExclusive>
void sumsBeside(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, size_t rows, size_t count, int64_t step) {
  SumOf<T> sums[kScanColumns] = {};
  for (size_t r = 0; r < rows; ++r, x += step, y += step) {
    for (size_t i = 0; i < count; ++i) {
      const auto before = sums[i];
      sums[i] = plus(before, static_cast<SumOf<T>>(x[i]));
      y[i] = stored<T>(kExclusive ? before : sums[i]);
    }
  }
}

// So many rows at a time: what is summed stays in registers, and memory is still read by rows.
constexpr size_t kGroup = 8;

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// Columns of a strip: as many vectors as there are registers for the rows of a group. All of a strip is read before it
// is written: where rows lie nearly 4 KiB apart, a processor takes a load for one of what was just stored in another
// row.
constexpr size_t kWide = HWY_TARGET <= HWY_AVX3 ? 2 : 1;

template <typename T>
using Strip = hn::Vec<hn::ScalableTag<T>>[kGroup];

// Calls body(first column, number of vectors) for strips of columns; the columns that fill no vector are left.
template <typename T, typename Body>
HWY_INLINE size_t inStrips(size_t count, Body&& body) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  size_t i = 0;
  for (; i + kWide * lanes <= count; i += kWide * lanes) body(i, std::integral_constant<size_t, kWide>());
  for (; i + lanes <= count; i += lanes) body(i, std::integral_constant<size_t, 1>());
  return i;
}

template <typename T, size_t kVectors>
HWY_INLINE void loadStrip(const T* x, size_t rows, int64_t step, Strip<T>* strip) {
  const hn::ScalableTag<T> d;
  for (size_t r = 0; r < rows; ++r, x += step) {
    for (size_t v = 0; v < kVectors; ++v) strip[v][r] = hn::LoadU(d, x + v * hn::Lanes(d));
  }
}
template <typename T, size_t kVectors>
HWY_INLINE void storeStrip(const Strip<T>* strip, T* y, size_t rows, int64_t step) {
  const hn::ScalableTag<T> d;
  for (size_t r = 0; r < rows; ++r, y += step) {
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(strip[v][r], d, y + v * hn::Lanes(d));
  }
}

// `rows` more rows of sums behind the row `before`.
template <typename T, size_t kVectors>
HWY_INLINE void addStripOf(const T* x, const T* before, T* y, size_t rows, int64_t step) {
  const hn::ScalableTag<T> d;
  Strip<T> strip[kVectors];
  loadStrip<T, kVectors>(x, rows, step, strip);
  for (size_t v = 0; v < kVectors; ++v) {
    auto sum = hn::LoadU(d, before + v * hn::Lanes(d));
    for (size_t r = 0; r < rows; ++r) strip[v][r] = sum = hn::Add(sum, strip[v][r]);
  }
  storeStrip<T, kVectors>(strip, y, rows, step);
}
template <typename T, size_t kVectors>
HWY_INLINE void addStrip(const T* x, const T* before, T* y, size_t rows, int64_t step) {
  if (rows == kGroup) return addStripOf<T, kVectors>(x, before, y, kGroup, step);  // a count that the compiler knows
  addStripOf<T, kVectors>(x, before, y, rows, step);
}

// The same; the sign bit of `overflows` says in which columns a sum has more than 32 bits.
template <size_t kVectors>
HWY_INLINE void addWordsOf(const int32_t* x, const int32_t* before, int32_t* y, size_t rows, int64_t step,
                           int32_t* overflows) {
  const hn::ScalableTag<int32_t> d;
  Strip<int32_t> strip[kVectors];
  loadStrip<int32_t, kVectors>(x, rows, step, strip);
  for (size_t v = 0; v < kVectors; ++v) {
    auto sum = hn::LoadU(d, before + v * hn::Lanes(d));
    auto over = hn::LoadU(d, overflows + v * hn::Lanes(d));
    for (size_t r = 0; r < rows; ++r) {
      const auto next = strip[v][r];
      const auto more = hn::Add(sum, next);
      over = hn::Or(over, hn::And(hn::Xor(sum, more), hn::Xor(next, more)));
      strip[v][r] = sum = more;
    }
    hn::StoreU(over, d, overflows + v * hn::Lanes(d));
  }
  storeStrip<int32_t, kVectors>(strip, y, rows, step);
}
template <size_t kVectors>
HWY_INLINE void addWords(const int32_t* x, const int32_t* before, int32_t* y, size_t rows, int64_t step,
                         int32_t* overflows) {
  if (rows == kGroup) return addWordsOf<kVectors>(x, before, y, kGroup, step, overflows);
  addWordsOf<kVectors>(x, before, y, rows, step, overflows);
}

// y has the sums of its first row; `part` becomes the sums of these rows alone.
template <size_t kVectors>
HWY_INLINE void addFloatsOf(const float* x, float* y, size_t rows, int64_t step, float* part) {
  const hn::ScalableTag<float> d;
  Strip<float> strip[kVectors];
  loadStrip<float, kVectors>(x, rows, step, strip);
  for (size_t v = 0; v < kVectors; ++v) {
    auto own = hn::LoadU(d, x + v * hn::Lanes(d));  // the first row
    auto sum = hn::LoadU(d, y + v * hn::Lanes(d));
    strip[v][0] = sum;
    for (size_t r = 1; r < rows; ++r) {
      own = hn::Add(own, strip[v][r]);
      strip[v][r] = sum = hn::Add(sum, strip[v][r]);
    }
    hn::StoreU(own, d, part + v * hn::Lanes(d));
  }
  storeStrip<float, kVectors>(strip, y, rows, step);
}
template <size_t kVectors>
HWY_INLINE void addFloats(const float* x, float* y, size_t rows, int64_t step, float* part) {
  if (rows == kGroup) return addFloatsOf<kVectors>(x, y, kGroup, step, part);
  addFloatsOf<kVectors>(x, y, rows, step, part);
}

#else

template <typename T, typename Body>
size_t inStrips(size_t, Body&&) {
  return 0;
}
template <typename T, size_t kVectors>
void addStrip(const T*, const T*, T*, size_t, int64_t) {}
template <size_t kVectors>
void addWords(const int32_t*, const int32_t*, int32_t*, size_t, int64_t, int32_t*) {}
template <size_t kVectors>
void addFloats(const float*, float*, size_t, int64_t, float*) {}

#endif

// The row before has the sums.
template <bool kExclusive>
void sumsInPlace(const int64_t* HWY_RESTRICT x, int64_t* y, size_t rows, size_t count, int64_t step) {
  for (size_t i = 0; i < count; ++i) y[i] = kExclusive ? 0 : x[i];
  const int64_t* from = kExclusive ? x : x + step;
  for (size_t r = 1; r < rows; r += kGroup) {
    const size_t some = std::min(kGroup, rows - r);
    size_t i = inStrips<int64_t>(count, [&](size_t at, auto vectors) HWY_ATTR {
      addStrip<int64_t, decltype(vectors)::value>(from + at, y + at, y + at + step, some, step);
    });
    for (; i < count; ++i) {
      for (int64_t k = 0; k < static_cast<int64_t>(some); ++k)
        y[(k + 1) * step + static_cast<int64_t>(i)] =
            plus(y[k * step + static_cast<int64_t>(i)], from[k * step + static_cast<int64_t>(i)]);
    }
    from += static_cast<int64_t>(some) * step;
    y += static_cast<int64_t>(some) * step;
  }
}

// The same in 32 bits; false where a sum has more, and y is of no use.
bool sumsInWords(const int32_t* HWY_RESTRICT x, int32_t* y, size_t rows, size_t count, int64_t step) {
  int32_t overflows[kScanColumns] = {};
  std::copy_n(x, count, y);
  for (size_t r = 1; r < rows; r += kGroup) {
    const size_t some = std::min(kGroup, rows - r);
    size_t i = inStrips<int32_t>(count, [&](size_t at, auto vectors) HWY_ATTR {
      addWords<decltype(vectors)::value>(x + at + step, y + at, y + at + step, some, step, overflows + at);
    });
    for (; i < count; ++i) {
      const int32_t* from = x + i;
      int32_t* to = y + i;
      for (size_t k = 0; k < some; ++k, to += step) {
        from += step;
        const auto a = static_cast<uint32_t>(*to);
        const auto b = static_cast<uint32_t>(*from);
        const uint32_t sum = a + b;
        overflows[i] |= static_cast<int32_t>((a ^ sum) & (b ^ sum));
        to[step] = static_cast<int32_t>(sum);
      }
    }
    x += static_cast<int64_t>(some) * step;
    y += static_cast<int64_t>(some) * step;
  }
  int32_t any = 0;
  for (size_t i = 0; i < count; ++i) any |= overflows[i];
  return any >= 0;
}

// Some rows in f32, from a sum in double.
void sumsInGroups(const float* HWY_RESTRICT x, float* y, size_t rows, size_t count, int64_t step) {
  double base[kScanColumns] = {};
  float part[kScanColumns];
  for (size_t r = 0; r < rows; r += kGroup) {
    const size_t some = std::min(kGroup, rows - r);
    float* HWY_RESTRICT first = y;
    for (size_t i = 0; i < count; ++i) first[i] = static_cast<float>(base[i] + static_cast<double>(x[i]));
    size_t i = inStrips<float>(count, [&](size_t at, auto vectors) HWY_ATTR {
      addFloats<decltype(vectors)::value>(x + at, y + at, some, step, part + at);
    });
    for (; i < count; ++i) {
      const float* from = x + i;
      float* to = y + i;
      part[i] = *from;
      for (size_t k = 1; k < some; ++k, to += step) {
        from += step;
        part[i] += *from;
        to[step] = *to + *from;
      }
    }
    for (size_t k = 0; k < count; ++k) base[k] += static_cast<double>(part[k]);
    x += static_cast<int64_t>(some) * step;
    y += static_cast<int64_t>(some) * step;
  }
}

template <typename T, bool kExclusive>
void sumsOf(const T* x, T* y, size_t rows, size_t count, int64_t step) {
  if constexpr (std::is_same_v<T, int64_t>) {
    sumsInPlace<kExclusive>(x, y, rows, count, step);
  } else if constexpr (std::is_same_v<T, float> && !kExclusive) {
    sumsInGroups(x, y, rows, count, step);
  } else {
    if constexpr (std::is_same_v<T, int32_t> && !kExclusive) {
      if (sumsInWords(x, y, rows, count, step)) return;
    }
    sumsBeside<T, kExclusive>(x, y, rows, count, step);
  }
}

template <typename T>
void sums(const void* vx, void* vy, size_t rows, size_t count, int64_t step, bool exclusive) {
  const T* const x = static_cast<const T*>(vx);
  T* const y = static_cast<T*>(vy);
  if (exclusive) return sumsOf<T, true>(x, y, rows, count, step);
  sumsOf<T, false>(x, y, rows, count, step);
}

// Whether a goes before b, which stands further ahead. Without branches.
template <bool kLargest, typename T>
HWY_INLINE bool isBetter(T a, T b) {
  if constexpr (kLargest) return (a > b) | ((a != a) & (b == b));
  return (a < b) | ((b != b) & (a == a));
}

template <typename T, bool kLargest>
void bestOf(const T* HWY_RESTRICT x, size_t rows, size_t count, size_t step, int64_t* HWY_RESTRICT indices) {
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
  return {sums<T>, best<T>, better<T>};
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
