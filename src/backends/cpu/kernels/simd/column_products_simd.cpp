// Sums of products of f32 side by side: a few vectors of sums stay in registers while rows pass by. Highway wants its
// headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/column_products_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "backends/cpu/kernels/simd/column_products_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace column_products {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V rowOf(const FloatOperand& operand, size_t row, size_t column) {
  const float* const from = operand.at + static_cast<int64_t>(row) * operand.step;
  return operand.isRow ? hn::LoadU(D(), from + column) : hn::Set(D(), *from);
}

template <size_t kVectors>
HWY_INLINE void vectors(const FloatOperand& a, const FloatOperand& b, size_t rows, size_t column, double* totals) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  V sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < kVectors; ++v)
      sums[v] = hn::MulAdd(rowOf(a, r, column + v * lanes), rowOf(b, r, column + v * lanes), sums[v]);
  }
  HWY_ALIGN float stored[kVectors * HWY_MAX_BYTES / sizeof(float)];
  for (size_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d, stored + v * lanes);
  for (size_t i = 0; i < kVectors * lanes; ++i) totals[column + i] += static_cast<double>(stored[i]);
}

void add(FloatOperand a, FloatOperand b, size_t rows, size_t count, double* totals) {
  constexpr size_t kRows = 32;
  constexpr size_t kVectors = 4;
  const size_t lanes = hn::Lanes(D());
  while (rows > 0) {
    const size_t some = std::min(rows, kRows);
    size_t i = 0;
    for (; i + kVectors * lanes <= count; i += kVectors * lanes) vectors<kVectors>(a, b, some, i, totals);
    for (; i + lanes <= count; i += lanes) vectors<1>(a, b, some, i, totals);
    for (; i < count; ++i) {
      float sum = 0;
      for (int64_t r = 0; r < static_cast<int64_t>(some); ++r)
        sum += a.at[r * a.step + (a.isRow ? static_cast<int64_t>(i) : 0)] *
               b.at[r * b.step + (b.isRow ? static_cast<int64_t>(i) : 0)];
      totals[i] += static_cast<double>(sum);
    }
    a.at += static_cast<int64_t>(some) * a.step;
    b.at += static_cast<int64_t>(some) * b.step;
    rows -= some;
  }
}

}  // namespace column_products

AddProducts findAddProducts() { return column_products::add; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findAddProducts);

}  // namespace

AddProducts addProducts() { return TENON_SIMD_BEST(findAddProducts)(); }

}  // namespace tenon::backends::cpu
#endif
