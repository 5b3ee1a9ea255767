// Loops of sums of products of integers: plain ones, of which the compiler makes vectors for each instruction set.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/integer_product_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/integer_product_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace integer_products {

template <typename T>
HWY_INLINE uint64_t product(T a, T b) {
  using U = std::make_unsigned_t<T>;
  return static_cast<uint64_t>(static_cast<int64_t>(static_cast<T>(static_cast<U>(a) * static_cast<U>(b))));
}

// kCount: of the columns, where the compiler may keep their sums in registers.
template <typename T, bool kWalksA, typename Count>
HWY_INLINE void columnsOf(const T* HWY_RESTRICT a, int64_t aStep, const T* HWY_RESTRICT b, int64_t bStep, size_t depth,
                          Count count, int64_t* HWY_RESTRICT sums) {
  uint64_t own[kProductColumns];
  for (size_t j = 0; j < count; ++j) own[j] = static_cast<uint64_t>(sums[j]);
  for (size_t k = 0; k < depth; ++k, a += aStep, b += bStep) {
    for (size_t j = 0; j < count; ++j) own[j] += product(a[kWalksA ? j : 0], b[j]);
  }
  for (size_t j = 0; j < count; ++j) sums[j] = static_cast<int64_t>(own[j]);
}
template <typename T, bool kWalksA>
void anyColumns(const T* a, int64_t aStep, const T* b, int64_t bStep, size_t depth, size_t count, int64_t* sums) {
  using Whole = std::integral_constant<size_t, kProductColumns>;
  if (count == kProductColumns) return columnsOf<T, kWalksA>(a, aStep, b, bStep, depth, Whole(), sums);
  columnsOf<T, kWalksA>(a, aStep, b, bStep, depth, count, sums);
}

template <typename T>
void columns(ProductOperand a, ProductOperand b, size_t depth, size_t count, int64_t* sums) {
  if (b.column == 0) std::swap(a, b);
  const T* const x = static_cast<const T*>(a.at);
  const T* const y = static_cast<const T*>(b.at);
  if (a.column == 0) return anyColumns<T, false>(x, a.step, y, b.step, depth, count, sums);
  anyColumns<T, true>(x, a.step, y, b.step, depth, count, sums);
}

template <typename T>
void store(const int64_t* sums, size_t count, void* to, int64_t step) {
  T* const out = static_cast<T*>(to);
  for (size_t j = 0; j < count; ++j) {
    const int64_t sum = sums[j];
    out[static_cast<int64_t>(j) * step] =
        static_cast<T>(std::clamp<int64_t>(sum, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
}

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::CappedTag<int64_t, kProductColumns>;
template <typename T>
using Narrow = hn::Rebind<T, Wide>;

template <typename T>
HWY_INLINE hn::Vec<Wide> widened(hn::Vec<Narrow<T>> value) {
  if constexpr (sizeof(T) == 8) return value;
  else return hn::PromoteTo(Wide(), value);
}
template <typename T>
HWY_INLINE hn::Vec<Narrow<T>> saturated(hn::Vec<Wide> value) {
  if constexpr (sizeof(T) == 8) {
    return value;
  } else {
    const Wide d;
    value =
        hn::Min(hn::Max(value, hn::Set(d, std::numeric_limits<T>::min())), hn::Set(d, std::numeric_limits<T>::max()));
    const hn::RebindToUnsigned<Wide> bits;
    return hn::BitCast(Narrow<T>(), hn::TruncateTo(hn::RebindToUnsigned<Narrow<T>>(), hn::BitCast(bits, value)));
  }
}

// The first `count` lanes, touching no other memory: below AVX2 Highway's masks do touch it, and AVX2's masked stores
// are slow on processors of AMD.
template <typename T>
HWY_INLINE hn::Vec<Narrow<T>> loadSome(const T* from, size_t count) {
  const Narrow<T> d;
  if constexpr (HWY_TARGET <= HWY_AVX2) return hn::MaskedLoad(hn::FirstN(d, count), d, from);
  HWY_ALIGN T buffer[kProductColumns] = {};
  std::copy_n(from, count, buffer);
  return hn::Load(d, buffer);
}
// Lines of a few elements, so many that the compiler knows it.
template <typename T, size_t kDepth>
void tinyLines(const T* x, int64_t xColumn, const T* y, int64_t yColumn, size_t count, int64_t* sums) {
  for (size_t j = 0; j < count; ++j, x += xColumn, y += yColumn) {
    auto sum = static_cast<uint64_t>(sums[j]);
    for (size_t k = 0; k < kDepth; ++k) sum += product(x[k], y[k]);
    sums[j] = static_cast<int64_t>(sum);
  }
}
template <typename T>
HWY_INLINE int64_t lineOf(const T* x, const T* y, size_t depth) {
  const Wide wide;
  const Narrow<T> d;
  const size_t lanes = hn::Lanes(wide);
  auto sum = hn::Zero(wide);
  size_t k = 0;
  for (; k + lanes <= depth; k += lanes)
    sum = hn::Add(sum, widened<T>(hn::Mul(hn::LoadU(d, x + k), hn::LoadU(d, y + k))));
  if (k < depth) sum = hn::Add(sum, widened<T>(hn::Mul(loadSome<T>(x + k, depth - k), loadSome<T>(y + k, depth - k))));
  return hn::GetLane(hn::SumOfLanes(wide, sum));
}
template <typename T>
void lines(ProductOperand a, ProductOperand b, size_t depth, size_t count, int64_t* sums) {
  const T* x = static_cast<const T*>(a.at);
  const T* y = static_cast<const T*>(b.at);
  if (a.step == 1 && b.step == 1) {
    switch (depth) {
      case 1: return tinyLines<T, 1>(x, a.column, y, b.column, count, sums);
      case 2: return tinyLines<T, 2>(x, a.column, y, b.column, count, sums);
      case 3: return tinyLines<T, 3>(x, a.column, y, b.column, count, sums);
      case 4: return tinyLines<T, 4>(x, a.column, y, b.column, count, sums);
      default: break;
    }
  }
  for (size_t j = 0; j < count; ++j, x += a.column, y += b.column) {
    uint64_t sum = 0;
    if (a.step == 1 && b.step == 1) {
      sum = static_cast<uint64_t>(lineOf(x, y, depth));
    } else {
      for (int64_t k = 0; k < static_cast<int64_t>(depth); ++k) sum += product(x[k * a.step], y[k * b.step]);
    }
    sums[j] = static_cast<int64_t>(static_cast<uint64_t>(sums[j]) + sum);
  }
}

template <typename T>
HWY_INLINE void storeSome(hn::Vec<Narrow<T>> value, size_t count, T* to) {
  const Narrow<T> d;
  if constexpr (HWY_TARGET <= HWY_AVX3) {
    hn::BlendedStore(value, hn::FirstN(d, count), d, to);
  } else {
    HWY_ALIGN T buffer[kProductColumns];
    hn::Store(value, d, buffer);
    std::copy_n(buffer, count, to);
  }
}

// kRows rows by kVectors vectors of columns from `column` on, of which the last has `last`.
template <typename T, int kRows, int kVectors>
HWY_INLINE void tileOf(const ProductTile& tile, size_t row, size_t column, size_t last) {
  const Wide wide;
  const Narrow<T> narrow;
  const size_t lanes = hn::Lanes(wide);
  const bool isWhole = last == lanes;
  const T* const a = static_cast<const T*>(tile.a) + static_cast<int64_t>(row) * tile.aRow;
  const T* b = static_cast<const T*>(tile.b) + column;
  int64_t* const sums = tile.sums == nullptr ? nullptr : tile.sums + row * kProductColumns + column;
  hn::Vec<Wide> own[kRows][kVectors];
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v)
      own[r][v] = tile.goesOn ? hn::LoadU(wide, sums + r * kProductColumns + v * lanes) : hn::Zero(wide);
  }
  for (int64_t k = 0; k < static_cast<int64_t>(tile.depth); ++k, b += tile.bStep) {
    hn::Vec<Narrow<T>> values[kVectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v)
      values[v] = v + 1 < kVectors || isWhole ? hn::LoadU(narrow, b + v * lanes) : loadSome<T>(b + v * lanes, last);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const auto factor = hn::Set(narrow, a[r * tile.aRow + k * tile.aStep]);
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) own[r][v] = hn::Add(own[r][v], widened<T>(hn::Mul(factor, values[v])));
    }
  }
  T* const out = static_cast<T*>(tile.out) + static_cast<int64_t>(row) * tile.outRow + column;
#pragma GCC unroll 4
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      if (tile.out == nullptr) {
        hn::StoreU(own[r][v], wide, sums + r * kProductColumns + v * lanes);
        continue;
      }
      T* const to = out + static_cast<int64_t>(r) * tile.outRow + v * lanes;
      const auto result = saturated<T>(own[r][v]);
      if (v + 1 < kVectors || isWhole) {
        hn::StoreU(result, narrow, to);
      } else {
        storeSome<T>(result, last, to);
      }
    }
  }
}

template <typename T, int kVectors>
HWY_INLINE void rowsOf(const ProductTile& tile, size_t column, size_t last) {
  constexpr int kRows = 4;
  size_t row = 0;
  for (; row + kRows <= tile.rows; row += kRows) tileOf<T, kRows, kVectors>(tile, row, column, last);
  for (; row < tile.rows; ++row) tileOf<T, 1, kVectors>(tile, row, column, last);
}

template <typename T>
void tile(const ProductTile& tile) {
  constexpr size_t kMost = HWY_TARGET <= HWY_AVX3 ? 4 : 2;  // vectors for whose sums there are registers
  const size_t lanes = hn::Lanes(Wide());
  for (size_t column = 0; column < tile.count;) {
    const size_t vectors = std::min(kMost, (tile.count - column + lanes - 1) / lanes);
    const size_t last = std::min(lanes, tile.count - column - (vectors - 1) * lanes);
    if (vectors == 4) rowsOf<T, 4>(tile, column, last);
    if (vectors == 3) rowsOf<T, 3>(tile, column, last);
    if (vectors == 2) rowsOf<T, 2>(tile, column, last);
    if (vectors == 1) rowsOf<T, 1>(tile, column, last);
    column += vectors * lanes;
  }
}

template <typename T>
IntegerProducts of() {
  return {columns<T>, lines<T>, tile<T>, store<T>};
}

}  // namespace integer_products

IntegerProducts findIntegerProducts(DataType type) {
  if (type == DataType::kI32) return integer_products::of<int32_t>();
  return type == DataType::kI64 ? integer_products::of<int64_t>() : IntegerProducts();
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findIntegerProducts);

}  // namespace

IntegerProducts integerProducts(DataType type) { return TENON_SIMD_BEST(findIntegerProducts)(type); }

}  // namespace tenon::backends::cpu
#endif
