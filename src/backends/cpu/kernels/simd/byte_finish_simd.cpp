// Results of quantized convolutions from their sums, and windows over single channels. Highway wants its headers in
// this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_finish_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <limits>

#include "backends/cpu/kernels/simd/byte_finish_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace byte_finish {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kBound = 1024;  // beyond it all results of 8 bits saturate, whatever the zero point

inline int32_t wrappingSum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

void finishSums(const ByteRows& rows, const ByteColumns& columns) {
  for (int64_t r = 0; r < rows.count; ++r) {
    const int32_t* HWY_RESTRICT const sums = rows.sums + r * rows.sumStep;
    int32_t* HWY_RESTRICT const to = static_cast<int32_t*>(rows.out) + r * rows.outStep;
    for (int64_t c = 0; c < rows.width; ++c) to[c] = wrappingSum(sums[c], columns.added[c]);
  }
}

void finishReals(const ByteRows& rows, const ByteColumns& columns) {
  for (int64_t r = 0; r < rows.count; ++r) {
    const int32_t* HWY_RESTRICT const sums = rows.sums + r * rows.sumStep;
    float* HWY_RESTRICT const to = static_cast<float*>(rows.out) + r * rows.outStep;
    for (int64_t c = 0; c < rows.width; ++c)
      to[c] = static_cast<float>(wrappingSum(sums[c], columns.added[c])) * columns.scales[c];
  }
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

#if HWY_TARGET <= HWY_AVX3
#define TENON_X86(NAME) _mm512_##NAME
#elif HWY_TARGET == HWY_AVX2
#define TENON_X86(NAME) _mm256_##NAME
#else
#define TENON_X86(NAME) _mm_##NAME
#endif

using Words = hn::Vec<hn::ScalableTag<int32_t>>;
using Shorts = hn::Vec<hn::ScalableTag<int16_t>>;

// Of both, saturated, block by block of 16 bytes.
HWY_INLINE Shorts packed(Words a, Words b) { return Shorts{TENON_X86(packs_epi32)(a.raw, b.raw)}; }
HWY_INLINE Shorts sumOf(Shorts a, Shorts b) { return Shorts{TENON_X86(adds_epi16)(a.raw, b.raw)}; }
HWY_INLINE Words packed(Shorts a, Shorts b, int8_t) { return Words{TENON_X86(packs_epi16)(a.raw, b.raw)}; }
HWY_INLINE Words packed(Shorts a, Shorts b, uint8_t) { return Words{TENON_X86(packus_epi16)(a.raw, b.raw)}; }
#undef TENON_X86

// Two vectors of columns of two rows at a time; how many columns were finished.
template <typename T>
HWY_INLINE int64_t finishVectors(const ByteRows& rows, const ByteColumns& columns) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<int32_t> di;
  const hn::ScalableTag<int16_t> shorts;
  const hn::ScalableTag<T> bytes;
  const hn::Half<decltype(di)> half;
  constexpr int64_t kLanes = HWY_LANES(int32_t);
  // Word j of block b is that of vector j: the blocks of a vector come behind each other.
  HWY_ALIGN int32_t order[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) order[k] = static_cast<int32_t>(k % (kLanes / 4) * 4 + k / (kLanes / 4));
  const auto places = hn::SetTableIndices(di, order);
  const auto zero = hn::Set(shorts, static_cast<int16_t>(columns.zero));
  const auto low = hn::Set(bytes, static_cast<T>(columns.low));
  const auto bound = hn::Set(d, kBound);
  auto* const out = static_cast<T*>(rows.out);
  int64_t c = 0;
  for (; c + 2 * kLanes <= rows.width; c += 2 * kLanes) {
    const auto line = [&](int64_t r) {
      const auto whole = [&](int64_t at) {
        const auto sum = hn::Add(hn::LoadU(di, rows.sums + r * rows.sumStep + at), hn::LoadU(di, columns.added + at));
        return hn::NearestInt(
            hn::Max(hn::Min(hn::Mul(hn::ConvertTo(d, sum), hn::LoadU(d, columns.scales + at)), bound), hn::Neg(bound)));
      };
      return sumOf(packed(whole(c), whole(c + kLanes)), zero);
    };
    for (int64_t r = 0; r < rows.count; r += 2) {
      const int64_t next = r + 1 < rows.count ? r + 1 : r;
      const auto both = hn::BitCast(bytes, packed(line(r), line(next), T()));
      const auto result = hn::TableLookupLanes(hn::BitCast(di, hn::Max(both, low)), places);
      hn::StoreU(hn::LowerHalf(half, result), half, reinterpret_cast<int32_t*>(out + r * rows.outStep + c));
      hn::StoreU(hn::UpperHalf(half, result), half, reinterpret_cast<int32_t*>(out + next * rows.outStep + c));
    }
  }
  return c;
}

#else

template <typename T>
int64_t finishVectors(const ByteRows&, const ByteColumns&) {
  return 0;
}

#endif

template <typename T>
void finishBytes(const ByteRows& rows, const ByteColumns& columns) {
  auto* const out = static_cast<T*>(rows.out);
  int64_t c = finishVectors<T>(rows, columns);
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<T, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto zero = hn::Set(di, columns.zero);
  const auto low = hn::Set(di, columns.low);
  for (; c + lanes <= rows.width; c += lanes) {
    const auto added = hn::LoadU(di, columns.added + c);
    const auto scale = hn::LoadU(d, columns.scales + c);
    for (int64_t r = 0; r < rows.count; ++r) {
      const auto sum = hn::Add(hn::LoadU(di, rows.sums + r * rows.sumStep + c), added);
      const auto real = hn::Mul(hn::ConvertTo(d, sum), scale);
      const auto whole = hn::NearestInt(hn::Max(hn::Min(real, hn::Set(d, kBound)), hn::Set(d, -kBound)));
      hn::StoreU(hn::DemoteTo(narrow, hn::Max(hn::Add(whole, zero), low)), narrow, out + r * rows.outStep + c);
    }
  }
#endif
  for (; c < rows.width; ++c) {
    for (int64_t r = 0; r < rows.count; ++r) {
      const int32_t sum = wrappingSum(rows.sums[r * rows.sumStep + c], columns.added[c]);
      const float real = static_cast<float>(sum) * columns.scales[c];
      const float bounded = real < kBound ? (real > -kBound ? real : -kBound) : kBound;
      int32_t value = static_cast<int32_t>(std::nearbyint(bounded)) + columns.zero;
      value = value < columns.low ? columns.low : value;
      constexpr int32_t kHigh = std::numeric_limits<T>::max();
      out[r * rows.outStep + c] = static_cast<T>(value > kHigh ? kHigh : value);
    }
  }
}

inline int64_t secondTap(const ByteChannels& c, int64_t pair) {
  return c.taps[2 * pair + 1 < c.tapCount ? 2 * pair + 1 : 2 * pair];
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// A vector of channels of kRows pixels.
template <int kRows>
HWY_INLINE void channelVector(const ByteChannels& c, int64_t row, int64_t channel) {
  const hn::ScalableTag<int32_t> d;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const hn::Repartition<int16_t, decltype(d)> shorts;
  auto rest = hn::Zero(d);  // stays zero: this architecture adds neighbours into the first sum
  hn::Vec<decltype(d)> sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
  const int16_t* w = c.weights + 2 * channel;
  for (int64_t p = 0; p < (c.tapCount + 1) / 2; ++p, w += 2 * c.weightWidth) {
    const auto weights = hn::LoadU(shorts, w);
    const int64_t first = c.taps[2 * p] + c.offset + channel;
    const int64_t second = secondTap(c, p) + c.offset + channel;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const uint8_t* const from = c.rows[row + r];
      const auto low = hn::PromoteTo(d, hn::LoadU(bytes, from + first));
      const auto high = hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(bytes, from + second)));
      sums[r] = hn::ReorderWidenMulAccumulate(d, hn::BitCast(shorts, hn::Or(low, high)), weights, sums[r], rest);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) hn::StoreU(sums[r], d, c.sums + (row + r) * c.sumStep + channel);
}

// How many channels were summed up.
int64_t channelVectors(const ByteChannels& c) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<int32_t>()));
  int64_t channel = 0;
  for (; channel + lanes <= c.width; channel += lanes) {
    int64_t row = 0;
    for (; row + 4 <= c.count; row += 4) channelVector<4>(c, row, channel);
    for (; row < c.count; ++row) channelVector<1>(c, row, channel);
  }
  return channel;
}

#else

int64_t channelVectors(const ByteChannels&) { return 0; }

#endif

void channels(const ByteChannels& c) {
  const int64_t begin = channelVectors(c);
  for (int64_t row = 0; row < c.count; ++row) {
    const uint8_t* const from = c.rows[row] + c.offset;
    for (int64_t channel = begin; channel < c.width; ++channel) {
      int32_t sum = 0;
      for (int64_t p = 0; p < (c.tapCount + 1) / 2; ++p) {
        const int16_t* const w = c.weights + 2 * (p * c.weightWidth + channel);
        sum += from[c.taps[2 * p] + channel] * w[0] + from[secondTap(c, p) + channel] * w[1];
      }
      c.sums[row * c.sumStep + channel] = sum;
    }
  }
}

}  // namespace byte_finish

ByteFinish findByteFinish() {
  return {byte_finish::finishSums, byte_finish::finishReals, byte_finish::finishBytes<int8_t>,
          byte_finish::finishBytes<uint8_t>, byte_finish::channels};
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findByteFinish);

}  // namespace

const ByteFinish& byteFinish() {
  static const ByteFinish kFinish = TENON_SIMD_BEST(findByteFinish)();
  return kFinish;
}

}  // namespace tenon::backends::cpu
#endif
