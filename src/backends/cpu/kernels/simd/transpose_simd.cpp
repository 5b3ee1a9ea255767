// Transposes in Highway: written once, compiled per instruction set. Square tiles of whole 16-byte vectors, a cache
// line of them after another, so that whole lines are read; two to four rows that lie close together are interleaved
// instead. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/transpose_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>

#include "backends/cpu/kernels/simd/transpose_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace transposes {

template <typename T>
struct Matrix {
  const T* HWY_RESTRICT from;
  size_t fromStep;
  T* HWY_RESTRICT to;
  size_t toStep;

  void copy(size_t i, size_t j) const { to[j * toStep + i] = from[i * fromStep + j]; }
  void copyAll(size_t i, size_t iEnd, size_t j, size_t jEnd) const {
    for (; j < jEnd; ++j) {
      for (size_t k = i; k < iEnd; ++k) copy(k, j);
    }
  }
};

#if HWY_TARGET != HWY_SCALAR

// Steps are added, not multiplied by the number of a row, and are read once: stores might change them.
template <size_t kRows, typename D, typename T>
HWY_INLINE void loadRows(D d, const T* from, size_t step, hn::Vec<D>* rows) {
  for (size_t r = 0; r < kRows; ++r, from += step) rows[r] = hn::LoadU(d, from);
}

// Rows become columns, within each 16 bytes, when each row is interleaved with the one half the rows further down, as
// often as halves can be taken.
template <size_t kRows, typename D>
HWY_INLINE void turnRows(D d, hn::Vec<D>* a) {
  constexpr size_t kHalf = kRows / 2;
  hn::Vec<D> b[kRows];
  for (size_t width = kRows; width > 1; width /= 2) {
    for (size_t r = 0; r < kHalf; ++r) {
      b[2 * r] = hn::InterleaveLower(d, a[r], a[r + kHalf]);
      b[2 * r + 1] = hn::InterleaveUpper(d, a[r], a[r + kHalf]);
    }
    for (size_t r = 0; r < kRows; ++r) a[r] = b[r];
  }
}

template <size_t kSide, typename T>
HWY_INLINE void tile(const Matrix<T>& m, size_t i, size_t j) {
  const hn::FixedTag<T, kSide> d;
  hn::Vec<decltype(d)> a[kSide];
  loadRows<kSide>(d, m.from + i * m.fromStep + j, m.fromStep, a);
  turnRows<kSide>(d, a);
  T* to = m.to + j * m.toStep + i;
  const size_t step = m.toStep;
  for (size_t r = 0; r < kSide; ++r, to += step) hn::StoreU(a[r], d, to);
}

// Sides of 32 bytes: four tiles of 16 bytes, of which those in the corners change places.
template <typename T>
HWY_INLINE void wideTile(const Matrix<T>& m, size_t i, size_t j) {
  constexpr size_t kSide = 32 / sizeof(T);
  constexpr size_t kHalf = kSide / 2;
  const hn::FixedTag<T, kSide> d;
  hn::Vec<decltype(d)> a[kSide];
  loadRows<kSide>(d, m.from + i * m.fromStep + j, m.fromStep, a);
  turnRows<kHalf>(d, a);
  turnRows<kHalf>(d, a + kHalf);
  T* to = m.to + j * m.toStep + i;
  const size_t step = m.toStep;
  for (size_t r = 0; r < kHalf; ++r, to += step) hn::StoreU(hn::ConcatLowerLower(d, a[r + kHalf], a[r]), d, to);
  for (size_t r = 0; r < kHalf; ++r, to += step) hn::StoreU(hn::ConcatUpperUpper(d, a[r + kHalf], a[r]), d, to);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// Sixteen rows of sixteen words, whole lines of either side: sixteen tiles of 16 bytes, which then change places.
template <typename T>
HWY_INLINE void lineTile(const Matrix<T>& m, size_t i, size_t j) {
  const hn::FixedTag<uint32_t, 16> d;
  using V = hn::Vec<decltype(d)>;
  const auto* from = reinterpret_cast<const uint32_t*>(m.from + i * m.fromStep + j);
  V a[16];
  loadRows<16>(d, from, m.fromStep, a);
  V tiles[4][4];  // block b of tiles[g][c] is column 4 b + c of rows 4 g to 4 g + 3
#pragma GCC unroll 4
  for (size_t g = 0; g < 4; ++g) {
    const V low = hn::InterleaveLower(d, a[4 * g], a[4 * g + 2]);
    const V high = hn::InterleaveUpper(d, a[4 * g], a[4 * g + 2]);
    const V otherLow = hn::InterleaveLower(d, a[4 * g + 1], a[4 * g + 3]);
    const V otherHigh = hn::InterleaveUpper(d, a[4 * g + 1], a[4 * g + 3]);
    tiles[g][0] = hn::InterleaveLower(d, low, otherLow);
    tiles[g][1] = hn::InterleaveUpper(d, low, otherLow);
    tiles[g][2] = hn::InterleaveLower(d, high, otherHigh);
    tiles[g][3] = hn::InterleaveUpper(d, high, otherHigh);
  }
  const size_t step = m.toStep;
  auto* const to = reinterpret_cast<uint32_t*>(m.to + j * step + i);
#pragma GCC unroll 4
  for (size_t c = 0; c < 4; ++c) {
    const auto even = [&](V x, V y) HWY_ATTR { return V{_mm512_shuffle_i64x2(x.raw, y.raw, 0x88)}; };
    const auto odd = [&](V x, V y) HWY_ATTR { return V{_mm512_shuffle_i64x2(x.raw, y.raw, 0xdd)}; };
    const V evenLow = even(tiles[0][c], tiles[1][c]);
    const V evenHigh = even(tiles[2][c], tiles[3][c]);
    const V oddLow = odd(tiles[0][c], tiles[1][c]);
    const V oddHigh = odd(tiles[2][c], tiles[3][c]);
    hn::StoreU(even(evenLow, evenHigh), d, to + c * step);
    hn::StoreU(even(oddLow, oddHigh), d, to + (c + 4) * step);
    hn::StoreU(odd(evenLow, evenHigh), d, to + (c + 8) * step);
    hn::StoreU(odd(oddLow, oddHigh), d, to + (c + 12) * step);
  }
}

template <typename T>
HWY_INLINE bool inLineTiles(const Matrix<T>& m, size_t inner, size_t second) {
  constexpr size_t kSide = 16;
  if constexpr (sizeof(T) == 4) {
    if (std::min(inner, second) < kSide) return false;
    for (size_t j = 0; j < second; j += kSide) {
      for (size_t i = 0; i < inner; i += kSide) lineTile(m, std::min(i, inner - kSide), std::min(j, second - kSide));
    }
    return true;
  }
  return false;
}

#else

template <typename T>
bool inLineTiles(const Matrix<T>&, size_t, size_t) {
  return false;
}

#endif

// Whole lines are read, and stores go on where they were: more pages may be read at a time than written. The last tiles
// of a side share elements with the ones before.
template <size_t kSide, typename T>
void inTiles(const Matrix<T>& m, size_t inner, size_t second) {
  constexpr size_t kLine = std::max(kSide, 64 / sizeof(T));
  for (size_t line = 0; line < second; line += kLine) {
    for (size_t i = 0; i < inner; i += kSide) {
      for (size_t j = line; j < std::min(line + kLine, second); j += kSide) {
        if constexpr (kSide * sizeof(T) == 32 && sizeof(T) >= 4) {
          wideTile(m, std::min(i, inner - kSide), std::min(j, second - kSide));
        } else {
          tile<kSide>(m, std::min(i, inner - kSide), std::min(j, second - kSide));
        }
      }
    }
  }
}

// Where rows of the result lie so far apart that their lines meet in few sets of the first cache: squares whose rows
// are lines are put together elsewhere, and stored line by line.
template <typename T>
HWY_INLINE bool meetInTheCache(const Matrix<T>& m, size_t inner, size_t second) {
  constexpr size_t kSide = 64 / sizeof(T);
  return m.toStep * sizeof(T) % 512 == 0 && inner >= 2 * kSide && second >= 2 * kSide;
}
template <typename T>
void inSquares(const Matrix<T>& m, size_t inner, size_t second) {
  constexpr size_t kSide = 64 / sizeof(T);
  constexpr size_t kTile = 16 / sizeof(T);
  alignas(64) T square[kSide * kSide];
  for (size_t line = 0; line < second; line += kSide) {
    const size_t j = std::min(line, second - kSide);
    for (size_t first = 0; first < inner; first += kSide) {
      const size_t i = std::min(first, inner - kSide);
      const Matrix<T> part{m.from + i * m.fromStep + j, m.fromStep, square, kSide};
      for (size_t r = 0; r < kSide; r += kTile) {
        for (size_t c = 0; c < kSide; c += kTile) tile<kTile>(part, r, c);
      }
      const hn::FixedTag<T, kTile> d;
      T* to = m.to + j * m.toStep + i;
      for (size_t c = 0; c < kSide; ++c, to += m.toStep) {
        for (size_t r = 0; r < kSide; r += kTile) hn::StoreU(hn::Load(d, square + c * kSide + r), d, to + r);
      }
    }
  }
}

// Whole vectors of `count` elements by each(d, place): the widest ones, of 16 bytes what is left, and the last of these
// once more over a part of what stands. Returns where that ends.
template <typename T, typename Each>
HWY_INLINE size_t inVectors(size_t count, Each&& each) {
  const hn::ScalableTag<T> d;
  const hn::FixedTag<T, 16 / sizeof(T)> narrow;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) each(d, i);
  for (; i + hn::Lanes(narrow) <= count; i += hn::Lanes(narrow)) each(narrow, i);
  if (i == count || count < hn::Lanes(narrow)) return i;
  each(narrow, count - hn::Lanes(narrow));
  return count;
}

// Rows become elements beside each other.
template <size_t kRows, typename T>
void interleave(const Matrix<T>& m, size_t count) {
  const size_t done = inVectors<T>(count, [&](auto d, size_t j) HWY_ATTR {
    const auto row = [&](size_t i) HWY_ATTR { return hn::LoadU(d, m.from + i * m.fromStep + j); };
    T* const to = m.to + j * kRows;
    if constexpr (kRows == 2) hn::StoreInterleaved2(row(0), row(1), d, to);
    if constexpr (kRows == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    if constexpr (kRows == 4) hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
  });
  m.copyAll(0, kRows, done, count);
}

// Eight rows of bytes become neighbours of eight.
HWY_INLINE void interleaveEight(const Matrix<uint8_t>& m, size_t count) {
  const hn::FixedTag<uint8_t, 16> d;
  size_t j = 0;
  for (; j + 16 <= count; j += 16) {
    hn::Vec<decltype(d)> a[8];
    loadRows<8>(d, m.from + j, m.fromStep, a);
    turnRows<8>(d, a);
    for (size_t r = 0; r < 8; ++r) hn::StoreU(a[r], d, m.to + j * 8 + r * 16);
  }
  m.copyAll(0, 8, j, count);
}

// Fewer rows than a vector of 16 bytes has elements become elements beside each other: each vector of the result is
// stored whole, and the next one is stored over what it has too much. Returns how many elements of each row it took.
template <typename T>
size_t interleaveSome(const Matrix<T>& m, size_t rows, size_t count) {
  constexpr size_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kSide> d;
  size_t j = 0;
  for (; (j + kSide - 1) * rows + kSide <= count * rows; j += kSide) {
    hn::Vec<decltype(d)> a[kSide];
    for (size_t r = 0; r < kSide; ++r) a[r] = r < rows ? hn::LoadU(d, m.from + r * m.fromStep + j) : hn::Zero(d);
    turnRows<kSide>(d, a);
    for (size_t r = 0; r < kSide; ++r) hn::StoreU(a[r], d, m.to + (j + r) * rows);
  }
  return j;
}

// Elements beside each other become rows.
template <size_t kRows, typename T>
void separate(const Matrix<T>& m, size_t count) {
  const size_t done = inVectors<T>(count, [&](auto d, size_t i) HWY_ATTR {
    const T* const from = m.from + i * kRows;
    hn::Vec<decltype(d)> row[kRows];
    if constexpr (kRows == 2) hn::LoadInterleaved2(d, from, row[0], row[1]);
    if constexpr (kRows == 3) hn::LoadInterleaved3(d, from, row[0], row[1], row[2]);
    if constexpr (kRows == 4) hn::LoadInterleaved4(d, from, row[0], row[1], row[2], row[3]);
    for (size_t j = 0; j < kRows; ++j) hn::StoreU(row[j], d, m.to + j * m.toStep + i);
  });
  m.copyAll(done, count, 0, kRows);
}

// How many elements were copied backwards.
template <typename T>
size_t reverseVectors(const T* HWY_RESTRICT from, T* HWY_RESTRICT to, size_t count) {
  size_t i = 0;
  if constexpr (sizeof(T) == 1) {
    const hn::FixedTag<T, 16> d;
    const auto table = hn::Sub(hn::Set(d, T{15}), hn::Iota(d, 0));
    for (; i + 16 <= count; i += 16) hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, from - i - 15), table), d, to + i);
  } else {
    const hn::ScalableTag<T> d;
    const size_t lanes = hn::Lanes(d);
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Reverse(d, hn::LoadU(d, from - i - (lanes - 1))), d, to + i);
  }
  return i;
}

// Whole vectors of every second, third or fourth element, and backwards; how many were copied. No load reaches beyond
// the last element.
template <typename T>
size_t pickVectors(const T* HWY_RESTRICT from, int64_t step, T* HWY_RESTRICT to, size_t count) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  V first, rest[3];
  if (step == 2) {
    for (; i + lanes < count; i += lanes) {
      hn::LoadInterleaved2(d, from + 2 * i, first, rest[0]);
      hn::StoreU(first, d, to + i);
    }
  } else if (step == 3) {
    for (; i + lanes < count; i += lanes) {
      hn::LoadInterleaved3(d, from + 3 * i, first, rest[0], rest[1]);
      hn::StoreU(first, d, to + i);
    }
  } else if (step == 4) {
    for (; i + lanes < count; i += lanes) {
      hn::LoadInterleaved4(d, from + 4 * i, first, rest[0], rest[1], rest[2]);
      hn::StoreU(first, d, to + i);
    }
  } else if (step == -1) {
    i = reverseVectors(from, to, count);
  } else if (step == 0) {
    const V same = hn::Set(d, *from);
    for (; i + lanes <= count; i += lanes) hn::StoreU(same, d, to + i);
  }
  return i;
}

#endif

template <typename T>
void transpose(const void* from, size_t fromStep, void* to, size_t toStep, size_t inner, size_t second) {
  const Matrix<T> m{static_cast<const T*>(from), fromStep, static_cast<T*>(to), toStep};
#if HWY_TARGET != HWY_SCALAR
  constexpr size_t kSide = 16 / sizeof(T);
  if (toStep == inner && inner == 2) return interleave<2>(m, second);
  if (toStep == inner && inner == 3) return interleave<3>(m, second);
  if (toStep == inner && inner == 4) return interleave<4>(m, second);
  if (fromStep == second && second == 2) return separate<2>(m, inner);
  if (fromStep == second && second == 3) return separate<3>(m, inner);
  if (fromStep == second && second == 4) return separate<4>(m, inner);
  if constexpr (sizeof(T) == 1) {
    if (inner == 8 && toStep == 8) return interleaveEight(m, second);
  }
  if constexpr (kSide >= 8) {
    if (inner > 4 && inner < kSide && toStep == inner) {
      const size_t done = interleaveSome(m, inner, second);
      return m.copyAll(0, inner, done, second);
    }
  }
  if (inLineTiles(m, inner, second)) return;
  if constexpr (sizeof(T) <= 2) {
    if (meetInTheCache(m, inner, second)) return inSquares(m, inner, second);
  }
  const size_t side = std::min(inner, second);
  if constexpr (HWY_TARGET <= HWY_AVX2 && sizeof(T) >= 4) {
    if (side >= 2 * kSide) return inTiles<2 * kSide>(m, inner, second);
  }
  if (side >= kSide) return inTiles<kSide>(m, inner, second);
  if constexpr (kSide >= 8) {
    if (side >= kSide / 2) return inTiles<kSide / 2>(m, inner, second);
  }
#endif
  m.copyAll(0, inner, 0, second);
}

template <typename T>
void pick(const void* vFrom, int64_t step, void* vTo, size_t count) {
  const T* const from = static_cast<const T*>(vFrom);
  T* const to = static_cast<T*>(vTo);
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (count > 0) i = pickVectors(from, step, to, count);
#endif
  for (; i < count; ++i) to[i] = from[static_cast<int64_t>(i) * step];
}

template <typename T>
TransposeFunctions of() {
  return {transpose<T>, pick<T>};
}

}  // namespace transposes

TransposeFunctions findTranspose(size_t elementBytes) {
  switch (elementBytes) {
    case 1: return transposes::of<uint8_t>();
    case 2: return transposes::of<uint16_t>();
    case 4: return transposes::of<uint32_t>();
    case 8: return transposes::of<uint64_t>();
    default: return {};
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findTranspose);

}  // namespace

TransposeFunctions transposeFunctions(size_t elementBytes) { return TENON_SIMD_BEST(findTranspose)(elementBytes); }

}  // namespace tenon::backends::cpu
#endif
