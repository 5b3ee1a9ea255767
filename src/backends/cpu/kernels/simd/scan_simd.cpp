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

// The row before has the sums.
template <bool kExclusive>
void sumsInPlace(const int64_t* HWY_RESTRICT x, int64_t* HWY_RESTRICT y, size_t rows, size_t count, int64_t step) {
  for (size_t i = 0; i < count; ++i) y[i] = kExclusive ? 0 : x[i];
  for (size_t r = 1; r < rows; ++r, x += step, y += step) {
    const int64_t* HWY_RESTRICT from = kExclusive ? x : x + step;
    const int64_t* HWY_RESTRICT before = y;
    int64_t* HWY_RESTRICT to = y + step;
    for (size_t i = 0; i < count; ++i) to[i] = plus(before[i], from[i]);
  }
}

// The same in 32 bits; false where a sum has more, and y is of no use.
bool sumsInWords(const int32_t* HWY_RESTRICT x, int32_t* HWY_RESTRICT y, size_t rows, size_t count, int64_t step) {
  uint32_t overflows[kScanColumns] = {};
  std::copy_n(x, count, y);
  for (size_t r = 1; r < rows; ++r, y += step) {
    x += step;
    const int32_t* HWY_RESTRICT before = y;
    int32_t* HWY_RESTRICT to = y + step;
    for (size_t i = 0; i < count; ++i) {
      const auto a = static_cast<uint32_t>(before[i]);
      const auto b = static_cast<uint32_t>(x[i]);
      const uint32_t sum = a + b;
      overflows[i] |= (a ^ sum) & (b ^ sum);
      to[i] = static_cast<int32_t>(sum);
    }
  }
  uint32_t any = 0;
  for (size_t i = 0; i < count; ++i) any |= overflows[i];
  return (any >> 31) == 0;
}

// Some rows in f32, from a sum in double.
void sumsInGroups(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, size_t rows, size_t count, int64_t step) {
  constexpr size_t kGroup = 8;
  double base[kScanColumns] = {};
  float part[kScanColumns];
  for (size_t r = 0; r < rows;) {
    for (size_t i = 0; i < count; ++i) {
      y[i] = static_cast<float>(base[i] + static_cast<double>(x[i]));
      part[i] = x[i];
    }
    const size_t end = std::min(rows, r + kGroup);
    for (++r; r < end; ++r, y += step) {
      x += step;
      const float* HWY_RESTRICT before = y;
      float* HWY_RESTRICT to = y + step;
      for (size_t i = 0; i < count; ++i) {
        to[i] = before[i] + x[i];
        part[i] += x[i];
      }
    }
    for (size_t i = 0; i < count; ++i) base[i] += static_cast<double>(part[i]);
    x += step;
    y += step;
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
