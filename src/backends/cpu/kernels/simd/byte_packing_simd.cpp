// How bytes are packed for products: quads of sixteen columns, and rows without signs. Highway wants its headers in
// this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_packing_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/simd/byte_product_simd.h"
#include "core/platform/processor.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace byte_packing {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kQuadBytes = kBytePanel * kByteQuad;  // of a panel

// Sixteen columns that lie side by side, four rows at a time; how many rows were packed. `sums` are those of the
// columns.
int64_t packQuads(const int8_t* HWY_RESTRICT from, int64_t depth, int64_t step, int64_t columns, uint8_t flip,
                  int8_t* HWY_RESTRICT to, int32_t* HWY_RESTRICT sums) {
#if HWY_TARGET == HWY_SCALAR
  return 0;
#else
  if (columns < kBytePanel) return 0;
  const hn::FixedTag<int8_t, kBytePanel> d;
  const hn::Repartition<int16_t, decltype(d)> pairs;
  const auto changed = hn::Set(d, static_cast<int8_t>(flip));
  int64_t k = 0;
  for (; k + kByteQuad <= depth; k += kByteQuad, from += kByteQuad * step, to += kQuadBytes) {
    const auto a = hn::Xor(changed, hn::LoadU(d, from));
    const auto b = hn::Xor(changed, hn::LoadU(d, from + step));
    const auto c = hn::Xor(changed, hn::LoadU(d, from + 2 * step));
    const auto e = hn::Xor(changed, hn::LoadU(d, from + 3 * step));
    const auto lowAb = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto highAb = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto lowCe = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto highCe = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    auto* const quads = reinterpret_cast<int16_t*>(to);
    hn::StoreU(hn::InterleaveLower(pairs, lowAb, lowCe), pairs, quads);
    hn::StoreU(hn::InterleaveUpper(pairs, lowAb, lowCe), pairs, quads + 8);
    hn::StoreU(hn::InterleaveLower(pairs, highAb, highCe), pairs, quads + 16);
    hn::StoreU(hn::InterleaveUpper(pairs, highAb, highCe), pairs, quads + 24);
    const auto value = [&](int64_t at) { return static_cast<int8_t>(static_cast<uint8_t>(from[at]) ^ flip); };
    for (int64_t column = 0; column < kBytePanel; ++column)
      sums[column] += value(column) + value(column + step) + value(column + 2 * step) + value(column + 3 * step);
  }
  return k;
#endif
}

// Four rows of all panels at a time: where rows lie a page apart, their lines share few places of the first cache.
int64_t packPanels(const int8_t* from, int64_t depth, int64_t step, uint8_t flip, int8_t* to, int64_t panelBytes,
                   int32_t* sums) {
  int64_t k = 0;
  for (; k + kByteQuad <= depth; k += kByteQuad, from += kByteQuad * step, to += kQuadBytes) {
    for (int64_t p = 0; p < kBytePanelsTogether; ++p) {
      if (packQuads(from + p * kBytePanel, kByteQuad, step, kBytePanel, flip, to + p * panelBytes,
                    sums + p * kBytePanel) == 0)
        return 0;
    }
  }
  return k;
}

// Adds up the columns of whole quads that are packed.
void sumQuads(const int8_t* HWY_RESTRICT packed, int64_t quads, int32_t* HWY_RESTRICT sums) {
  for (int64_t q = 0; q < quads; ++q, packed += kQuadBytes) {
    for (int64_t c = 0; c < kBytePanel; ++c) {
      const int8_t* const quad = packed + c * kByteQuad;
      sums[c] += quad[0] + quad[1] + quad[2] + quad[3];
    }
  }
}

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3

#define TENON_VNNI __attribute__((target(HWY_TARGET_STR ",avx512vnni")))

TENON_VNNI inline __m512i addQuads(__m512i sums, __m512i quads) {
  const __m512i ones = _mm512_set1_epi8(1);
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(ones), "v"(quads));
  return sums;
}

// Four rows are the quarters of a vector: their parts of four columns come together, then the bytes of each column.
TENON_VNNI int64_t packQuadsVnni(const int8_t* from, int64_t depth, int64_t step, int64_t columns, uint8_t flip,
                                 int8_t* to, int32_t* sums) {
  const auto there = static_cast<__mmask16>((1U << columns) - 1);
  const __m512i parts = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const auto row = [](const int8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const __m512i changed = _mm512_set1_epi8(static_cast<char>(flip));
  __m512i all = _mm512_loadu_si512(sums);
  int64_t k = 0;
  for (; k + kByteQuad <= depth; k += kByteQuad, from += kByteQuad * step, to += kQuadBytes) {
    __m512i rows = _mm512_castsi128_si512(row(from));
    rows = _mm512_inserti32x4(rows, row(from + step), 1);
    rows = _mm512_inserti32x4(rows, row(from + 2 * step), 2);
    rows = _mm512_inserti32x4(rows, row(from + 3 * step), 3);
    const __m512i all16 = _mm512_xor_si512(_mm512_shuffle_epi8(_mm512_permutexvar_epi32(parts, rows), bytes), changed);
    const __m512i quads = _mm512_maskz_mov_epi32(there, all16);
    _mm512_storeu_si512(to, quads);
    all = addQuads(all, quads);
  }
  _mm512_storeu_si512(sums, all);
  return k;
}

// Quads come together in the quarters of vectors, which then change places between the panels.
TENON_VNNI int64_t packPanelsVnni(const int8_t* from, int64_t depth, int64_t step, uint8_t flip, int8_t* to,
                                  int64_t panelBytes, int32_t* sums) {
  static_assert(kBytePanelsTogether == 4);
  const __m512i changed = _mm512_set1_epi8(static_cast<char>(flip));
  const auto row = [&](int64_t r) { return _mm512_xor_si512(_mm512_loadu_si512(from + r * step), changed); };
  __m512i all[4];
  for (int p = 0; p < 4; ++p) all[p] = _mm512_loadu_si512(sums + p * kBytePanel);
  int64_t k = 0;
  for (; k + kByteQuad <= depth; k += kByteQuad, from += kByteQuad * step, to += kQuadBytes) {
    const __m512i a = row(0), b = row(1), c = row(2), e = row(3);
    const __m512i lowAb = _mm512_unpacklo_epi8(a, b), highAb = _mm512_unpackhi_epi8(a, b);
    const __m512i lowCe = _mm512_unpacklo_epi8(c, e), highCe = _mm512_unpackhi_epi8(c, e);
    const __m512i first = _mm512_unpacklo_epi16(lowAb, lowCe), second = _mm512_unpackhi_epi16(lowAb, lowCe);
    const __m512i third = _mm512_unpacklo_epi16(highAb, highCe), fourth = _mm512_unpackhi_epi16(highAb, highCe);
    const __m512i lower01 = _mm512_shuffle_i32x4(first, second, 0x44),
                  upper01 = _mm512_shuffle_i32x4(first, second, 0xee);
    const __m512i lower23 = _mm512_shuffle_i32x4(third, fourth, 0x44),
                  upper23 = _mm512_shuffle_i32x4(third, fourth, 0xee);
    const __m512i quads[4] = {
        _mm512_shuffle_i32x4(lower01, lower23, 0x88), _mm512_shuffle_i32x4(lower01, lower23, 0xdd),
        _mm512_shuffle_i32x4(upper01, upper23, 0x88), _mm512_shuffle_i32x4(upper01, upper23, 0xdd)};
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      _mm512_storeu_si512(to + p * panelBytes, quads[p]);
      all[p] = addQuads(all[p], quads[p]);
    }
  }
  for (int p = 0; p < 4; ++p) _mm512_storeu_si512(sums + p * kBytePanel, all[p]);
  return k;
}

TENON_VNNI void sumQuadsVnni(const int8_t* packed, int64_t quads, int32_t* sums) {
  __m512i all = _mm512_loadu_si512(sums);
  for (int64_t q = 0; q < quads; ++q) all = addQuads(all, _mm512_loadu_si512(packed + q * kQuadBytes));
  _mm512_storeu_si512(sums, all);
}
#undef TENON_VNNI

#endif

// A row of bytes, each with its sign bit changed.
void changeSigns(const int8_t* from, int64_t depth, uint8_t* to) {
  for (int64_t k = 0; k < depth; ++k) to[k] = static_cast<uint8_t>(static_cast<uint8_t>(from[k]) ^ 0x80U);
}

}  // namespace byte_packing

BytePacking findBytePacking() {
#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3
  if (platform::hasVnni())
    return {byte_packing::packQuadsVnni, byte_packing::packPanelsVnni, byte_packing::sumQuadsVnni,
            byte_packing::changeSigns};
#endif
  return {byte_packing::packQuads, byte_packing::packPanels, byte_packing::sumQuads, byte_packing::changeSigns};
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findBytePacking);

const BytePacking& packing() {
  static const BytePacking kPacking = TENON_SIMD_BEST(findBytePacking)();
  return kPacking;
}

struct Panel {
  const int8_t* from;
  int64_t depthStep, columnStep, columns;
  int8_t* to;
  uint8_t flip;
};

// Quads of columns that lie one after another.
void copyQuads(const Panel& panel, int64_t quads) {
  constexpr int64_t kAll = kBytePanel * kByteQuad;
  const uint32_t flip = panel.flip * 0x01010101U;
  for (int64_t c = 0; c < panel.columns; ++c) {
    for (int64_t q = 0; q < quads; ++q) {
      uint32_t quad;
      std::memcpy(&quad, panel.from + c * panel.columnStep + q * kByteQuad, kByteQuad);
      quad ^= flip;
      std::memcpy(panel.to + q * kAll + c * kByteQuad, &quad, kByteQuad);
    }
  }
  const auto rest = static_cast<size_t>((kBytePanel - panel.columns) * kByteQuad);
  for (int64_t q = 0; rest != 0 && q < quads; ++q)
    std::memset(panel.to + q * kAll + panel.columns * kByteQuad, 0, rest);
}

// How many rows have as many bytes behind them in the matrix as a panel is wide.
int64_t wideRows(const Panel& panel, int64_t depth) {
  const int64_t bytes = (depth - 1) * panel.depthStep + panel.columns;
  return bytes < kBytePanel ? 0 : (bytes - kBytePanel) / panel.depthStep + 1;
}

// From a whole quad on, then the sums times a factor.
void packRest(const Panel& panel, int64_t depth, int64_t packed, int32_t factor, int32_t* sums) {
  int8_t* to = panel.to + packed * kBytePanel;
  for (int64_t k = packed; k < byteQuads(depth) * kByteQuad; k += kByteQuad) {
    for (int64_t c = 0; c < kBytePanel; ++c) {
      for (int64_t j = 0; j < kByteQuad; ++j) {
        const bool isThere = k + j < depth && c < panel.columns;
        const auto byte = isThere ? panel.from[(k + j) * panel.depthStep + c * panel.columnStep] : int8_t{0};
        const auto value = static_cast<int8_t>(isThere ? byte ^ static_cast<int8_t>(panel.flip) : 0);
        sums[c] += value;
        *to++ = value;
      }
    }
  }
  for (int64_t c = 0; c < kBytePanel; ++c)
    sums[c] = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) * static_cast<uint32_t>(factor));
  std::memcpy(to, sums, kBytePanel * sizeof(int32_t));
}

}  // namespace

void packBytePanels(const int8_t* from, int64_t depth, int64_t columns, int64_t depthStep, int64_t columnStep,
                    int8_t* to, BytePanelForm form) {
  const uint8_t flip = form.isSigned ? 0 : 0x80;
  int32_t sums[kBytePanelsTogether][kBytePanel] = {};
  const int64_t whole = depth / kByteQuad * kByteQuad;
  const int64_t panelBytes = bytePanelBytes(depth);
  const int64_t full = columnStep == 1 ? columns / kBytePanel : 0;  // panels
  constexpr int64_t kRows = 64;                                     // whose lines stay in the first cache
  int64_t packed = 0;
  if (full == kBytePanelsTogether) packed = packing().packPanels(from, whole, depthStep, flip, to, panelBytes, sums[0]);
  for (int64_t k = 0; k < whole && full < kBytePanelsTogether; k += kRows) {
    const int64_t rows = std::min(kRows, whole - k);
    for (int64_t p = 0; p < full; ++p)
      packed = k + packing().packQuads(from + k * depthStep + p * kBytePanel, rows, depthStep, kBytePanel, flip,
                                       to + p * panelBytes + k * kBytePanel, sums[p]);
    if (packed < k + rows) break;
  }
  for (int64_t p = 0; p < bytePanels(columns); ++p) {
    Panel panel{from + p * kBytePanel * columnStep,
                depthStep,
                columnStep,
                std::min(kBytePanel, columns - p * kBytePanel),
                to + p * panelBytes,
                flip};
    int64_t done = p < full ? packed : 0;
    if (p >= full && depthStep == 1) {
      copyQuads(panel, whole / kByteQuad);
      packing().sumQuads(panel.to, whole / kByteQuad, sums[p]);
      done = whole;
    } else if (p >= full && columnStep == 1) {
      done = packing().packQuads(panel.from, std::min(whole, wideRows(panel, depth)), depthStep, panel.columns, flip,
                                 panel.to, sums[p]);
    }
    packRest(panel, depth, done, form.factor, sums[p]);
  }
}

void changeByteSigns(const void* from, int64_t count, uint8_t* to) {
  packing().changeSigns(static_cast<const int8_t*>(from), count, to);
}

void shiftBytes(const int8_t* from, int64_t depth, int64_t step, uint8_t* to) {
  if (step == 1) {
    packing().changeSigns(from, depth, to);
  } else {
    for (int64_t k = 0; k < depth; ++k) to[k] = static_cast<uint8_t>(from[k * step]) ^ 0x80U;
  }
  for (int64_t k = depth; k < byteQuads(depth) * kByteQuad; ++k) to[k] = 0;
}

}  // namespace tenon::backends::cpu
#endif
