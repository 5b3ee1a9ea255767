// Tiles of products of bytes. With AVX512-VNNI one instruction multiplies and adds four pairs of bytes per column; else
// bytes are widened to 16 bits, of which pairs are multiplied and added. Both are exact. The left matrix is unsigned
// for the sake of the first; 128 times the sums of the columns are taken away again. Highway wants its headers in this
// order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_product_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>

#include "backends/cpu/kernels/simd/byte_finish_simd.h"
#include "backends/cpu/kernels/simd/byte_product_simd.h"
#include "core/platform/processor.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace byte_product {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kQuadBytes = kBytePanel * kByteQuad;  // of a panel

HWY_INLINE uint32_t quadOf(const uint8_t* a) {
  uint32_t quad;
  std::memcpy(&quad, a, sizeof(quad));
  return quad;
}

// `panelEnd` is where what is taken away from the sums stands.
HWY_INLINE void store(const int32_t* sums, const int8_t* panelEnd, int64_t width, int32_t* out) {
  const auto* const columns = reinterpret_cast<const int32_t*>(panelEnd);
  for (int64_t c = 0; c < width; ++c) out[c] = sums[c] - columns[c];
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// Up to four rows by one panel.
template <int kRows>
void widened(const ByteTile& t, int first, const int8_t* panel, int64_t width, int32_t* out) {
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> d16;
  constexpr int kVectors = static_cast<int>(kBytePanel / HWY_LANES(int32_t));
  hn::Vec<decltype(d)> sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const hn::RebindToUnsigned<decltype(d16)> unsigned16;
  const auto lowBytes = hn::Set(d16, int16_t{0xff});
  auto rest = hn::Zero(d);  // stays zero: this architecture adds neighbours into the first sum
  const int8_t* next = panel;
  const auto addQuad = [&](int64_t at) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const auto* const from = reinterpret_cast<const int16_t*>(next) + 2 * v * HWY_LANES(int32_t);
      const auto pairs = hn::LoadU(d16, from);
      const auto even = hn::ShiftRight<8>(hn::ShiftLeft<8>(pairs));
      const auto odd = hn::ShiftRight<8>(pairs);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const auto quad = hn::BitCast(d16, hn::Set(d, static_cast<int32_t>(quadOf(t.rows[first + r] + at))));
        const auto evenA = hn::And(quad, lowBytes);
        const auto oddA = hn::ShiftRight<8>(hn::BitCast(unsigned16, quad));
        sums[r][v] = hn::ReorderWidenMulAccumulate(d, evenA, even, sums[r][v], rest);
        sums[r][v] = hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, oddA), odd, sums[r][v], rest);
      }
    }
  };
  for (int64_t tap = 0; tap < t.tapCount; ++tap) {
    for (int64_t q = 0; q < t.quads; ++q, next += kQuadBytes) addQuad(t.taps[tap] + q * kByteQuad);
  }
  alignas(64) int32_t line[kBytePanel];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, line + v * HWY_LANES(int32_t));
    store(line, next, width, out + r * t.outStep);
  }
}

#else

template <int kRows>
void widened(const ByteTile& t, int first, const int8_t* panel, int64_t width, int32_t* out) {
  for (int r = 0; r < kRows; ++r) {
    int32_t sums[kBytePanel] = {};
    const int8_t* b = panel;
    for (int64_t tap = 0; tap < t.tapCount; ++tap) {
      const uint8_t* const row = t.rows[first + r] + t.taps[tap];
      for (int64_t q = 0; q < t.quads; ++q, b += kQuadBytes) {
        for (int64_t c = 0; c < kBytePanel; ++c) {
          for (int64_t k = 0; k < kByteQuad; ++k)
            sums[c] += static_cast<int32_t>(row[q * kByteQuad + k]) * b[c * kByteQuad + k];
        }
      }
    }
    store(sums, b, width, out + r * t.outStep);
  }
}

#endif

// Four rows by one panel at a time.
template <typename Four, typename One>
HWY_INLINE void eachPanel(const ByteTile& t, Four four, One one) {
  for (int p = 0; p < t.panelCount; ++p) {
    const int8_t* const panel = t.panels + p * t.panelStep;
    const int64_t width = t.width - p * kBytePanel < kBytePanel ? t.width - p * kBytePanel : kBytePanel;
    int32_t* const out = t.out + p * kBytePanel;
    int r = 0;
    for (; r + 4 <= t.rowCount; r += 4) four(t, r, panel, width, out + r * t.outStep);
    for (; r < t.rowCount; ++r) one(t, r, panel, width, out + r * t.outStep);
  }
}

void tile(const ByteTile& t) { eachPanel(t, widened<4>, widened<1>); }

#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX3

#define TENON_VNNI __attribute__((target(HWY_TARGET_STR ",avx512vnni")))

TENON_VNNI inline void storeVnni(__m512i sums, const int8_t* panelEnd, int64_t width, int32_t* out) {
  const auto mask = static_cast<__mmask16>(width >= kBytePanel ? 0xffffU : (1U << width) - 1);
  _mm512_mask_storeu_epi32(out, mask, _mm512_sub_epi32(sums, _mm512_loadu_si512(panelEnd)));
}

// Written out, because GCC copies every sum before and after its intrinsic changes it.
TENON_VNNI inline void addProducts(__m512i& sums, __m512i a, __m512i b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
}

// Sums that wait for each other take four or five cycles a step, in which a processor could do eight of them: few rows
// have sums of their own for each of several quads.
template <int kRows, int kPanels>
constexpr int kQuadsTogether = kRows* kPanels <= 1   ? 8
                               : kRows* kPanels <= 2 ? 4
                               : kRows* kPanels <= 4 ? 2
                                                     : 1;

template <int kRows, int kPanels>
TENON_VNNI inline __attribute__((always_inline)) const int8_t* quadSums(const ByteTile& t,
                                                                        __m512i (&sums)[kRows][kPanels]) {
  constexpr int kQuads = kQuadsTogether<kRows, kPanels>;
  const int64_t step = t.panelStep;
  const int8_t* panel = t.panels;
  const uint8_t* rows[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) rows[r] = t.rows[r];
  __m512i parts[kQuads][kRows][kPanels];
#pragma GCC unroll 8
  for (int q = 0; q < kQuads; ++q) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) parts[q][r][p] = _mm512_setzero_si512();
    }
  }
  const auto add = [&](int64_t at, __m512i(&to)[kRows][kPanels])
      __attribute__((always_inline, target(HWY_TARGET_STR ",avx512vnni"))) {
    __m512i b[kPanels];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) b[p] = _mm512_loadu_si512(panel + p * step);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512i a = _mm512_set1_epi32(static_cast<int32_t>(quadOf(rows[r] + at)));
#pragma GCC unroll 2
      for (int p = 0; p < kPanels; ++p) addProducts(to[r][p], a, b[p]);
    }
    panel += kQuadBytes;
  };
  for (int64_t tap = 0; tap < t.tapCount; ++tap) {
    int64_t at = t.taps[tap];
    const int64_t end = at + t.quads * kByteQuad;
    for (; kQuads > 1 && at + kQuads * kByteQuad <= end; at += kQuads * kByteQuad) {
#pragma GCC unroll 8
      for (int q = 0; q < kQuads; ++q) add(at + q * kByteQuad, parts[q]);
    }
    for (; at < end; at += kByteQuad) add(at, parts[0]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      sums[r][p] = parts[0][r][p];
#pragma GCC unroll 8
      for (int q = 1; q < kQuads; ++q) sums[r][p] = _mm512_add_epi32(sums[r][p], parts[q][r][p]);
    }
  }
  return panel;
}

template <int kRows, int kPanels>
TENON_VNNI void quadTile(const ByteTile& t) {
  __m512i sums[kRows][kPanels];
  const int8_t* const end = quadSums<kRows, kPanels>(t, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p)
      storeVnni(sums[r][p], end + p * t.panelStep, t.width - p * kBytePanel, t.out + r * t.outStep + p * kBytePanel);
  }
}

// Sums, or real numbers made of them, as they are.
template <int kRows, int kPanels, bool kReal>
TENON_VNNI void wideTile(const ByteTile& t, const ByteColumns& columns, void* out, int64_t outStep) {
  __m512i sums[kRows][kPanels];
  quadSums<kRows, kPanels>(t, sums);
#pragma GCC unroll 2
  for (int p = 0; p < kPanels; ++p) {
    const int64_t width = t.width - p * kBytePanel;
    const auto mask = static_cast<__mmask16>(width >= kBytePanel ? 0xffffU : (1U << width) - 1);
    const __m512i added = _mm512_loadu_si512(columns.added + p * kBytePanel);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512i sum = _mm512_add_epi32(sums[r][p], added);
      const int64_t at = r * outStep + p * kBytePanel;
      if constexpr (kReal) {
        const __m512 real = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(columns.scales + p * kBytePanel),
                                            _mm512_loadu_ps(columns.biases + p * kBytePanel));
        _mm512_mask_storeu_ps(static_cast<float*>(out) + at, mask, real);
      } else {
        _mm512_mask_storeu_epi32(static_cast<int32_t*>(out) + at, mask, sum);
      }
    }
  }
}

// Two rows at a time, whose bytes are ordered together.
template <int kRows, bool kSigned>
TENON_VNNI void finishedTile(const ByteTile& t, const ByteColumns& columns, void* out, int64_t outStep) {
  __m512i sums[kRows][2];
  quadSums<kRows, 2>(t, sums);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512 bound = _mm512_set1_ps(1024);  // beyond it all results saturate, whatever the zero point
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(columns.zero));
  const __m512i low = _mm512_set1_epi8(static_cast<char>(columns.low));
  __m512i added[2];
  __m512 scales[2], biases[2];
  for (int p = 0; p < 2; ++p) {
    added[p] = _mm512_loadu_si512(columns.added + p * kBytePanel);
    scales[p] = _mm512_loadu_ps(columns.scales + p * kBytePanel);
    biases[p] = _mm512_loadu_ps(columns.biases + p * kBytePanel);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; r += 2) {
    const int next = r + 1 < kRows ? r + 1 : r;
    __m512i half[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      __m512i whole[2];
#pragma GCC unroll 2
      for (int p = 0; p < 2; ++p) {
        const __m512i sum = _mm512_add_epi32(sums[i == 0 ? r : next][p], added[p]);
        whole[p] =
            _mm512_cvtps_epi32(_mm512_min_ps(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scales[p], biases[p]), bound));
      }
      half[i] = _mm512_adds_epi16(_mm512_packs_epi32(whole[0], whole[1]), zero);
    }
    const __m512i both = kSigned ? _mm512_max_epi8(_mm512_packs_epi16(half[0], half[1]), low)
                                 : _mm512_max_epu8(_mm512_packus_epi16(half[0], half[1]), low);
    const __m512i result = _mm512_permutexvar_epi32(order, both);
    auto* const to = static_cast<char*>(out);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + r * outStep), _mm512_castsi512_si256(result));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + next * outStep), _mm512_extracti64x4_epi64(result, 1));
  }
}

using Finished = void (*)(const ByteTile& t, const ByteColumns& columns, void* out, int64_t outStep);

template <bool kSigned>
constexpr Finished kByteTiles[] = {finishedTile<1, kSigned>, finishedTile<2, kSigned>, finishedTile<3, kSigned>,
                                   finishedTile<4, kSigned>, finishedTile<5, kSigned>, finishedTile<6, kSigned>,
                                   finishedTile<7, kSigned>, finishedTile<8, kSigned>};
template <int kPanels, bool kReal>
constexpr Finished kWideTiles[] = {
    wideTile<1, kPanels, kReal>, wideTile<2, kPanels, kReal>, wideTile<3, kPanels, kReal>, wideTile<4, kPanels, kReal>,
    wideTile<5, kPanels, kReal>, wideTile<6, kPanels, kReal>, wideTile<7, kPanels, kReal>, wideTile<8, kPanels, kReal>};

void vnniFinish(const ByteTile& t, const ByteColumns& columns, DataType type, void* out, int64_t outStep) {
  const bool isOne = t.panelCount == 1;
  const Finished* const tiles = type == DataType::kI8    ? kByteTiles<true>
                                : type == DataType::kU8  ? kByteTiles<false>
                                : type == DataType::kF32 ? (isOne ? kWideTiles<1, true> : kWideTiles<2, true>)
                                                         : (isOne ? kWideTiles<1, false> : kWideTiles<2, false>);
  tiles[t.rowCount - 1](t, columns, out, outStep);
}

template <int kPanels>
TENON_VNNI void quadRows(const ByteTile& t) {
  switch (t.rowCount) {
    case 1: return quadTile<1, kPanels>(t);
    case 2: return quadTile<2, kPanels>(t);
    case 3: return quadTile<3, kPanels>(t);
    case 4: return quadTile<4, kPanels>(t);
    case 5: return quadTile<5, kPanels>(t);
    case 6: return quadTile<6, kPanels>(t);
    case 7: return quadTile<7, kPanels>(t);
    default: return quadTile<8, kPanels>(t);
  }
}

TENON_VNNI void vnniTile(const ByteTile& t) { t.panelCount == 2 ? quadRows<2>(t) : quadRows<1>(t); }
#undef TENON_VNNI

ByteTileFunction best() { return platform::hasVnni() ? vnniTile : tile; }
ByteTileFinish bestFinish() { return platform::hasVnni() ? vnniFinish : nullptr; }

#elif HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2

// The same instruction for vectors of 32 bytes, which processors without AVX-512 may have: up to four rows by one
// panel, a single row by four quads at a time, for the same reason.
template <int kRows>
void quadTile(const ByteTile& t, int first, const int8_t* panel, int64_t width, int32_t* out) {
  constexpr int kVectors = 2;
  constexpr int kQuads = kRows == 1 ? 4 : 1;
  __m256i sums[kQuads][kRows][kVectors];
#pragma GCC unroll 4
  for (int q = 0; q < kQuads; ++q) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      for (auto& sum : sums[q][r]) sum = _mm256_setzero_si256();
    }
  }
  const int8_t* from = panel;
  const auto add = [&](int64_t at, __m256i(&to)[kRows][kVectors]) __attribute__((always_inline)) {
    const __m256i left = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i right = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + kQuadBytes / 2));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m256i quad = _mm256_set1_epi32(static_cast<int32_t>(quadOf(t.rows[first + r] + at)));
      asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(to[r][0]) : "x"(quad), "x"(left));
      asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(to[r][1]) : "x"(quad), "x"(right));
    }
    from += kQuadBytes;
  };
  for (int64_t tap = 0; tap < t.tapCount; ++tap) {
    int64_t at = t.taps[tap];
    const int64_t end = at + t.quads * kByteQuad;
    for (; kQuads > 1 && at + kQuads * kByteQuad <= end; at += kQuads * kByteQuad) {
#pragma GCC unroll 4
      for (int q = 0; q < kQuads; ++q) add(at + q * kByteQuad, sums[q]);
    }
    for (; at < end; at += kByteQuad) add(at, sums[0]);
  }
  alignas(64) int32_t line[kBytePanel];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      __m256i sum = sums[0][r][v];
#pragma GCC unroll 4
      for (int q = 1; q < kQuads; ++q) sum = _mm256_add_epi32(sum, sums[q][r][v]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(line) + v, sum);
    }
    store(line, from, width, out + r * t.outStep);
  }
}

void vnniTile(const ByteTile& t) { eachPanel(t, quadTile<4>, quadTile<1>); }

ByteTileFunction best() { return platform::hasNarrowVnni() ? vnniTile : tile; }
ByteTileFinish bestFinish() { return nullptr; }

#else

ByteTileFunction best() { return tile; }
ByteTileFinish bestFinish() { return nullptr; }

#endif

}  // namespace byte_product

ByteTileFunction findByteTile() { return byte_product::best(); }
ByteTileFinish findByteTileFinish() { return byte_product::bestFinish(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findByteTile);
TENON_SIMD_TABLE(findByteTileFinish);

}  // namespace

ByteTileFunction byteTileFunction() { return TENON_SIMD_BEST(findByteTile)(); }
ByteTileFinish byteTileFinish() { return TENON_SIMD_BEST(findByteTileFinish)(); }

}  // namespace tenon::backends::cpu
#endif
