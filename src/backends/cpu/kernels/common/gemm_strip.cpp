// Strips of tiles in Highway: where rows lie evenly, one call computes all that meet a panel.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/common/gemm_strip.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/common/gemm_tile.h"
#include "core/platform/core_facts.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/tile_sums.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {

// The sums of one tile, begun with the bias.
template <Columns Width, bool Apart>
HWY_INLINE void sums(const TileCall& call, const float* from, const EvenRows& rows, V* left, V* right) {
  constexpr bool kWide = Width != Columns::kOne;
  const D d;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (Apart) {
    const auto point = [&](int64_t, const float** in) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) in[r] = from + r * rows.rowStep;
      from += rows.tapStep;
    };
    return sumHalves<kRows, 1>(
        call, point, [] {}, left, right);
  }
#endif
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V leftStart = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
  const V rightStart = startOfRight<Width>(call.bias);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    left[r] = leftStart;
    right[r] = rightStart;
  }
  const float* panel = call.panel;
  for (int64_t t = 0; t < call.taps; ++t, from += rows.tapStep) {
    const float* in[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) in[r] = from + r * rows.rowStep;
    for (int64_t c = 0; c < call.depth; ++c, panel += 2 * lanes) {
      const V b0 = hn::LoadU(d, panel);
      const V b1 = kWide ? hn::LoadU(d, panel + lanes) : b0;
      step<kRows, Width>(in, c, b0, b1, left, right);
    }
  }
  if constexpr (Width == Columns::kHalves) separate<kRows>(right);
}

// Twice as many rows of one vector, which are as many sums as those of two: four of them at a time by one pointer.
template <int Rows>
HWY_INLINE void sumsOfOne(const TileCall& call, const float* from, const EvenRows& rows, V* sum) {
  constexpr int kEach = 4;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const V start = call.bias != nullptr ? hn::LoadU(d, call.bias) : hn::Zero(d);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) sum[r] = start;
  const float* panel = call.panel;
  const int64_t rowStep = rows.rowStep;
  for (int64_t t = 0; t < call.taps; ++t, from += rows.tapStep) {
    const float* in[Rows / kEach];
#pragma GCC unroll 4
    for (int i = 0; i < Rows / kEach; ++i) in[i] = from + i * kEach * rowStep;
    for (int64_t c = 0; c < call.depth; ++c, panel += 2 * lanes) {
      const V b = hn::LoadU(d, panel);
#pragma GCC unroll 4
      for (int i = 0; i < Rows / kEach; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < kEach; ++j)
          sum[kEach * i + j] = hn::MulAdd(hn::Set(d, in[i][j * rowStep + c]), b, sum[kEach * i + j]);
      }
    }
  }
}

// Two tiles of one vector at a time; returns how many rows it took.
template <bool Plain>
HWY_INLINE int64_t stripOfOne(TileCall& call, const EvenRows& rows) {
  constexpr int kBoth = 2 * kRows;
  const D d;
  const float* from = rows.from;
  int64_t done = 0;
  for (; done + kBoth <= rows.count; done += kBoth) {
    V sum[kBoth];
    sumsOfOne<kBoth>(call, from, rows, sum);
    if constexpr (Plain) {
#pragma GCC unroll 16
      for (int r = 0; r < kBoth; ++r) hn::StoreU(sum[r], d, call.out + r * call.outStride);
    } else {
      store<kBoth, false>(call, sum, nullptr);
      if (call.addend != nullptr) call.addend += kBoth * call.addendStride;
    }
    call.out += kBoth * call.outStride;
    from += kBoth * rows.rowStep;
  }
  return done;
}

// With `Plain`, whole vectors are stored as they are. With `Apart`, halves of vectors do not share vectors.
template <Columns Width, bool Plain, bool Apart = false>
void strip(const TileCall& all, const EvenRows& rows) {
  constexpr bool kWide = Width != Columns::kOne;
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  TileCall call = all;
  call.offset = 0;
  int64_t done = 0;
  if constexpr (Width == Columns::kOne && kRows % 4 == 0) done = stripOfOne<Plain>(call, rows);
  const float* from = rows.from + done * rows.rowStep;
  for (; done + kRows <= rows.count; done += kRows) {
    V left[kRows];
    V right[kRows];
    sums<Width, Apart>(call, from, rows, left, right);
    if constexpr (Plain) {
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        hn::StoreU(left[r], d, call.out + r * call.outStride);
        if constexpr (kWide) hn::StoreU(right[r], d, call.out + r * call.outStride + lanes);
      }
    } else {
      store<kRows, kWide>(call, left, right);
      if (call.addend != nullptr) call.addend += kRows * call.addendStride;
    }
    call.out += kRows * call.outStride;
    from += kRows * rows.rowStep;
  }
  if (done == rows.count) return;
  const auto count = static_cast<int>(rows.count - done);
  const float* sources[kMaxEvenTaps * kRows];
  for (int64_t t = 0; t < call.taps; ++t) {
    for (int r = 0; r < count; ++r) sources[t * count + r] = from + t * rows.tapStep + r * rows.rowStep;
  }
  call.sources = sources;
  tileFunctions()[static_cast<size_t>(count)](call);
}

template <bool Plain, bool Apart>
void stripOf(const TileCall& call, const EvenRows& rows) {
  if (call.width <= static_cast<int64_t>(hn::Lanes(D()))) return strip<Columns::kOne, Plain>(call, rows);
  if constexpr (kPairs) {
    if (call.hasHalves) return strip<Columns::kHalves, Plain, Apart>(call, rows);
  }
  strip<Columns::kTwo, Plain>(call, rows);
}

template <bool Apart>
void stripAny(const TileCall& call, const EvenRows& rows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  const bool isPlain = call.width % lanes == 0 && call.addend == nullptr && call.slope == nullptr &&
                       call.low == -kInfinity && call.high == kInfinity;
  if (isPlain) return stripOf<true, Apart>(call, rows);
  stripOf<false, Apart>(call, rows);
}

StripFunction stripFor() {
  if constexpr (HWY_TARGET <= HWY_AVX3) {
    if (platform::halvesVectors()) return &stripAny<true>;
  }
  return &stripAny<false>;
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(stripFor);

}  // namespace

StripFunction stripFunction() {
  static const StripFunction kFunction = TENON_SIMD_BEST(stripFor)();
  return kFunction;
}

}  // namespace tenon::backends::cpu
#endif
