// Windows over single channels: the bytes of four taps are interleaved and multiplied at once. Highway wants its
// headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_channels_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/simd/byte_channels_simd.h"
#include "core/platform/processor.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/minmax.inc"
#include "backends/cpu/kernels/simd/saturation.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace byte_channels {

constexpr int kParts = 4;
constexpr float kBound = 1024;  // beyond it all results of 8 bits saturate, whatever the zero point

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;

using namespace saturation;

const hn::ScalableTag<uint8_t> kBytes;
const hn::ScalableTag<int8_t> kSigned;
const hn::ScalableTag<int16_t> kShorts;
const hn::ScalableTag<int32_t> kWords;
const hn::ScalableTag<float> kReals;
constexpr int64_t kChannels = HWY_LANES(uint8_t);
constexpr int64_t kLanes = HWY_LANES(int32_t);

template <bool kWhole>
HWY_INLINE Bytes load(const uint8_t* from, int64_t width) {
  if constexpr (kWhole) return hn::LoadU(kBytes, from);
#if HWY_TARGET <= HWY_AVX3
  return Bytes{_mm512_maskz_loadu_epi8((__mmask64{1} << width) - 1, from)};
#else
  HWY_ALIGN uint8_t line[kChannels] = {};
  std::memcpy(line, from, static_cast<size_t>(width));
  return hn::Load(kBytes, line);
#endif
}

template <bool kWhole>
HWY_INLINE void store(Bytes value, int64_t width, uint8_t* to) {
  if constexpr (kWhole) return hn::StoreU(value, kBytes, to);
#if HWY_TARGET <= HWY_AVX3
  _mm512_mask_storeu_epi8(to, (__mmask64{1} << width) - 1, value.raw);
#else
  HWY_ALIGN uint8_t line[kChannels];
  hn::Store(value, kBytes, line);
  std::memcpy(to, line, static_cast<size_t>(width));
#endif
}

// sum += the products of each four bytes, exactly.
template <bool kVnni>
HWY_INLINE void addQuads(Words& sum, Shorts x, const int8_t* weights) {
  const auto w = hn::BitCast(kShorts, hn::LoadU(kSigned, weights));
#if HWY_TARGET == HWY_AVX3
  if constexpr (kVnni) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return;
  }
#elif HWY_TARGET == HWY_AVX2
  if constexpr (kVnni) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(w.raw));
    return;
  }
#endif
  const hn::RebindToUnsigned<decltype(kShorts)> unsignedShorts;
  auto rest = hn::Zero(kWords);  // stays zero: this architecture adds neighbours into the first sum
  const auto even = hn::And(x, hn::Set(kShorts, int16_t{0xff}));
  const auto odd = hn::BitCast(kShorts, hn::ShiftRight<8>(hn::BitCast(unsignedShorts, x)));
  sum = hn::ReorderWidenMulAccumulate(kWords, even, hn::ShiftRight<8>(hn::ShiftLeft<8>(w)), sum, rest);
  sum = hn::ReorderWidenMulAccumulate(kWords, odd, hn::ShiftRight<8>(w), sum, rest);
}

struct Parts {
  Words parts[kParts];
};

template <bool kVnni>
HWY_INLINE Parts withQuads(Parts sums, Bytes a, Bytes b, Bytes c, Bytes d, const int8_t* weights) {
  const auto lowFirst = hn::BitCast(kShorts, hn::InterleaveLower(kBytes, a, b));
  const auto highFirst = hn::BitCast(kShorts, hn::InterleaveUpper(kBytes, a, b));
  const auto lowSecond = hn::BitCast(kShorts, hn::InterleaveLower(kBytes, c, d));
  const auto highSecond = hn::BitCast(kShorts, hn::InterleaveUpper(kBytes, c, d));
  addQuads<kVnni>(sums.parts[0], hn::InterleaveLower(kShorts, lowFirst, lowSecond), weights);
  addQuads<kVnni>(sums.parts[1], hn::InterleaveUpper(kShorts, lowFirst, lowSecond), weights + kChannels);
  addQuads<kVnni>(sums.parts[2], hn::InterleaveLower(kShorts, highFirst, highSecond), weights + 2 * kChannels);
  addQuads<kVnni>(sums.parts[3], hn::InterleaveUpper(kShorts, highFirst, highSecond), weights + 3 * kChannels);
  return sums;
}

// Sums beside those that are there.
template <bool kVnni, bool kWhole>
HWY_INLINE Parts window(const ByteChannels& c, int64_t row, Parts sums) {
  const uint8_t* const from = c.rows[row] + c.offset;
  const int64_t* const taps = c.taps;
  const int64_t tapCount = c.tapCount;
  const int64_t width = c.width;
  const int8_t* weights = c.weights;
  const auto tap = [&](int64_t t) HWY_ATTR { return load<kWhole>(from + taps[t], width); };
  int64_t t = 0;
  for (; t + kParts <= tapCount; t += kParts, weights += kParts * kChannels)
    sums = withQuads<kVnni>(sums, tap(t), tap(t + 1), tap(t + 2), tap(t + 3), weights);
  const auto none = hn::Zero(kBytes);
  const int64_t rest = tapCount - t;
  if (rest == 1) return withQuads<kVnni>(sums, tap(t), none, none, none, weights);
  if (rest == 2) return withQuads<kVnni>(sums, tap(t), tap(t + 1), none, none, weights);
  if (rest == 3) return withQuads<kVnni>(sums, tap(t), tap(t + 1), tap(t + 2), none, weights);
  return sums;
}

template <bool kVnni, bool kWhole>
void sumRows(const ByteChannels& c, int32_t* to, int64_t step) {
  const auto zero = hn::Zero(kWords);
  for (int64_t row = 0; row < c.count; ++row) {
    const Parts sums = window<kVnni, kWhole>(c, row, {{zero, zero, zero, zero}});
    HWY_ALIGN int32_t ordered[kChannels];
    for (int k = 0; k < kParts; ++k) hn::Store(sums.parts[k], kWords, ordered + k * kLanes);
    for (int64_t i = 0; i < kChannels; i += 4)
      std::memcpy(to + row * step + byteChannelAt(i, kChannels), ordered + i, 4 * sizeof(int32_t));
  }
}

template <bool kVnni>
void sums(const ByteChannels& c, int32_t* to, int64_t step) {
  c.width == kChannels ? sumRows<kVnni, true>(c, to, step) : sumRows<kVnni, false>(c, to, step);
}

template <bool kVnni, bool kWhole, bool kSignedResults>
void byteRows(const ByteChannels& c, const ByteChannelResults& results) {
  const auto bound = hn::Set(kReals, kBound);
  const auto zero = hn::Set(kShorts, static_cast<int16_t>(results.zero));
  const auto low = hn::Set(kBytes, static_cast<uint8_t>(results.low));
  const auto lowSigned = hn::Set(kSigned, static_cast<int8_t>(results.low));
  const int32_t* const added = results.added;
  const float* const scales = results.scales;
  const float* const biases = results.biases;
  Parts first;
  for (int k = 0; k < kParts; ++k) first.parts[k] = hn::LoadU(kWords, added + k * kLanes);
  for (int64_t row = 0; row < c.count; ++row) {
    const Parts all = window<kVnni, kWhole>(c, row, first);
    // What is far below all results becomes the least whole number, which is right.
    const auto whole = [&](int k) HWY_ATTR {
      const auto scale = hn::LoadU(kReals, scales + k * kLanes);
      const auto bias = hn::LoadU(kReals, biases + k * kLanes);
      return nearest(lesser(hn::MulAdd(hn::ConvertTo(kReals, all.parts[k]), scale, bias), bound));
    };
    const auto lowHalf = sumOf(packed(whole(0), whole(1)), zero);
    const auto highHalf = sumOf(packed(whole(2), whole(3)), zero);
    Bytes value;
    if constexpr (kSignedResults) {
      value = hn::BitCast(kBytes, greater(hn::BitCast(kSigned, packed(lowHalf, highHalf, int8_t())), lowSigned));
    } else {
      value = greater(packed(lowHalf, highHalf, uint8_t()), low);
    }
    store<kWhole>(value, c.width, results.to + row * results.step);
  }
}

template <bool kVnni>
void bytes(const ByteChannels& c, const ByteChannelResults& results) {
  if (results.isSigned)
    return c.width == kChannels ? byteRows<kVnni, true, true>(c, results) : byteRows<kVnni, false, true>(c, results);
  c.width == kChannels ? byteRows<kVnni, true, false>(c, results) : byteRows<kVnni, false, false>(c, results);
}

ByteChannelFunctions best() {
#if HWY_TARGET == HWY_AVX3
  if (platform::hasVnni()) return {kChannels, sums<true>, bytes<true>};
#elif HWY_TARGET == HWY_AVX2
  if (platform::hasNarrowVnni()) return {kChannels, sums<true>, bytes<true>};
#endif
  return {kChannels, sums<false>, bytes<false>};
}

#else

constexpr int64_t kChannels = 16;

// Of the channel at a place.
inline int32_t sumAt(const ByteChannels& c, int64_t row, int64_t place) {
  const int64_t channel = byteChannelAt(place, kChannels);
  int32_t sum = 0;
  for (int64_t t = 0; t < c.tapCount; ++t)
    sum +=
        c.rows[row][c.offset + c.taps[t] + channel] * c.weights[(t / kParts * kChannels + place) * kParts + t % kParts];
  return sum;
}

void sums(const ByteChannels& c, int32_t* to, int64_t step) {
  for (int64_t row = 0; row < c.count; ++row) {
    for (int64_t i = 0; i < kChannels; ++i) {
      if (const int64_t channel = byteChannelAt(i, kChannels); channel < c.width)
        to[row * step + channel] = sumAt(c, row, i);
    }
  }
}

void bytes(const ByteChannels& c, const ByteChannelResults& results) {
  for (int64_t row = 0; row < c.count; ++row) {
    for (int64_t i = 0; i < kChannels; ++i) {
      const int64_t channel = byteChannelAt(i, kChannels);
      if (channel >= c.width) continue;
      const auto sum =
          static_cast<int32_t>(static_cast<uint32_t>(sumAt(c, row, i)) + static_cast<uint32_t>(results.added[i]));
      const float real = static_cast<float>(sum) * results.scales[i] + results.biases[i];
      const float bounded = real < kBound ? (real > -kBound ? real : -kBound) : kBound;
      const int32_t value = static_cast<int32_t>(std::nearbyint(bounded)) + results.zero;
      const int32_t high = results.isSigned ? 127 : 255;
      results.to[row * results.step + channel] = static_cast<uint8_t>(value < results.low ? results.low
                                                                      : value > high      ? high
                                                                                          : value);
    }
  }
}

ByteChannelFunctions best() { return {kChannels, sums, bytes}; }

#endif

}  // namespace byte_channels

ByteChannelFunctions findByteChannels() { return byte_channels::best(); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findByteChannels);

}  // namespace

const ByteChannelFunctions& byteChannels() {
  static const ByteChannelFunctions kFunctions = TENON_SIMD_BEST(findByteChannels)();
  return kFunctions;
}

}  // namespace tenon::backends::cpu
#endif
