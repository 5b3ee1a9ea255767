// Element types: conversions of the narrow floating types against their definition, packed loads and stores.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"

namespace tenon {
namespace {

constexpr DataType kAll[] = {DataType::kF32,    DataType::kF16,  DataType::kBF16, DataType::kF8E4M3,
                             DataType::kF4E2M1, DataType::kE8M0, DataType::kI64,  DataType::kI32,
                             DataType::kI8,     DataType::kU8,   DataType::kI4,   DataType::kBool};

// The value of a code with so many exponent and mantissa bits, from the definition; no special codes.
double valueOf(uint32_t code, int exponentBits, int mantissaBits) {
  const uint32_t mantissa = code & ((1u << mantissaBits) - 1);
  const int exponent = static_cast<int>((code >> mantissaBits) & ((1u << exponentBits) - 1));
  const int bias = (1 << (exponentBits - 1)) - 1;
  const bool negative = ((code >> (exponentBits + mantissaBits)) & 1) != 0;
  const double fraction = mantissa / std::exp2(mantissaBits);
  const double magnitude = exponent == 0 ? fraction * std::exp2(1 - bias) : (1 + fraction) * std::exp2(exponent - bias);
  return negative ? -magnitude : magnitude;
}

uint64_t codeOf(DataType type, double value) {
  uint64_t storage = 0;
  storeDouble(type, &storage, 0, value);
  return storage;
}

double valueOfCode(DataType type, uint64_t code) { return loadDouble(type, &code, 0); }

TEST(DataType, NamesReadBack) {
  for (const auto type : kAll) EXPECT_EQ(parseDataType(name(type)), type);
  EXPECT_THROW(parseDataType("f64"), UserError);
  EXPECT_THROW(parseDataType(""), UserError);
}

TEST(DataType, EveryHalf) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = halfToFloat(static_cast<uint16_t>(code));
    if ((code & 0x7c00) == 0x7c00) {
      EXPECT_EQ(std::isinf(value), (code & 0x3ff) == 0) << code;
      EXPECT_EQ(std::isnan(value), (code & 0x3ff) != 0) << code;
      EXPECT_EQ(std::signbit(value), code >= 0x8000) << code;
      if (std::isinf(value)) {
        EXPECT_EQ(floatToHalf(value), code);
      }
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value)))) << code;
      }
      continue;
    }
    EXPECT_EQ(static_cast<double>(value), valueOf(code, 5, 10)) << code;
    EXPECT_EQ(floatToHalf(value), code);
  }
}

TEST(DataType, EveryBfloat) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = bfloatToFloat(static_cast<uint16_t>(code));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(value)))) << code;
    } else {
      EXPECT_EQ(floatToBfloat(value), code);
      if (!std::isinf(value)) {
        EXPECT_EQ(static_cast<double>(value), valueOf(code, 8, 7)) << code;
      }
    }
  }
}

TEST(DataType, EveryFp8) {
  for (uint32_t code = 0; code < 256; ++code) {
    const float value = fp8ToFloat(static_cast<uint8_t>(code));
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    EXPECT_EQ(static_cast<double>(value), valueOf(code, 4, 3)) << code;
    EXPECT_EQ(floatToFp8(value), code);
  }
  EXPECT_EQ(floatToFp8(1e9f), 0x7e);
  EXPECT_EQ(floatToFp8(-std::numeric_limits<float>::infinity()), 0xfe);
}

// Between two neighbours: below the middle the lower, above it the upper, in the middle the even code. Doubles, so that
// a rounding through float would show.
void checkMidpoints(DataType type, uint32_t codes) {
  for (uint32_t code = 0; code + 1 < codes; ++code) {
    const double low = valueOfCode(type, code);
    const double high = valueOfCode(type, code + 1);
    const double middle = (low + high) / 2;
    EXPECT_EQ(codeOf(type, middle), code % 2 == 0 ? code : code + 1) << name(type) << " " << code;
    EXPECT_EQ(codeOf(type, middle * (1 - 1e-14)), code) << name(type) << " " << code;
    EXPECT_EQ(codeOf(type, middle * (1 + 1e-14)), code + 1) << name(type) << " " << code;
  }
}

TEST(DataType, RoundsToNearestEven) {
  checkMidpoints(DataType::kF16, 0x7c00);
  checkMidpoints(DataType::kBF16, 0x7f80);
  checkMidpoints(DataType::kF8E4M3, 0x7f);
  checkMidpoints(DataType::kF4E2M1, 8);
}

TEST(DataType, HalfOverflow) {
  EXPECT_EQ(floatToHalf(65504.f), 0x7bff);
  EXPECT_EQ(floatToHalf(65519.996f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.f), 0x7c00);
  EXPECT_EQ(codeOf(DataType::kF16, 1e300), 0x7c00u);
  EXPECT_EQ(codeOf(DataType::kF16, -1e-300), 0x8000u);
}

TEST(DataType, EveryFp4) {
  const double expected[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint32_t code = 0; code < 16; ++code) {
    EXPECT_EQ(valueOfCode(DataType::kF4E2M1, code), code < 8 ? expected[code] : -expected[code - 8]);
    EXPECT_EQ(codeOf(DataType::kF4E2M1, valueOfCode(DataType::kF4E2M1, code)), code);
  }
  EXPECT_EQ(codeOf(DataType::kF4E2M1, 100), 7u);
}

TEST(DataType, EveryE8M0) {
  for (uint32_t code = 0; code < 255; ++code) {
    EXPECT_EQ(valueOfCode(DataType::kE8M0, code), std::exp2(static_cast<int>(code) - 127));
    EXPECT_EQ(codeOf(DataType::kE8M0, valueOfCode(DataType::kE8M0, code)), code);
  }
  EXPECT_TRUE(std::isnan(valueOfCode(DataType::kE8M0, 255)));
  EXPECT_EQ(codeOf(DataType::kE8M0, std::nan("")), 255u);
  EXPECT_EQ(codeOf(DataType::kE8M0, std::numeric_limits<double>::infinity()), 254u);
  EXPECT_EQ(codeOf(DataType::kE8M0, -3.0), 0u);
}

TEST(DataType, IntegersSaturateAndTruncate) {
  EXPECT_EQ(loadInt(DataType::kI8, "\x80", 0), -128);
  uint64_t storage = 0;
  const auto through = [&](DataType type, double value) {
    storeDouble(type, &storage, 0, value);
    return loadInt(type, &storage, 0);
  };
  EXPECT_EQ(through(DataType::kI8, 127.9), 127);
  EXPECT_EQ(through(DataType::kI8, 1e9), 127);
  EXPECT_EQ(through(DataType::kI8, -1e9), -128);
  EXPECT_EQ(through(DataType::kU8, -1), 0);
  EXPECT_EQ(through(DataType::kU8, 300), 255);
  EXPECT_EQ(through(DataType::kI4, -2.7), -2);
  EXPECT_EQ(through(DataType::kI4, 9), 7);
  EXPECT_EQ(through(DataType::kI4, -9), -8);
  EXPECT_EQ(through(DataType::kI32, 3e9), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(through(DataType::kI64, 1e30), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(through(DataType::kI64, -std::numeric_limits<double>::infinity()), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(through(DataType::kI64, std::nan("")), 0);
  EXPECT_EQ(through(DataType::kBool, 0.25), 1);
  EXPECT_EQ(through(DataType::kBool, 0), 0);
}

TEST(DataType, PackedElementsKeepTheirNeighbours) {
  std::mt19937 engine(1);
  for (const auto type : kAll) {
    std::vector<unsigned char> storage(bytesOf(type, 17));
    std::vector<double> expected(17);
    for (int round = 0; round < 200; ++round) {
      const auto index = static_cast<int64_t>(engine() % 17);
      const double value = type == DataType::kE8M0 ? std::exp2(static_cast<int>(engine() % 20) - 10.0)
                                                   : static_cast<double>(engine() % 2);
      if (expected[static_cast<size_t>(index)] == 0 || type != DataType::kE8M0)
        expected[static_cast<size_t>(index)] = value;
      storeDouble(type, storage.data(), index, expected[static_cast<size_t>(index)]);
      for (int64_t i = 0; i < 17; ++i) {
        const double at = expected[static_cast<size_t>(i)];
        if (at != 0 || type != DataType::kE8M0) {
          EXPECT_EQ(loadDouble(type, storage.data(), i), at) << name(type);
        }
      }
    }
  }
}

TEST(DataType, Int64IsExact) {
  for (const int64_t value :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), (int64_t{1} << 53) + 1}) {
    int64_t storage = 0;
    storeInt(DataType::kI64, &storage, 0, value);
    EXPECT_EQ(loadInt(DataType::kI64, &storage, 0), value);
  }
}

TEST(DataType, BytesRoundUp) {
  EXPECT_EQ(bytesOf(DataType::kI4, 0), 0u);
  EXPECT_EQ(bytesOf(DataType::kI4, 1), 1u);
  EXPECT_EQ(bytesOf(DataType::kI4, 3), 2u);
  EXPECT_EQ(bytesOf(DataType::kF32, 3), 12u);
}

}  // namespace
}  // namespace tenon
