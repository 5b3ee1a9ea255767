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
int64_t line(ProductOperand a, ProductOperand b, size_t depth) {
  const T* const x = static_cast<const T*>(a.at);
  const T* const y = static_cast<const T*>(b.at);
  uint64_t sum = 0;
  if (a.step == 1 && b.step == 1) {
    for (size_t k = 0; k < depth; ++k) sum += product(x[k], y[k]);
  } else {
    for (int64_t k = 0; k < static_cast<int64_t>(depth); ++k) sum += product(x[k * a.step], y[k * b.step]);
  }
  return static_cast<int64_t>(sum);
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

template <typename T>
IntegerProducts of() {
  return {columns<T>, line<T>, store<T>};
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
