// Shape programs: what they compute, and what is refused of them.
#include "ops/shape_binder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/error.h"

namespace tenon::ops {
namespace {

ShapeStep integers(std::vector<Extent> extents, DataType dtype = DataType::kI64) {
  ShapeStep step;
  step.layer = "known";
  step.dtype = dtype;
  step.dims = {static_cast<int64_t>(extents.size())};
  step.extents = std::move(extents);
  return step;
}

ShapeStep floats(std::vector<double> numbers) {
  ShapeStep step;
  step.layer = "scales";
  step.dtype = DataType::kF32;
  step.dims = {static_cast<int64_t>(numbers.size())};
  step.numbers = std::move(numbers);
  return step;
}

ShapeStep compute(std::string op, std::vector<int32_t> inputs, int32_t outputs = 1) {
  ShapeStep step;
  step.layer = "layer of " + op.substr(0, op.find('{'));
  step.op = std::move(op);
  step.inputs = std::move(inputs);
  step.outputs = outputs;
  return step;
}

const Extent kN = Extent::symbol("N");
const Extent kM = Extent::symbol("M");

std::string refusal(const ShapeProgram& program, SymbolValues symbols = {{"N", 7}, {"M", 3}}) {
  try {
    ShapeBinder(program).bind(symbols);
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected a UserError";
  return {};
}

void expectPart(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ShapeBinder, NothingIsNothing) {
  SymbolValues symbols{{"N", 2}};
  const ShapeBinder binder;
  EXPECT_TRUE(binder.empty());
  binder.bind(symbols);
  binder.check(symbols, {}, "profile 0");
  EXPECT_EQ(symbols.size(), 1U);
}

// floor(extent * scale) in single precision, against the same in plain C++.
TEST(ShapeBinder, SizesByFloatingScales) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto scale = static_cast<float>(static_cast<double>(random() % 100000) / 7919.0);
    ShapeProgram program;
    program.steps = {integers({kN, kM * kN}), floats({scale, scale}), compute("pointwise{expr=\"cast.f32(x0)\"}", {0}),
                     compute("pointwise{expr=\"mul(x0,x1)\"}", {2, 1}),
                     compute("pointwise{expr=\"floor(x0);cast.i64(t0)\"}", {3})};
    program.symbols = {{"size[0]", 4, 0}, {"size[1]", 4, 1}};
    const ShapeBinder binder(program);
    for (const int64_t n : {0, 1, 2, 17, 224, 1021}) {
      SymbolValues symbols{{"N", n}, {"M", 5}};
      binder.bind(symbols);
      EXPECT_EQ(symbols.at("size[0]"), static_cast<int64_t>(std::floor(static_cast<float>(n) * scale))) << scale;
      EXPECT_EQ(symbols.at("size[1]"), static_cast<int64_t>(std::floor(static_cast<float>(5 * n) * scale))) << scale;
    }
  }
}

// A later step is written over a symbol that an earlier one computes, and extents within its operator are too.
TEST(ShapeBinder, SymbolsServeTheStepsBehindThem) {
  ShapeProgram program;
  program.steps = {integers({Extent(0) - kN}), compute("pointwise{expr=\"abs(x0)\"}", {0}),
                   integers({Extent::symbol("a[0]") * Extent(2) + kM})};
  program.symbols = {{"a[0]", 1, 0}, {"b[0]", 2, 0}};
  program.steps.push_back(compute("fill{shape=['a[0]'] type=i64 start=4}", {}));
  program.steps.push_back(compute("reduce{op=sum axes=[0]}", {3}));
  program.symbols.push_back({"c[0]", 4, 0});
  SymbolValues symbols{{"N", 7}, {"M", 3}};
  ShapeBinder(program).bind(symbols);
  EXPECT_EQ(symbols, (SymbolValues{{"N", 7}, {"M", 3}, {"a[0]", 7}, {"b[0]", 17}, {"c[0]", 28}}));
}

TEST(ShapeBinder, BoundsNameLayerAndValues) {
  ShapeProgram program;
  program.steps = {integers({kN}), compute("pointwise{expr=\"abs(x0)\"}", {0})};
  program.symbols = {{"a[0]", 1, 0}};
  const ShapeBinder binder(program);
  SymbolValues symbols{{"N", 7}};
  binder.bind(symbols);
  const std::vector<Interval> wide{{7, 7}};
  EXPECT_NO_THROW(binder.check(symbols, wide, "profile 2"));
  for (const Interval narrow : {Interval{1, 6}, Interval{8, 9}}) {
    try {
      binder.check(symbols, std::vector<Interval>{narrow}, "profile 2");
      FAIL() << "expected a UserError";
    } catch (const UserError& error) {
      for (const auto& part : {std::string("layer 'layer of pointwise'"), std::string("is 7"),
                               fmt::format("expected {} to {}", narrow.low, narrow.high), std::string("profile 2")})
        expectPart(error.what(), part);
    }
  }
}

TEST(ShapeBinder, WhatCannotBeEvaluatedIsRefusedWithItsLayer) {
  ShapeProgram program;
  program.steps = {integers({kN, kM}), integers({Extent(2)}), compute("gather", {0, 1})};
  expectPart(refusal(program), "layer 'layer of gather': gather: index 2 is outside axis 0 of extent 2");
  program.steps[2] = compute("pointwise{expr=\"div(x0,x1)\"}", {1, 0});
  expectPart(refusal(program, {{"N", 0}, {"M", 1}}), "divides by 0");
  program.steps[2] = compute("pointwise{expr=\"add(x0,x1)\"}", {0, 1}, 2);
  expectPart(refusal(program), "1 results in a shape, expected 2");
  program.steps[2] = compute("fill{shape=[4611686018427387904] type=i64}", {});
  expectPart(refusal(program), "tensor of 4611686018427387904 elements");
  program.steps[2] = compute("fill{shape=[4611686018427387904,4611686018427387904] type=i64}", {});
  expectPart(refusal(program), "at most 65536 are possible");
  program.steps[2] = compute("fill{shape=[Q] type=i64}", {});
  expectPart(refusal(program), "cannot be evaluated");
  program.steps[2] = integers({kN}, DataType::kI32);
  program.steps[2].extents = {kN * Extent(int64_t{1} << 33)};
  expectPart(refusal(program), "which the type i32 cannot hold");
}

TEST(ShapeBinder, AllValuesTogetherAreLimited) {
  ShapeProgram program;
  for (int i = 0; i < 16; ++i) program.steps.push_back(compute("fill{shape=[65536] type=u8}", {}));
  SymbolValues symbols;
  EXPECT_NO_THROW(ShapeBinder(program).bind(symbols));
  program.steps.push_back(compute("fill{shape=[1] type=u8}", {}));
  expectPart(refusal(program), "1048576 in all such tensors");
}

struct Unsound {
  const char* what;
  ShapeProgram program;
};

TEST(ShapeBinder, UnsoundProgramsAreRefusedBeforeTheyRun) {
  const auto of = [](std::vector<ShapeStep> steps, std::vector<ShapeSymbol> symbols = {}) {
    return ShapeProgram{std::move(steps), std::move(symbols)};
  };
  auto both = compute("shape", {0});
  both.extents = {Extent(1)};
  auto mixed = integers({kN});
  mixed.numbers = {1};
  auto negative = integers({});
  negative.dims = {-1};
  auto huge = integers({});
  huge.dims = {int64_t{1} << 40, int64_t{1} << 40};
  auto reading = integers({kN});
  reading.inputs = {0};
  auto floating = floats({1, 2});
  floating.dims = {3};
  const std::vector<Unsound> cases{
      {"forward", of({compute("shape", {1}), integers({kN})})},
      {"itself", of({compute("shape", {0})})},
      {"below", of({integers({kN}), compute("shape", {-1})})},
      {"unknown operator", of({compute("teleport{}", {})})},
      {"syntax", of({compute("pointwise{expr=", {})})},
      {"no results", of({compute("fill{shape=[1] type=i64}", {}, 0)})},
      {"endless results", of({compute("fill{shape=[1] type=i64}", {}, INT32_MAX)})},
      {"a product of matrices", of({integers({kN}), compute("matmul", {0, 0})})},
      {"two sources", of({integers({kN}), both})},
      {"two kinds of elements", of({mixed})},
      {"too few elements", of({floating})},
      {"negative extent", of({negative})},
      {"huge extents", of({huge})},
      {"a known value that reads", of({integers({kN}), reading})},
      {"symbol of nothing", of({integers({kN})}, {{"a", 1, 0}})},
      {"symbol below", of({integers({kN})}, {{"a", -1, 0}})},
      {"element below", of({integers({kN})}, {{"a", 0, -1}})},
      {"symbol without name", of({integers({kN})}, {{"", 0, 0}})},
  };
  for (const auto& one : cases) EXPECT_THROW((void)ShapeBinder(one.program), UserError) << one.what;
  SymbolValues symbols{{"N", 1}};
  EXPECT_THROW(ShapeBinder(of({integers({kN})}, {{"a", 0, 1}})).bind(symbols), UserError);
  EXPECT_THROW(ShapeBinder(of({floats({1})}, {{"a", 0, 0}})).bind(symbols), UserError);
}

}  // namespace
}  // namespace tenon::ops
