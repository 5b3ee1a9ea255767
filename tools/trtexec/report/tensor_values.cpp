// Tensor elements of every data type: size, reading, writing, and random values.
#include "tensor_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace tenon::trtexec {

namespace {

using nvinfer1::DataType;

//! A binary floating-point format below 32 bits, with a sign bit.
struct SmallFloat {
  int exponentBits;
  int mantissaBits;
  //! Whether the largest exponent is set aside for infinities and NaN; without it only all-ones is a NaN, if anything.
  bool hasInfinity;
  bool hasNan;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
};

constexpr SmallFloat kHalf{5, 10, true, true};
constexpr SmallFloat kBfloat{8, 7, true, true};
constexpr SmallFloat kFp8{4, 3, false, true};
constexpr SmallFloat kFp4{2, 1, false, false};

const SmallFloat* smallFloat(DataType type) {
  switch (type) {
    case DataType::kHALF: return &kHalf;
    case DataType::kBF16: return &kBfloat;
    case DataType::kFP8: return &kFp8;
    case DataType::kFP4: return &kFp4;
    default: return nullptr;
  }
}

double decode(uint32_t bits, const SmallFloat& format) {
  const uint32_t mantissa = bits & ((1U << format.mantissaBits) - 1);
  const int exponentMask = (1 << format.exponentBits) - 1;
  const int exponent = static_cast<int>(bits >> format.mantissaBits) & exponentMask;
  const double sign = (bits >> (format.exponentBits + format.mantissaBits)) != 0 ? -1 : 1;
  if (exponent == exponentMask && format.hasInfinity) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == exponentMask && format.hasNan && mantissa == (1U << format.mantissaBits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const int hidden = exponent == 0 ? 0 : 1 << format.mantissaBits;
  const int scale = std::max(exponent, 1) - format.bias() - format.mantissaBits;
  return sign * std::ldexp(static_cast<double>(mantissa) + hidden, scale);
}

//! Rounds a finite value of moderate size to the nearest one of the format, ties to even; larger ones become the
//! largest.
uint32_t encode(double value, const SmallFloat& format) {
  const uint32_t sign = std::signbit(value) ? 1U << (format.exponentBits + format.mantissaBits) : 0;
  const double magnitude = std::abs(value);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The unit in the last place: normal numbers have mantissaBits + 1 digits, below the least exponent fewer.
  const int least = 1 - format.bias();
  const int scale = std::max(exponent - 1, least) - format.mantissaBits;
  const auto digits = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -scale)));
  // Digits beyond the mantissa carry into the exponent, which is what the bit pattern wants.
  const uint32_t biased =
      digits >> format.mantissaBits == 0
          ? digits
          : digits + (static_cast<uint32_t>(scale + format.mantissaBits - least) << format.mantissaBits);
  const uint32_t special = format.hasInfinity ? 1U << format.mantissaBits : (format.hasNan ? 1U : 0U);
  const uint32_t largest = (1U << (format.exponentBits + format.mantissaBits)) - special - 1;
  return sign | std::min(biased, largest);
}

uint32_t readBits(const void* data, size_t index, size_t bits) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (bits == 4) {
    return static_cast<uint32_t>(bytes[index / 2] >> (index % 2 * 4)) & 0xFU;
  }
  uint32_t value = 0;
  std::memcpy(&value, bytes + index * bits / 8, bits / 8);
  return value;
}

void writeBits(void* data, size_t index, size_t bits, uint32_t value) {
  auto* bytes = static_cast<uint8_t*>(data);
  if (bits == 4) {
    const auto shift = static_cast<uint32_t>(index % 2 * 4);
    bytes[index / 2] = static_cast<uint8_t>((bytes[index / 2] & ~(0xFU << shift)) | ((value & 0xFU) << shift));
    return;
  }
  std::memcpy(bytes + index * bits / 8, &value, bits / 8);
}

template <typename T>
T load(const void* data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

uint64_t hashOf(std::string_view name) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash;
}

}  // namespace

size_t bitsPerElement(DataType type) {
  switch (type) {
    case DataType::kINT64: return 64;
    case DataType::kFLOAT:
    case DataType::kINT32: return 32;
    case DataType::kHALF:
    case DataType::kBF16: return 16;
    case DataType::kINT4:
    case DataType::kFP4: return 4;
    default: return 8;
  }
}

size_t bytesOf(DataType type, size_t elements) { return (elements * bitsPerElement(type) + 7) / 8; }

Element readElement(DataType type, const void* data, size_t index) {
  if (const SmallFloat* format = smallFloat(type)) {
    return static_cast<float>(decode(readBits(data, index, bitsPerElement(type)), *format));
  }
  switch (type) {
    case DataType::kFLOAT: return load<float>(data, index);
    case DataType::kINT64: return load<int64_t>(data, index);
    case DataType::kINT32: return static_cast<int64_t>(load<int32_t>(data, index));
    case DataType::kINT8: return static_cast<int64_t>(load<int8_t>(data, index));
    case DataType::kUINT8: return static_cast<int64_t>(load<uint8_t>(data, index));
    case DataType::kBOOL: return load<uint8_t>(data, index) != 0;
    case DataType::kINT4: {
      const auto bits = static_cast<int64_t>(readBits(data, index, 4));
      return bits < 8 ? bits : bits - 16;
    }
    default: {  // E8M0: a power of two
      const uint32_t bits = readBits(data, index, 8);
      return bits == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0F, static_cast<int>(bits) - 127);
    }
  }
}

void writeElement(DataType type, void* data, size_t index, double value) {
  if (const SmallFloat* format = smallFloat(type)) {
    writeBits(data, index, bitsPerElement(type), encode(value, *format));
    return;
  }
  switch (type) {
    case DataType::kFLOAT: {
      const auto narrow = static_cast<float>(value);
      std::memcpy(static_cast<char*>(data) + index * sizeof narrow, &narrow, sizeof narrow);
      return;
    }
    case DataType::kINT64: {
      const auto whole = static_cast<int64_t>(value);
      std::memcpy(static_cast<char*>(data) + index * sizeof whole, &whole, sizeof whole);
      return;
    }
    case DataType::kE8M0: {
      const int exponent = value > 0 ? static_cast<int>(std::lround(std::log2(value))) : -127;
      writeBits(data, index, 8, static_cast<uint32_t>(std::clamp(exponent + 127, 0, 254)));
      return;
    }
    case DataType::kBOOL: writeBits(data, index, 8, value != 0 ? 1 : 0); return;
    default: writeBits(data, index, bitsPerElement(type), static_cast<uint32_t>(static_cast<int32_t>(value))); return;
  }
}

void fillRandom(DataType type, void* data, size_t elements, std::string_view name) {
  std::mt19937_64 random(hashOf(name));
  for (size_t i = 0; i < elements; ++i) {
    const uint64_t bits = random();
    double value = 0;
    switch (type) {
      case DataType::kINT64:
      case DataType::kINT32:
      case DataType::kBOOL: value = static_cast<double>(bits >> 63); break;
      case DataType::kINT8: value = static_cast<double>(bits >> 56) - 128; break;
      case DataType::kUINT8: value = static_cast<double>(bits >> 56); break;
      case DataType::kINT4: value = static_cast<double>(bits >> 60) - 8; break;
      case DataType::kE8M0: value = 1; break;
      // 24 bits: a float holds each of these values exactly, so rounding never reaches 1.
      default: value = std::ldexp(static_cast<double>(bits >> 40), -23) - 1; break;
    }
    writeElement(type, data, i, value);
  }
}

}  // namespace tenon::trtexec
