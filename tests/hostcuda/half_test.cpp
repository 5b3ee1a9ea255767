// The 16-bit types of the header subset: every value, and rounding against a search for the nearest.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

#include "support.h"

namespace hostcuda_test {
namespace {

// All finite values of a 16-bit type in rising order, from 0 to the greatest, by the definition of the format.
std::vector<double> magnitudes(int exponentBits, int fractionBits) {
  std::vector<double> values;
  const int bias = (1 << (exponentBits - 1)) - 1;
  for (int bits = 0; bits < ((1 << exponentBits) - 1) << fractionBits; ++bits) {
    const int exponent = bits >> fractionBits;
    const double fraction = std::ldexp(bits & ((1 << fractionBits) - 1), -fractionBits);
    values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
  }
  return values;
}

// The place of the nearest magnitude, ties to the even place; the place after the last is infinity.
uint16_t nearest(const std::vector<double>& values, double magnitude) {
  const size_t above = std::lower_bound(values.begin(), values.end(), magnitude) - values.begin();
  if (above == 0) return 0;
  const double next = above < values.size() ? values[above] : 2 * values.back() - values[above - 2];
  const double low = magnitude - values[above - 1];
  const double high = next - magnitude;
  if (low != high) return static_cast<uint16_t>(low < high ? above - 1 : above);
  return static_cast<uint16_t>(above % 2 == 0 ? above : above - 1);
}

std::vector<float> hardFloats(const std::vector<double>& values) {
  std::vector<float> floats{0.0f, -0.0f, INFINITY, -INFINITY, 1e30f, 1e-30f, 65519.996f, 65520.0f, 1e-45f};
  for (size_t i = 1; i + 1 < values.size(); i += 13) {
    const auto middle = static_cast<float>((values[i] + values[i + 1]) / 2);
    for (const float value : {middle, std::nextafter(middle, INFINITY), std::nextafter(middle, 0.0f)}) {
      floats.push_back(value);
      floats.push_back(-value);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isnan(value)) floats.push_back(value);
  }
  return floats;
}

TEST(Half, RoundsToTheNearest) {
  const std::vector<double> values = magnitudes(5, 10);
  for (const float value : hardFloats(values)) {
    const uint16_t expected =
        nearest(values, std::fabs(static_cast<double>(value))) | (std::signbit(value) ? 0x8000 : 0);
    __half_raw raw = __float2half(value);
    ASSERT_EQ(std::isinf(value) ? (std::signbit(value) ? 0xfc00 : 0x7c00) : expected, raw.x) << value;
  }
  __half_raw nan = __float2half(NAN);
  EXPECT_GT(nan.x & 0x7fff, 0x7c00);
}

TEST(Half, KeepsEveryValue) {
  const std::vector<double> values = magnitudes(5, 10);
  for (size_t i = 0; i < values.size(); ++i) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(i);
    ASSERT_EQ(values[i], static_cast<double>(__half2float(__half(raw))));
    raw.x |= 0x8000;
    ASSERT_EQ(-values[i], static_cast<double>(__half2float(__half(raw))));
  }
}

TEST(Bfloat16, RoundsToTheNearest) {
  const std::vector<double> values = magnitudes(8, 7);
  for (const float value : hardFloats(values)) {
    const uint16_t expected =
        nearest(values, std::fabs(static_cast<double>(value))) | (std::signbit(value) ? 0x8000 : 0);
    __nv_bfloat16_raw raw = __float2bfloat16(value);
    ASSERT_EQ(std::isinf(value) ? (std::signbit(value) ? 0xff80 : 0x7f80) : expected, raw.x) << value;
    if (!std::isinf(value) && (expected & 0x7fff) < values.size()) {
      ASSERT_EQ(values[expected & 0x7fff], std::fabs(static_cast<double>(__bfloat162float(__nv_bfloat16(raw)))));
    }
  }
}

}  // namespace
}  // namespace hostcuda_test
