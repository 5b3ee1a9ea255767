// Transposes in Highway: written once, compiled per instruction set. Tiles of 4 x 4 words, sixteen columns of four rows
// after another, so that whole cache lines are read; two to four rows that lie close together are interleaved instead.
// Highway wants its headers in this order.
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

constexpr size_t kSide = 4;   // of a tile
constexpr size_t kLine = 16;  // words of a cache line

struct Matrix {
  const uint32_t* HWY_RESTRICT from;
  size_t fromStep;
  uint32_t* HWY_RESTRICT to;
  size_t toStep;

  void copy(size_t i, size_t j) const { to[j * toStep + i] = from[i * fromStep + j]; }
  void copyAll(size_t i, size_t iEnd, size_t j, size_t jEnd) const {
    for (; j < jEnd; ++j) {
      for (size_t k = i; k < iEnd; ++k) copy(k, j);
    }
  }
};

#if HWY_TARGET != HWY_SCALAR

HWY_INLINE void tile(const Matrix& m, size_t i, size_t j) {
  const hn::FixedTag<uint32_t, kSide> d;
  const uint32_t* const from = m.from + i * m.fromStep + j;
  uint32_t* const to = m.to + j * m.toStep + i;
  const auto row0 = hn::LoadU(d, from);
  const auto row1 = hn::LoadU(d, from + m.fromStep);
  const auto row2 = hn::LoadU(d, from + 2 * m.fromStep);
  const auto row3 = hn::LoadU(d, from + 3 * m.fromStep);
  const auto lower02 = hn::InterleaveLower(d, row0, row2);
  const auto lower13 = hn::InterleaveLower(d, row1, row3);
  const auto upper02 = hn::InterleaveUpper(d, row0, row2);
  const auto upper13 = hn::InterleaveUpper(d, row1, row3);
  hn::StoreU(hn::InterleaveLower(d, lower02, lower13), d, to);
  hn::StoreU(hn::InterleaveUpper(d, lower02, lower13), d, to + m.toStep);
  hn::StoreU(hn::InterleaveLower(d, upper02, upper13), d, to + 2 * m.toStep);
  hn::StoreU(hn::InterleaveUpper(d, upper02, upper13), d, to + 3 * m.toStep);
}

// The side whose rows lie further apart, and often in the same few sets of the cache, is walked by whole lines.
void inTiles(const Matrix& m, size_t inner, size_t second) {
  const size_t wholeInner = inner / kSide * kSide;
  const size_t wholeSecond = second / kSide * kSide;
  const bool readsLines = m.fromStep >= m.toStep;
  const size_t lineInner = readsLines ? kSide : kLine;
  const size_t lineSecond = readsLines ? kLine : kSide;
  const auto lines = [&](size_t iBegin, size_t jBegin) HWY_ATTR {
    for (size_t i = iBegin; i < std::min(iBegin + lineInner, wholeInner); i += kSide) {
      for (size_t j = jBegin; j < std::min(jBegin + lineSecond, wholeSecond); j += kSide) tile(m, i, j);
    }
  };
  if (readsLines) {
    for (size_t j = 0; j < wholeSecond; j += lineSecond) {
      for (size_t i = 0; i < wholeInner; i += lineInner) lines(i, j);
    }
  } else {
    for (size_t i = 0; i < wholeInner; i += lineInner) {
      for (size_t j = 0; j < wholeSecond; j += lineSecond) lines(i, j);
    }
  }
  m.copyAll(wholeInner, inner, 0, wholeSecond);
  m.copyAll(0, inner, wholeSecond, second);
}

// `rows` rows become elements beside each other.
void interleave(const Matrix& m, size_t rows, size_t count) {
  const hn::ScalableTag<uint32_t> d;
  const size_t lanes = hn::Lanes(d);
  const auto row = [&](size_t i, size_t j) HWY_ATTR { return hn::LoadU(d, m.from + i * m.fromStep + j); };
  size_t j = 0;
  for (; j + lanes <= count; j += lanes) {
    uint32_t* const to = m.to + j * rows;
    if (rows == 2) hn::StoreInterleaved2(row(0, j), row(1, j), d, to);
    if (rows == 3) hn::StoreInterleaved3(row(0, j), row(1, j), row(2, j), d, to);
    if (rows == 4) hn::StoreInterleaved4(row(0, j), row(1, j), row(2, j), row(3, j), d, to);
  }
  m.copyAll(0, rows, j, count);
}

// Elements beside each other become `rows` rows.
void separate(const Matrix& m, size_t rows, size_t count) {
  const hn::ScalableTag<uint32_t> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const uint32_t* const from = m.from + i * rows;
    V row[4];
    if (rows == 2) hn::LoadInterleaved2(d, from, row[0], row[1]);
    if (rows == 3) hn::LoadInterleaved3(d, from, row[0], row[1], row[2]);
    if (rows == 4) hn::LoadInterleaved4(d, from, row[0], row[1], row[2], row[3]);
    for (size_t j = 0; j < rows; ++j) hn::StoreU(row[j], d, m.to + j * m.toStep + i);
  }
  m.copyAll(i, count, 0, rows);
}

#endif

void words(const uint32_t* from, size_t fromStep, uint32_t* to, size_t toStep, size_t inner, size_t second) {
  const Matrix m{from, fromStep, to, toStep};
#if HWY_TARGET == HWY_SCALAR
  m.copyAll(0, inner, 0, second);
#else
  const auto isFew = [](size_t rows) { return rows >= 2 && rows <= 4; };
  if (isFew(inner) && toStep == inner) return interleave(m, inner, second);
  if (isFew(second) && fromStep == second) return separate(m, second, inner);
  inTiles(m, inner, second);
#endif
}

}  // namespace transposes

TransposeWords transpose() { return transposes::words; }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(transpose);

}  // namespace

TransposeWords transposeWords() {
  static const TransposeWords kFunction = TENON_SIMD_BEST(transpose)();
  return kFunction;
}

}  // namespace tenon::backends::cpu
#endif
