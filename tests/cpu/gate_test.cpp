// Rows of swish and hard swish against the formula in double: widths beside those of vectors, strides, values at the
// ends.
#include "backends/cpu/kernels/simd/gate_simd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tenon::test {
namespace {

using backends::cpu::GateCall;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUntouched = 12345.f;

struct Rows {
  Rows(int64_t count, int64_t columns, int64_t step, uint64_t seed)
      : stride(columns + step), values(static_cast<size_t>(count * stride + 1)) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 8);
    for (auto& value : values) value = normal(random);
  }
  float at(int64_t r, int64_t j) const { return values[static_cast<size_t>(r * stride + j)]; }
  int64_t stride;
  std::vector<float> values;
};

double expected(const GateCall& call, double x, double addend) {
  const double gate = call.isHard ? std::fmin(1, std::fmax(0, call.slope * x + call.offset)) : 1 / (1 + std::exp(-x));
  return std::fmin(call.high, std::fmax(call.low, x * gate + addend));
}

void check(GateCall call, int64_t rows, int64_t width, bool adds) {
  const Rows from(rows, width, 5, 1);
  const Rows addend(rows, width, 2, 2);
  Rows out(rows, width, 3, 3);
  std::fill(out.values.begin(), out.values.end(), kUntouched);
  call.from = from.values.data();
  call.fromStride = from.stride;
  call.rows = rows;
  call.width = width;
  call.addend = adds ? addend.values.data() : nullptr;
  call.addendStride = addend.stride;
  call.out = out.values.data();
  call.outStride = out.stride;
  backends::cpu::gateFunction()(call);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < out.stride; ++j) {
      if (j >= width) {
        ASSERT_EQ(out.at(r, j), kUntouched) << r << ' ' << j;
        continue;
      }
      const double wanted = expected(call, from.at(r, j), adds ? addend.at(r, j) : 0);
      const double scale = std::fabs(from.at(r, j)) + (adds ? std::fabs(addend.at(r, j)) : 0);
      ASSERT_NEAR(out.at(r, j), wanted, 3e-7 * scale) << r << ' ' << j << " of width " << width;
    }
  }
}

TEST(Gates, MatchTheFormula) {
  for (const bool isHard : {false, true}) {
    for (const auto& [low, high] : {std::pair{-kInfinity, kInfinity}, std::pair{-0.25f, 2.f}}) {
      GateCall call;
      call.isHard = isHard;
      call.slope = 0.2f;
      call.offset = 0.5f;
      call.low = low;
      call.high = high;
      for (int64_t width = 0; width <= 67; ++width) {
        check(call, 3, width, false);
        check(call, 2, width, true);
      }
      check(call, 0, 16, false);
      check(call, 1, 10007, true);
    }
  }
}

TEST(Gates, EndsOfTheRange) {
  const std::vector<float> values = {0.f,   -0.f,  1e-40f,    -1e-40f, 87.f,   -87.f,   88.f,
                                     -88.f, 1e30f, kInfinity, 1e-20f,  -100.f, -1000.f, std::nanf("")};
  std::vector<float> out(values.size());
  GateCall call;
  call.from = values.data();
  call.rows = 1;
  call.width = static_cast<int64_t>(values.size());
  call.low = -kInfinity;
  call.high = kInfinity;
  call.out = out.data();
  backends::cpu::gateFunction()(call);
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double wanted = expected(call, values[i], 0);
    if (std::isinf(wanted)) {
      EXPECT_EQ(out[i], wanted) << values[i];
    } else {
      EXPECT_NEAR(out[i], wanted, 3e-7 * std::fabs(wanted) + 1e-34) << values[i];
    }
  }
  EXPECT_TRUE(std::isnan(out.back()));
}

}  // namespace
}  // namespace tenon::test
