// Results of quantized convolutions from their sums. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/byte_finish_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/simd/byte_finish_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/minmax.inc"
#include "backends/cpu/kernels/simd/saturation.inc"
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
      to[c] = static_cast<float>(wrappingSum(sums[c], columns.added[c])) * columns.scales[c] + columns.biases[c];
  }
}

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

using namespace saturation;

// How many columns were finished: of two rows two vectors at a time, or of four rows one.
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
  const auto whole = [&](int64_t r, int64_t at) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(di, rows.sums + r * rows.sumStep + at), hn::LoadU(di, columns.added + at));
    return nearest(
        lesser(hn::MulAdd(hn::ConvertTo(d, sum), hn::LoadU(d, columns.scales + at), hn::LoadU(d, columns.biases + at)),
               bound));
  };
  const auto ordered = [&](Shorts a, Shorts b) HWY_ATTR {
    const auto both = hn::BitCast(bytes, packed(sumOf(a, zero), sumOf(b, zero), T()));
    return hn::TableLookupLanes(hn::BitCast(di, greater(both, low)), places);
  };
  int64_t c = 0;
  for (; c + 2 * kLanes <= rows.width; c += 2 * kLanes) {
    const auto line = [&](int64_t r) HWY_ATTR { return packed(whole(r, c), whole(r, c + kLanes)); };
    for (int64_t r = 0; r < rows.count; r += 2) {
      const int64_t next = r + 1 < rows.count ? r + 1 : r;
      const auto result = ordered(line(r), line(next));
      hn::StoreU(hn::LowerHalf(half, result), half, reinterpret_cast<int32_t*>(out + r * rows.outStep + c));
      hn::StoreU(hn::UpperHalf(half, result), half, reinterpret_cast<int32_t*>(out + next * rows.outStep + c));
    }
  }
  for (; c + kLanes <= rows.width; c += kLanes) {
    for (int64_t r = 0; r < rows.count; r += 4) {
      const auto place = [&](int64_t i) { return r + i < rows.count ? r + i : rows.count - 1; };
      const auto result =
          ordered(packed(whole(r, c), whole(place(1), c)), packed(whole(place(2), c), whole(place(3), c)));
      HWY_ALIGN T line[4 * kLanes];
      hn::Store(result, di, reinterpret_cast<int32_t*>(line));
      for (int64_t i = 0; i < 4; ++i) std::memcpy(out + place(i) * rows.outStep + c, line + i * kLanes, kLanes);
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
    const auto bias = hn::LoadU(d, columns.biases + c);
    for (int64_t r = 0; r < rows.count; ++r) {
      const auto sum = hn::Add(hn::LoadU(di, rows.sums + r * rows.sumStep + c), added);
      const auto real = hn::MulAdd(hn::ConvertTo(d, sum), scale, bias);
      const auto whole = hn::NearestInt(greater(lesser(real, hn::Set(d, kBound)), hn::Set(d, -kBound)));
      hn::StoreU(hn::DemoteTo(narrow, greater(hn::Add(whole, zero), low)), narrow, out + r * rows.outStep + c);
    }
  }
#endif
  for (; c < rows.width; ++c) {
    for (int64_t r = 0; r < rows.count; ++r) {
      const int32_t sum = wrappingSum(rows.sums[r * rows.sumStep + c], columns.added[c]);
      const float real = static_cast<float>(sum) * columns.scales[c] + columns.biases[c];
      const float bounded = real < kBound ? (real > -kBound ? real : -kBound) : kBound;
      int32_t value = static_cast<int32_t>(std::nearbyint(bounded)) + columns.zero;
      value = value < columns.low ? columns.low : value;
      constexpr int32_t kHigh = std::numeric_limits<T>::max();
      out[r * rows.outStep + c] = static_cast<T>(value > kHigh ? kHigh : value);
    }
  }
}

int32_t sumOf(const uint8_t* bytes, int64_t count) {
  uint32_t sum = 0;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const hn::RepartitionToWide<hn::RepartitionToWide<hn::RepartitionToWide<decltype(d)>>> wide;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(wide);
  for (; i + lanes <= count; i += lanes) sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(d, bytes + i)));
  sum = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(wide, sums)));
#endif
  for (; i < count; ++i) sum += bytes[i];
  return static_cast<int32_t>(sum);
}

void takeAway(int32_t* sums, const int32_t* factors, int32_t by, int64_t width) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto all = hn::Set(d, by);
  int64_t c = 0;
  for (; c + lanes <= width; c += lanes)
    hn::StoreU(hn::Sub(hn::LoadU(d, sums + c), hn::Mul(hn::LoadU(d, factors + c), all)), d, sums + c);
  for (; c < width; ++c)
    sums[c] = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) -
                                   static_cast<uint32_t>(factors[c]) * static_cast<uint32_t>(by));
}

void takeAwayRows(int32_t* sums, int64_t step, int64_t rows, const int32_t* factors, const int32_t* by, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) takeAway(sums + r * step, factors, by[r], width);
}

}  // namespace byte_finish

ByteFinish findByteFinish() {
  return {byte_finish::finishSums,           byte_finish::finishReals, byte_finish::finishBytes<int8_t>,
          byte_finish::finishBytes<uint8_t>, byte_finish::sumOf,       byte_finish::takeAway,
          byte_finish::takeAwayRows};
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
