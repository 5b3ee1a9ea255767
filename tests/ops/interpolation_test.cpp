// Resize, quantize and dequantize against hand-computed values and properties.
#include <cmath>
#include <limits>

#include "core/error.h"
#include "ops/op/dequantize.h"
#include "ops/op/quantize.h"
#include "ops/op/resize.h"
#include "support.h"

namespace tenon::ops {
namespace {

Resize make(ResizeMode mode, CoordinateTransform coordinates, Shape shape) {
  Resize op;
  op.mode = mode;
  op.coordinates = coordinates;
  op.shape = std::move(shape);
  return op;
}

TEST(Resize, NearestRoundings) {
  const auto resized = [](NearestRounding rounding, CoordinateTransform coordinates, int64_t out) {
    Resize op = make(ResizeMode::kNearest, coordinates, {out});
    op.rounding = rounding;
    return numbers(run1(op, tensor({4}, {0, 1, 2, 3})));
  };
  using C = CoordinateTransform;
  // Coordinates 0, 0.5, 1, ..., 3.5.
  EXPECT_EQ(resized(NearestRounding::kFloor, C::kAsymmetric, 8), (std::vector<double>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(resized(NearestRounding::kCeil, C::kAsymmetric, 8), (std::vector<double>{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(resized(NearestRounding::kHalfUp, C::kAsymmetric, 8), (std::vector<double>{0, 1, 1, 2, 2, 3, 3, 3}));
  EXPECT_EQ(resized(NearestRounding::kHalfDown, C::kAsymmetric, 8), (std::vector<double>{0, 0, 1, 1, 2, 2, 3, 3}));
  // Coordinates 0.5, 2.5.
  EXPECT_EQ(resized(NearestRounding::kHalfUp, C::kHalfPixel, 2), (std::vector<double>{1, 3}));
  EXPECT_EQ(resized(NearestRounding::kHalfDown, C::kHalfPixel, 2), (std::vector<double>{0, 2}));
  EXPECT_EQ(resized(NearestRounding::kFloor, C::kAlignCorners, 7), (std::vector<double>{0, 0, 1, 1, 2, 2, 3}));
}

TEST(Resize, ExactRatiosPickExactElements) {
  // Coordinates o * 9 / 15 meet integers; a rounded scale must not fall below them.
  for (int64_t in = 1; in <= 12; ++in) {
    for (int64_t out = 1; out <= 40; ++out) {
      std::vector<double> values;
      for (int64_t i = 0; i < in; ++i) values.push_back(static_cast<double>(i));
      const auto got =
          numbers(run1(make(ResizeMode::kNearest, CoordinateTransform::kAsymmetric, {out}), tensor({in}, values)));
      for (int64_t o = 0; o < out; ++o)
        EXPECT_EQ(got[static_cast<size_t>(o)], static_cast<double>(o * in / out)) << in << " " << out;
    }
  }
}

TEST(Resize, LinearByHand) {
  using C = CoordinateTransform;
  const auto linear = [](C coordinates, int64_t out) {
    return numbers(run1(make(ResizeMode::kLinear, coordinates, {1, out}), tensor({1, 2}, {10, 20})));
  };
  expectNear(linear(C::kHalfPixel, 4), {10, 12.5, 17.5, 20});
  expectNear(linear(C::kAsymmetric, 4), {10, 15, 20, 20});
  expectNear(linear(C::kAlignCorners, 4), {10, 40.0 / 3, 50.0 / 3, 20});
  expectNear(linear(C::kHalfPixel, 1), {15});
  expectNear(linear(C::kAlignCorners, 1), {10});
}

TEST(Resize, SelectorOfSinglePixel) {
  Resize op = make(ResizeMode::kLinear, CoordinateTransform::kHalfPixel, {1});
  op.selector = SelectorForSinglePixel::kUpper;
  EXPECT_EQ(numbers(run1(op, tensor({2}, {10, 20}))), (std::vector<double>{10}));
}

// Linear interpolation reproduces linear functions inside, cubic with coefficient -0.5 quadratic ones.
TEST(Resize, ReproducesPolynomials) {
  const auto polynomial = [](double x, bool quadratic) { return quadratic ? x * x - 3 * x + 1 : 2 * x - 1; };
  for (const bool cubic : {false, true}) {
    std::vector<double> values;
    for (int i = 0; i < 10; ++i) values.push_back(polynomial(i, cubic));
    Resize op = make(cubic ? ResizeMode::kCubic : ResizeMode::kLinear, CoordinateTransform::kHalfPixel, {23});
    op.cubicCoeff = -0.5;
    const auto got = numbers(run1(op, tensor({10}, values)));
    for (size_t o = 0; o < 23; ++o) {
      const double x = (static_cast<double>(o) + 0.5) * 10 / 23 - 0.5;
      if (x >= 1 && x <= 8) {
        EXPECT_NEAR(got[o], polynomial(x, cubic), 1e-4) << o;
      }
    }
  }
}

TEST(Resize, CubicWeightsByHand) {
  // At 0.5 between elements the weights are a/8 * (1, -1 + ..): (-3, 19, 19, -3) / 32 for a = -0.75.
  Resize op = make(ResizeMode::kCubic, CoordinateTransform::kAsymmetric, {8});
  const auto got = numbers(run1(op, tensor({4}, {1, 10, 100, 1000})));
  EXPECT_NEAR(got[3], (-3 * 1 + 19 * 10 + 19 * 100 - 3 * 1000) / 32.0, 1e-3);
  EXPECT_NEAR(got[1], (-3 * 1 + 19 * 1 + 19 * 10 - 3 * 100) / 32.0, 1e-3);  // the edge repeats
  op.excludeOutside = true;
  EXPECT_NEAR(numbers(run1(op, tensor({4}, {1, 10, 100, 1000})))[1], (19 * 1 + 19 * 10 - 3 * 100) / 35.0, 1e-3);
}

TEST(Resize, IsSeparable) {
  Rng rng(41);
  for (const auto mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    const auto x = randomTensor(rng, {3, 4});
    const auto at = [&](Shape shape, const HostTensor& in) {
      return run1(make(mode, CoordinateTransform::kHalfPixel, std::move(shape)), tensor(in.view().dims, numbers(in)));
    };
    expectNear(numbers(at({7, 5}, x)), numbers(at({7, 5}, at({7, 4}, x))));
    EXPECT_EQ(numbers(at({3, 4}, x)), numbers(x));
  }
}

TEST(Resize, GivenScales) {
  Resize op = make(ResizeMode::kLinear, CoordinateTransform::kAsymmetric, {5});
  op.scales = {2.5};  // not out / in: coordinates o / 2.5
  expectNear(numbers(run1(op, tensor({2}, {0, 10}))), {0, 4, 8, 10, 10});
}

TEST(Resize, IntegersEmptyAndErrors) {
  EXPECT_EQ(numbers(run1(make(ResizeMode::kLinear, CoordinateTransform::kAsymmetric, {4}),
                         tensor({2}, {1, 2}, DataType::kI8))),
            (std::vector<double>{1, 2, 2, 2}));
  EXPECT_EQ(run1(make(ResizeMode::kLinear, CoordinateTransform::kHalfPixel, {0, 3}), tensor({0, 2}, {})).view().count(),
            0);
  const auto infer = [](const Resize& op) { return inferOf(op, {typed({2, 2})}); };
  EXPECT_THROW(infer(make(ResizeMode::kLinear, CoordinateTransform::kHalfPixel, {4})), UserError);
  EXPECT_THROW(inferOf(make(ResizeMode::kLinear, CoordinateTransform::kHalfPixel, {4}), {typed({0})}), UserError);
  Resize scaled = make(ResizeMode::kLinear, CoordinateTransform::kHalfPixel, {4, 4});
  scaled.scales = {2};
  EXPECT_THROW(infer(scaled), UserError);
  scaled.scales = {2, 0};
  EXPECT_THROW(infer(scaled), UserError);
}

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  const auto out = run1(Quantize{}, tensor({8}, {0.25, 0.75, 1.25, -0.25, -0.75, 1000, -1000, 0.5}), tensor({}, {0.5}));
  EXPECT_EQ(out.view().dtype, DataType::kI8);
  EXPECT_EQ(numbers(out), (std::vector<double>{0, 2, 2, 0, -2, 127, -128, 1}));
}

// ONNX and TensorRT divide in f32: quotients that are not on the middle between two numbers come to lie on it.
TEST(Quantize, DividesInF32) {
  constexpr float kScale = 0.1f;
  std::vector<double> x, expected;
  int differing = 0;
  for (int i = -1250; i < 1250; ++i) {
    const auto tie = static_cast<float>((i / 10 + 0.5) * 0.1);
    const float value = i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? 100.f : -100.f);
    x.push_back(static_cast<double>(value));
    expected.push_back(static_cast<double>(std::nearbyint(value / kScale)));
    differing += expected.back() != std::nearbyint(x.back() / static_cast<double>(kScale));
  }
  const Dims dims{static_cast<int64_t>(x.size())};
  EXPECT_GT(differing, 50);
  EXPECT_EQ(numbers(run1(Quantize{}, tensor(dims, x), tensor({}, {static_cast<double>(kScale)}))), expected);
  const Dims perElement{1, dims[0]};
  EXPECT_EQ(numbers(run1(Quantize{0}, tensor(perElement, x), tensor({1}, {static_cast<double>(kScale)}))), expected);
}

TEST(Quantize, ZeroPointAxisAndBlocks) {
  EXPECT_EQ(numbers(run1(Quantize{-1, DataType::kU8}, tensor({3}, {-1, 0, 300}), tensor({1}, {1}),
                         tensor({1}, {10}, DataType::kU8))),
            (std::vector<double>{9, 10, 255}));
  EXPECT_EQ(numbers(run1(Quantize{0}, tensor({2, 2}, {1, 2, 3, 4}), tensor({2}, {1, 0.5}))),
            (std::vector<double>{1, 2, 6, 8}));
  EXPECT_EQ(numbers(run1(Quantize{1}, tensor({2, 2}, {1, 2, 3, 4}), tensor({2}, {1, 0.5}))),
            (std::vector<double>{1, 4, 3, 8}));
  EXPECT_EQ(numbers(run1(Quantize{0, DataType::kI4}, tensor({4, 1}, {1, 2, 3, 4}), tensor({2, 1}, {1, 0.5}))),
            (std::vector<double>{1, 2, 6, 7}));
  EXPECT_EQ(numbers(run1(Quantize{-1, DataType::kF8E4M3}, tensor({3}, {1.0625, 1000, -0.3}), tensor({}, {1}))),
            (std::vector<double>{1, 448, -0.3125}));
}

TEST(Dequantize, UndoesQuantize) {
  Rng rng(42);
  for (const auto type : {DataType::kI8, DataType::kU8, DataType::kI4}) {
    std::vector<double> codes;
    const double low = type == DataType::kU8 ? 0 : type == DataType::kI8 ? -128 : -8;
    const double high = type == DataType::kU8 ? 255 : type == DataType::kI8 ? 127 : 7;
    for (double code = low; code <= high; ++code) codes.push_back(code);
    const Dims dims{static_cast<int64_t>(codes.size())};
    const auto real = run1(Dequantize{}, tensor(dims, codes, type), tensor({}, {0.125}), tensor({}, {3}, type));
    EXPECT_EQ(real.view().loadDouble(0), (low - 3) * 0.125);
    EXPECT_EQ(
        numbers(run1(Quantize{-1, type}, tensor(dims, numbers(real)), tensor({}, {0.125}), tensor({}, {3}, type))),
        codes);
  }
}

TEST(Dequantize, Errors) {
  EXPECT_THROW(inferOf(Dequantize{}, {typed({2}), typed({})}), UserError);
  EXPECT_THROW(inferOf(Dequantize{-1, DataType::kI32}, {typed({2}, DataType::kI8), typed({})}), UserError);
  EXPECT_THROW(inferOf(Quantize{-1, DataType::kI32}, {typed({2}), typed({})}), UserError);
  EXPECT_THROW(inferOf(Quantize{0}, {typed({3, 2}), typed({2})}), UserError);
  EXPECT_THROW(inferOf(Quantize{0}, {typed({3, 2}), typed({2, 2})}), UserError);
  EXPECT_THROW(inferOf(Quantize{0}, {typed({3, 2}), typed({3}), typed({2})}), UserError);
  EXPECT_THROW(inferOf(Quantize{0}, {typed({3, 2}), typed({3}, DataType::kI8)}), UserError);
}

}  // namespace
}  // namespace tenon::ops
