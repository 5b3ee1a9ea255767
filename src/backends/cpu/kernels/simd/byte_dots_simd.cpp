// Rows of bytes by a few columns, along the depth. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_dots_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>

#include "backends/cpu/kernels/simd/byte_dots_simd.h"
#include "core/platform/processor.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace byte_dots {

namespace hn = hwy::HWY_NAMESPACE;

// Bytes are widened to 16 bits, of which pairs are multiplied and added: exact.
template <int kColumns>
void widened(const ByteDots& t) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  const hn::Rebind<uint8_t, decltype(d16)> bytes;
  const hn::RebindToSigned<decltype(bytes)> signedBytes;
  const auto kStep = static_cast<int64_t>(hn::Lanes(d16));
  const auto flip = hn::Set(bytes, t.flip);
#endif
  for (int64_t r = 0; r < t.count; ++r) {
    const uint8_t* const row = t.rows + r * t.rowStep;
    int64_t k = 0;
    uint32_t result[kColumns] = {};
#if HWY_TARGET != HWY_SCALAR
    hn::Vec<decltype(d)> sums[kColumns], others[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) sums[c] = others[c] = hn::Zero(d);
    for (; k + kStep <= t.depth; k += kStep) {
      const auto a = hn::PromoteTo(d16, hn::Xor(flip, hn::LoadU(bytes, row + k)));
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) {
        const auto b = hn::PromoteTo(d16, hn::LoadU(signedBytes, t.filled + c * t.filledStep + k));
        sums[c] = hn::ReorderWidenMulAccumulate(d, a, b, sums[c], others[c]);
      }
    }
    for (int c = 0; c < kColumns; ++c)
      result[c] = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sums[c], others[c]))));
#endif
    for (; k < t.depth; ++k) {
      for (int c = 0; c < kColumns; ++c)
        result[c] += static_cast<uint32_t>((row[k] ^ t.flip) * t.filled[c * t.filledStep + k]);
    }
    std::memcpy(t.sums + r * kColumns, result, sizeof(result));
  }
}

using Columns = void (*)(const ByteDots&);

void dots(const ByteDots& t) {
  constexpr Columns kOf[kMostDotColumns] = {widened<1>, widened<2>, widened<3>, widened<4>};
  kOf[t.columns - 1](t);
}

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3

#define TENON_VNNI __attribute__((target(HWY_TARGET_STR ",avx512vnni")))

// Written out, as in byte_product_simd.cpp.
TENON_VNNI inline void addProducts(__m512i& sums, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
}

// Several rows at a time, since sums wait for themselves.
template <int kRows, int kColumns>
TENON_VNNI inline void rowsByColumns(const ByteDots& t, int64_t first) {
  const uint8_t* const rows = t.rows + first * t.rowStep;
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  __m512i sums[kRows][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) sums[r][c] = _mm512_setzero_si512();
  }
  for (int64_t k = 0; k < t.depth; k += kDotBytes) {
    const auto there = t.depth - k >= kDotBytes ? ~__mmask64{0} : (__mmask64{1} << (t.depth - k)) - 1;
    __m512i b[kColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) b[c] = _mm512_loadu_si512(t.filled + c * t.filledStep + k);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512i a = _mm512_xor_si512(flip, _mm512_maskz_loadu_epi8(there, rows + r * t.rowStep + k));
#pragma GCC unroll 4
      for (int c = 0; c < kColumns; ++c) addProducts(sums[r][c], a, b[c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kColumns; ++c) t.sums[(first + r) * kColumns + c] = _mm512_reduce_add_epi32(sums[r][c]);
  }
}

template <int kColumns>
TENON_VNNI void vnniRows(const ByteDots& t) {
  int64_t r = 0;
  for (; r + 4 <= t.count; r += 4) rowsByColumns<4, kColumns>(t, r);
  for (; r < t.count; ++r) rowsByColumns<1, kColumns>(t, r);
}

TENON_VNNI void vnniDots(const ByteDots& t) {
  constexpr Columns kOf[kMostDotColumns] = {vnniRows<1>, vnniRows<2>, vnniRows<3>, vnniRows<4>};
  kOf[t.columns - 1](t);
}
#undef TENON_VNNI

ByteDotsFunction best() { return platform::hasVnni() ? vnniDots : dots; }

#else

ByteDotsFunction best() { return dots; }

#endif

}  // namespace byte_dots

ByteDotsFunction findByteDots() { return byte_dots::best(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findByteDots);

}  // namespace

ByteDotsFunction byteDotsFunction() {
  static const ByteDotsFunction kFunction = TENON_SIMD_BEST(findByteDots)();
  return kFunction;
}

}  // namespace tenon::backends::cpu
#endif
