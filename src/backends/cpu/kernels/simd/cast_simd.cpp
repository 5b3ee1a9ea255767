// Conversions between element types. Plain loops, of which the compiler makes vectors for each instruction set; only
// halves have instructions that it does not know.
// Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/cast_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <bit>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/simd/typed_simd.h"

HWY_BEFORE_NAMESPACE();
#include "backends/cpu/kernels/simd/fp8.inc"
#include "backends/cpu/kernels/simd/minmax.inc"
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace casts {

namespace hn = hwy::HWY_NAMESPACE;

struct Truth {};  // bytes 0 and 1

template <typename T>
using StoredAs = std::conditional_t<std::is_same_v<T, Truth>, uint8_t, T>;

// f32 to an integer. Those of one byte are clamped first; of the others, what is out of range is replaced afterwards.
template <typename To>
HWY_INLINE To whole(float v) {
  using Limits = std::numeric_limits<To>;
  if constexpr (sizeof(To) == 1) {
    constexpr auto kLow = static_cast<float>(Limits::min());
    constexpr auto kHigh = static_cast<float>(Limits::max());
    const float number = v == v ? v : 0.f;
    const float above = number < kLow ? kLow : number;
    return static_cast<To>(static_cast<int32_t>(above > kHigh ? kHigh : above));
  } else {
    constexpr auto kEnd = -static_cast<float>(Limits::min());  // 2^31 or 2^63
    const bool fits = v < kEnd && v >= -kEnd;
    const auto inside = static_cast<To>(fits ? v : 0.f);
    const To outside = v >= kEnd ? Limits::max() : v < 0 ? Limits::min() : To(0);
    return fits ? inside : outside;
  }
}

// Integers saturate.
template <typename To, typename From>
HWY_INLINE To narrow(From v) {
  using Limits = std::numeric_limits<To>;
  using Wide = std::conditional_t<sizeof(From) == 8 || sizeof(To) == 8, int64_t, int32_t>;
  const auto wide = static_cast<Wide>(v);
  if constexpr (sizeof(To) == sizeof(Wide)) return static_cast<To>(wide);
  const auto above = wide < static_cast<Wide>(Limits::min()) ? static_cast<Wide>(Limits::min()) : wide;
  return static_cast<To>(above > static_cast<Wide>(Limits::max()) ? static_cast<Wide>(Limits::max()) : above);
}

template <typename From, typename To>
void cast(const void* va, const void*, const void*, void* vo, size_t count) {
  const StoredAs<From>* HWY_RESTRICT a = static_cast<const StoredAs<From>*>(va);
  StoredAs<To>* HWY_RESTRICT out = static_cast<StoredAs<To>*>(vo);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<To, Truth>) {
      out[i] = a[i] != 0 ? 1 : 0;
    } else if constexpr (std::is_same_v<From, Truth>) {
      out[i] = static_cast<To>(a[i] != 0 ? 1 : 0);
    } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
      out[i] = whole<To>(a[i]);
    } else if constexpr (std::is_integral_v<To>) {
      out[i] = narrow<To, From>(a[i]);
    } else if constexpr (std::is_same_v<From, int64_t>) {
      out[i] = static_cast<To>(static_cast<double>(a[i]));  // rounded twice, as the reference does
    } else {
      out[i] = static_cast<To>(a[i]);
    }
  }
}

// f32 to a byte: bounds and a narrowing by vectors, of which the compiler makes masks and scalars.
template <typename To>
void intoByte(const void* va, const void*, const void*, void* vo, size_t count) {
  const float* HWY_RESTRICT a = static_cast<const float*>(va);
  To* HWY_RESTRICT out = static_cast<To*>(vo);
  size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> whole32;
  const hn::Rebind<To, decltype(d)> bytes;
  const auto low = hn::Set(d, static_cast<float>(std::numeric_limits<To>::min()));
  const auto high = hn::Set(d, static_cast<float>(std::numeric_limits<To>::max()));
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto v = hn::LoadU(d, a + i);
    const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
    hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(whole32, lesser(high, greater(low, number)))), bytes, out + i);
  }
#endif
  for (; i < count; ++i) out[i] = whole<To>(a[i]);
}

template <typename To>
void wrap(const void* va, const void*, const void*, void* vo, size_t count) {
  const int64_t* HWY_RESTRICT a = static_cast<const int64_t*>(va);
  To* HWY_RESTRICT out = static_cast<To*>(vo);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<To>(static_cast<uint64_t>(a[i]));
}

// Bits of a half as f32: the exponent is shifted by a product, which is exact for subnormal numbers too.
HWY_INLINE float halfBits(uint16_t half) {
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7fff) << 13;
  const auto scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  const uint32_t value = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : scaled;
  return std::bit_cast<float>(value | (static_cast<uint32_t>(half & 0x8000) << 16));
}

// Rounded to even. A subnormal half is counted in units of 2^-24, which are the last digits of numbers in [0.5, 1).
HWY_INLINE uint16_t toHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1) - 0x38000000u) >> 13;
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t result = magnitude < 0x38800000u ? small : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result = magnitude > 0x7f800000u ? 0x7e00u : result;
  return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000u));
}

constexpr bool kHasHalves = HWY_TARGET <= HWY_AVX2;  // instructions for them

void fromHalf(const void* va, const void*, const void*, void* vo, size_t count) {
  const uint16_t* HWY_RESTRICT a = static_cast<const uint16_t*>(va);
  float* HWY_RESTRICT out = static_cast<float*>(vo);
  size_t i = 0;
  if constexpr (kHasHalves) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> narrowTag;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      const auto half = hn::LoadU(narrowTag, reinterpret_cast<const hwy::float16_t*>(a + i));
      hn::StoreU(hn::PromoteTo(d, half), d, out + i);
    }
  }
  for (; i < count; ++i) out[i] = halfBits(a[i]);
}

void intoHalf(const void* va, const void*, const void*, void* vo, size_t count) {
  const float* HWY_RESTRICT a = static_cast<const float*>(va);
  uint16_t* HWY_RESTRICT out = static_cast<uint16_t*>(vo);
  size_t i = 0;
  if constexpr (kHasHalves) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> narrowTag;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      const auto half = hn::DemoteTo(narrowTag, hn::LoadU(d, a + i));
      hn::StoreU(half, narrowTag, reinterpret_cast<hwy::float16_t*>(out + i));
    }
  }
  for (; i < count; ++i) out[i] = toHalf(a[i]);
}

void fromBfloat(const void* va, const void*, const void*, void* vo, size_t count) {
  const uint16_t* HWY_RESTRICT a = static_cast<const uint16_t*>(va);
  uint32_t* HWY_RESTRICT out = static_cast<uint32_t*>(vo);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<uint32_t>(a[i]) << 16;
}

void intoBfloat(const void* va, const void*, const void*, void* vo, size_t count) {
  const uint32_t* HWY_RESTRICT a = static_cast<const uint32_t*>(va);
  uint16_t* HWY_RESTRICT out = static_cast<uint16_t*>(vo);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t word = a[i];
    const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
    const uint32_t quiet = (word >> 16) | 0x40u;
    out[i] = static_cast<uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
}

void fromFp8(const void* va, const void*, const void*, void* vo, size_t count) {
  const uint8_t* HWY_RESTRICT a = static_cast<const uint8_t*>(va);
  float* HWY_RESTRICT out = static_cast<float*>(vo);
  for (size_t i = 0; i < count; ++i) out[i] = fp8::toFloat(a[i]);
}

void intoFp8(const void* va, const void*, const void*, void* vo, size_t count) {
  const float* HWY_RESTRICT a = static_cast<const float*>(va);
  uint8_t* HWY_RESTRICT out = static_cast<uint8_t*>(vo);
  for (size_t i = 0; i < count; ++i) out[i] = fp8::fromFloat(a[i]);
}

template <typename From>
VectorFunction findFrom(DataType to) {
  switch (to) {
    case DataType::kF32: return cast<From, float>;
    case DataType::kI64: return cast<From, int64_t>;
    case DataType::kI32: return cast<From, int32_t>;
    case DataType::kI8: return cast<From, int8_t>;
    case DataType::kU8: return cast<From, uint8_t>;
    case DataType::kBool: return cast<From, Truth>;
    default: return nullptr;
  }
}

}  // namespace casts

VectorFunction findCast(DataType from, DataType to) {
  if (from == DataType::kF32 && to == DataType::kF16) return casts::intoHalf;
  if (from == DataType::kF32 && to == DataType::kBF16) return casts::intoBfloat;
  if (to == DataType::kF32 && from == DataType::kF16) return casts::fromHalf;
  if (to == DataType::kF32 && from == DataType::kBF16) return casts::fromBfloat;
  if (from == DataType::kF32 && to == DataType::kF8E4M3) return casts::intoFp8;
  if (to == DataType::kF32 && from == DataType::kF8E4M3) return casts::fromFp8;
  if (from == DataType::kF32 && to == DataType::kU8) return casts::intoByte<uint8_t>;
  if (from == DataType::kF32 && to == DataType::kI8) return casts::intoByte<int8_t>;
  switch (from) {
    case DataType::kF32: return casts::findFrom<float>(to);
    case DataType::kI64: return casts::findFrom<int64_t>(to);
    case DataType::kI32: return casts::findFrom<int32_t>(to);
    case DataType::kI8: return casts::findFrom<int8_t>(to);
    case DataType::kU8: return casts::findFrom<uint8_t>(to);
    case DataType::kBool: return casts::findFrom<casts::Truth>(to);
    default: return nullptr;
  }
}

VectorFunction findWrap(DataType to) {
  switch (to) {
    case DataType::kI64: return casts::wrap<int64_t>;
    case DataType::kI32: return casts::wrap<int32_t>;
    case DataType::kI8: return casts::wrap<int8_t>;
    case DataType::kU8: return casts::wrap<uint8_t>;
    default: return nullptr;
  }
}

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findCast);
TENON_SIMD_TABLE(findWrap);

}  // namespace

VectorFunction castFunction(DataType from, DataType to) { return TENON_SIMD_BEST(findCast)(from, to); }
VectorFunction wrapFunction(DataType to) { return TENON_SIMD_BEST(findWrap)(to); }

}  // namespace tenon::backends::cpu
#endif
