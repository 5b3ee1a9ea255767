// Tables of element types and bit-level conversions.
#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace tenon {
namespace {

struct Row {
  std::string_view name;
  int bits;
  bool floating;
  bool integer;
};

constexpr std::array<Row, 12> kRows{{{"f32", 32, true, false},
                                     {"f16", 16, true, false},
                                     {"bf16", 16, true, false},
                                     {"f8e4m3", 8, true, false},
                                     {"f4e2m1", 4, true, false},
                                     {"e8m0", 8, true, false},
                                     {"i64", 64, false, true},
                                     {"i32", 32, false, true},
                                     {"i8", 8, false, true},
                                     {"u8", 8, false, true},
                                     {"i4", 4, false, true},
                                     {"bool", 8, false, false}}};

const Row& row(DataType type) noexcept { return kRows[static_cast<size_t>(type)]; }

template <typename T>
T load(const void* data, int64_t index) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(void* data, int64_t index, T value) noexcept {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

uint8_t nibble(const void* data, int64_t index) noexcept {
  const auto byte = static_cast<const uint8_t*>(data)[index / 2];
  return index % 2 == 0 ? byte & 0xf : byte >> 4;
}

void storeNibble(void* data, int64_t index, uint8_t value) noexcept {
  auto& byte = static_cast<uint8_t*>(data)[index / 2];
  byte = index % 2 == 0 ? static_cast<uint8_t>((byte & 0xf0) | (value & 0xf))
                        : static_cast<uint8_t>((byte & 0x0f) | (value << 4));
}

constexpr std::array<float, 8> kFp4{0.f, 0.5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f};

float fp4ToFloat(uint8_t bits) noexcept {
  const float magnitude = kFp4[bits & 7];
  return (bits & 8) != 0 ? -magnitude : magnitude;
}

// Nearest of the eight magnitudes, ties to the even code.
uint8_t floatToFp4(float value) noexcept {
  const float magnitude = std::isnan(value) ? 6.f : std::fabs(value);
  uint8_t best = 0;
  for (uint8_t code = 1; code < 8; ++code) {
    const float distance = std::fabs(kFp4[code] - magnitude);
    const float bestDistance = std::fabs(kFp4[best] - magnitude);
    if (distance < bestDistance || (distance == bestDistance && code % 2 == 0)) best = code;
  }
  return static_cast<uint8_t>(best | (std::signbit(value) ? 8 : 0));
}

template <typename T>
T saturate(double value) noexcept {
  if (std::isnan(value)) return 0;
  constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (value <= kLow) return std::numeric_limits<T>::min();
  if (value >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

// To float with rounding to odd: a second rounding to a narrower type then gives what one rounding would.
float toOddFloat(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) return nearest;
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(nearest) - (away ? 1 : 0)) | 1u);
}

// Powers of two from 2^-127 to 2^127, code 255 is NaN. Stored to the nearest exponent.
double e8m0ToDouble(uint8_t code) noexcept {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
}

uint8_t doubleToE8m0(double value) noexcept {
  if (std::isnan(value)) return 255;
  if (!(value > 0)) return 0;
  return static_cast<uint8_t>(std::clamp(std::round(std::log2(value)) + 127, 0.0, 254.0));
}

template <typename T>
T clampInt(int64_t value) noexcept {
  if (value < std::numeric_limits<T>::min()) return std::numeric_limits<T>::min();
  if (value > std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

}  // namespace

std::string_view name(DataType type) noexcept { return row(type).name; }
int bits(DataType type) noexcept { return row(type).bits; }
bool isFloating(DataType type) noexcept { return row(type).floating; }
bool isInteger(DataType type) noexcept { return row(type).integer; }

DataType parseDataType(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == text) return static_cast<DataType>(i);
  }
  throw UserError("unknown element type '{}'", text);
}

float halfToFloat(uint16_t half) noexcept {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t mantissa = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

uint16_t floatToHalf(float value) noexcept {
  const auto word = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((word >> 16) & 0x8000);
  const uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000u) {  // subnormal: count in units of 2^-24, nearbyint ties to even
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(std::fabs(value), 24))));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

uint16_t floatToBfloat(float value) noexcept {
  const auto word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((word >> 16) | 0x40);
  return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1)) >> 16);
}

float fp8ToFloat(uint8_t bits) noexcept {
  const int exponent = (bits >> 3) & 0xf;
  const int mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                        : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

uint8_t floatToFp8(float value) noexcept {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7f);
  const float magnitude = std::fabs(value);
  if (magnitude >= 448.f) return static_cast<uint8_t>(sign | 0x7e);
  if (magnitude < 0.015625f)
    return static_cast<uint8_t>(sign | static_cast<uint8_t>(std::nearbyint(std::ldexp(magnitude, 9))));
  int exponent = 0;
  const float fraction = std::frexp(magnitude, &exponent);                    // in [0.5, 1)
  auto code = static_cast<int>(std::nearbyint(std::ldexp(fraction, 4))) - 8;  // 0..8
  return static_cast<uint8_t>(sign | static_cast<uint8_t>(((exponent + 6) << 3) + code));
}

double loadDouble(DataType type, const void* data, int64_t index) noexcept {
  switch (type) {
    case DataType::kF32: return load<float>(data, index);
    case DataType::kF16: return halfToFloat(load<uint16_t>(data, index));
    case DataType::kBF16: return bfloatToFloat(load<uint16_t>(data, index));
    case DataType::kF8E4M3: return fp8ToFloat(load<uint8_t>(data, index));
    case DataType::kF4E2M1: return fp4ToFloat(nibble(data, index));
    case DataType::kE8M0: return e8m0ToDouble(load<uint8_t>(data, index));
    default: return static_cast<double>(loadInt(type, data, index));
  }
}

int64_t loadInt(DataType type, const void* data, int64_t index) noexcept {
  switch (type) {
    case DataType::kI64: return load<int64_t>(data, index);
    case DataType::kI32: return load<int32_t>(data, index);
    case DataType::kI8: return load<int8_t>(data, index);
    case DataType::kU8: return load<uint8_t>(data, index);
    case DataType::kBool: return load<uint8_t>(data, index) != 0;
    case DataType::kI4: return static_cast<int8_t>(nibble(data, index) << 4) >> 4;
    default: return saturate<int64_t>(loadDouble(type, data, index));
  }
}

void storeDouble(DataType type, void* data, int64_t index, double value) noexcept {
  switch (type) {
    case DataType::kF32: return store(data, index, static_cast<float>(value));
    case DataType::kF16: return store(data, index, floatToHalf(toOddFloat(value)));
    case DataType::kBF16: return store(data, index, floatToBfloat(toOddFloat(value)));
    case DataType::kF8E4M3: return store(data, index, floatToFp8(toOddFloat(value)));
    case DataType::kF4E2M1: return storeNibble(data, index, floatToFp4(toOddFloat(value)));
    case DataType::kE8M0: return store(data, index, doubleToE8m0(value));
    case DataType::kBool: return store<uint8_t>(data, index, value != 0);
    default: return storeInt(type, data, index, saturate<int64_t>(value));
  }
}

void storeInt(DataType type, void* data, int64_t index, int64_t value) noexcept {
  switch (type) {
    case DataType::kI64: return store(data, index, value);
    case DataType::kI32: return store(data, index, clampInt<int32_t>(value));
    case DataType::kI8: return store(data, index, clampInt<int8_t>(value));
    case DataType::kU8: return store(data, index, clampInt<uint8_t>(value));
    case DataType::kBool: return store<uint8_t>(data, index, value != 0);
    case DataType::kI4:
      return storeNibble(data, index, static_cast<uint8_t>(std::min<int64_t>(7, std::max<int64_t>(-8, value))));
    default: return storeDouble(type, data, index, static_cast<double>(value));
  }
}

}  // namespace tenon
