// Elements of shape tensors: what the algebra follows, and what becomes a symbol of the graph's shape program.
#include <gtest/gtest.h>

#include <random>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/phases.h"
#include "ops/op/concat.h"
#include "ops/op/fill.h"
#include "ops/op/gather.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/shape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::graph {
namespace {

using ops::TensorType;

ops::Operator pointwise(const std::string& expr) { return ops::Pointwise{ops::parseScalarExpr(expr)}; }

ConstantPtr floats(const std::vector<float>& values) {
  HostTensor tensor(DataType::kF32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.view().as<float>());
  return Constant::own(std::move(tensor));
}

// x [N,M], and its extents.
struct Base {
  Base() {
    x = graph.addInput("x", {DataType::kF32, {Extent::symbol("N"), Extent::symbol("M")}, std::nullopt});
    shape = graph.add(ops::ShapeOf{}, "shape", {x});
  }
  // The elements for x of these extents.
  std::vector<int64_t> at(const std::vector<Extent>& elements, int64_t n, int64_t m) const {
    HostTensor tensor(DataType::kF32, {n, m});
    const TensorView inputs[] = {tensor.view()};
    const auto symbols = bindSymbols(graph, inputs);
    std::vector<int64_t> result;
    for (const auto& element : elements) result.push_back(element.evaluate(symbols));
    return result;
  }
  Graph graph;
  ValueId x = kNone;
  ValueId shape = kNone;
};

using Ints = std::vector<int64_t>;

TEST(ShapeElements, WhatTheAlgebraFollowsNeedsNoProgram) {
  Base base;
  const auto sum = base.graph.add(pointwise("add(x0,x0)"), "double", {base.shape});
  EXPECT_EQ(base.graph.shapeElements(sum)[0].text(), "2*N");
  EXPECT_TRUE(base.graph.shapes().empty());
}

TEST(ShapeElements, FloatingArithmeticIsComputed) {
  Base base;
  auto& graph = base.graph;
  const auto real = graph.add(pointwise("cast.f32(x0)"), "real", {base.shape});
  const auto product =
      graph.add(pointwise("mul(x0,x1)"), "product", {real, graph.addConstant(floats({0.7310586F, 1.3F}))});
  const auto scaled = graph.add(pointwise("floor(x0)"), "scaled", {product});
  const auto size = graph.add(pointwise("cast.i64(x0)"), "size", {scaled});
  const auto& elements = graph.shapeElements(size);
  ASSERT_EQ(elements.size(), 2U);
  EXPECT_EQ(elements[0], Extent::symbol("size[0]"));
  EXPECT_EQ(base.at(elements, 100, 10), (Ints{73, 13}));
  EXPECT_EQ(base.at(elements, 0, 1), (Ints{0, 1}));
  EXPECT_EQ(&graph.shapeElements(size), &elements);  // once
  EXPECT_EQ(graph.shapes().symbols.size(), 2U);
}

// The cut is at the first operator that is not followed: -1 and other constants behind it stay what they are.
TEST(ShapeElements, TheAlgebraGoesOnBehindTheCut) {
  Base base;
  auto& graph = base.graph;
  const auto index = graph.add(pointwise("mod(x0,x1)"), "index",
                               {graph.add(ops::Slice{{Extent(0)}, {Extent(1)}, {}}, "first", {base.shape}),
                                graph.addConstant(Constant::ofInts({2}))});
  const auto picked = graph.add(ops::Gather{}, "picked", {base.shape, index});
  const auto both = graph.add(ops::Concat{}, "both", {graph.addConstant(Constant::ofInts({-1})), picked});
  const auto twice = graph.add(pointwise("mul(x0,2)"), "twice", {both});
  const auto& elements = graph.shapeElements(twice);
  EXPECT_EQ(elements[0], Extent(-2));
  EXPECT_EQ(elements[1], Extent(2) * Extent::symbol("picked[0]"));
  EXPECT_EQ(base.at(elements, 4, 9), (Ints{-2, 8}));
  EXPECT_EQ(base.at(elements, 5, 9), (Ints{-2, 18}));
}

// Paddings as exporters write them: pairs from the last axis to the first, turned around in a matrix. The zeros of the
// axes that are not padded stay zeros.
TEST(ShapeElements, ListsThatMoveThroughMatricesKeepTheirElements) {
  Base base;
  auto& graph = base.graph;
  const auto real = graph.add(pointwise("cast.f32(x0);mul(t0,0.3);floor(t1)"), "real", {base.shape});
  const auto computed = graph.add(pointwise("cast.i64(x0)"), "computed", {real});
  const auto list = graph.add(ops::Concat{}, "list", {computed, graph.addConstant(Constant::ofInts({0, 0}))});
  const auto pairs = graph.add(ops::Reshape{{2, 2}}, "pairs", {list});
  const auto turned = graph.add(ops::Slice{{1, 0}, {2, 2}, {-1, 1}}, "turned", {pairs});
  const auto columns = graph.add(ops::Transpose{{1, 0}}, "columns", {turned});
  const auto flat = graph.add(ops::Reshape{{4}}, "flat", {columns});
  const auto& elements = graph.shapeElements(flat);
  ASSERT_EQ(elements.size(), 4U);
  EXPECT_EQ(elements[0], Extent(0));
  EXPECT_EQ(elements[1], Extent::symbol("computed[0]"));
  EXPECT_EQ(elements[2], Extent(0));
  EXPECT_EQ(elements[3], Extent::symbol("computed[1]"));
  EXPECT_EQ(base.at(elements, 10, 7), (Ints{0, 3, 0, 2}));
  EXPECT_EQ(graph.shapes().symbols.size(), 2U);
}

TEST(ShapeElements, ConstantsNeedNoSymbols) {
  Graph graph;
  const auto size = graph.add(pointwise("exp(x0);cast.i64(t0)"), "size", {graph.addConstant(floats({1, 5, 0}))});
  EXPECT_EQ(graph.shapeElements(size), (std::vector<Extent>{2, 148, 1}));
  EXPECT_TRUE(graph.shapes().empty());
}

TEST(ShapeElements, ValuesOfTheDeviceBecomeSizes) {
  Graph graph;
  const auto real = graph.addInput("real", {DataType::kF32, {Extent(2)}, std::nullopt});
  const auto data = graph.add(pointwise("cast.i64(x0)"), "data", {real});
  const auto size = graph.add(pointwise("abs(x0)"), "size", {data});
  const auto texts = [&](ValueId id) {
    std::string all;
    for (const auto& element : graph.shapeElements(id)) all += element.text() + " ";
    return all;
  };
  EXPECT_EQ(texts(size), "max('data.value[0]',-'data.value[0]') max('data.value[1]',-'data.value[1]') ")
      << "cut as early as possible";
  EXPECT_TRUE(graph.shapes().empty());
  const auto plain = graph.add(pointwise("neg(x0)"), "plain", {data});
  EXPECT_EQ(texts(plain), "-'data.value[0]' -'data.value[1]' ") << "known already";
  EXPECT_EQ(phasesOf(graph).count, 1) << "nothing needs them";
  EXPECT_THROW((void)graph.shapeElements(real), UserError);
  const auto flags = graph.addInput("flags", {DataType::kBool, {Extent(2)}, std::nullopt});
  EXPECT_THROW((void)graph.shapeElements(flags), UserError) << "an input is a shape tensor or not";
  const auto open = graph.addInput("open", {DataType::kI64, {Extent::symbol("K")}, std::nullopt});
  EXPECT_THROW((void)graph.shapeElements(open), UserError);
}

// A chain whose expression grows by a term or more each time; without the limit it would double with each step.
TEST(ShapeElements, LongExpressionsBecomeSymbols) {
  Base base;
  auto& graph = base.graph;
  auto value = base.shape;
  const auto swap = graph.addConstant(Constant::ofInts({1, 0}));
  int64_t n = 3, m = 2;
  for (int i = 0; i < 30; ++i) {
    const auto other = graph.add(ops::Gather{}, "swap", {value, swap});
    value = graph.add(pointwise("mul(x0,x0);add(t0,x1);floor_div(t1,3);max(t2,x1)"), "step", {value, other});
    const int64_t nextN = std::max((n * n + m) / 3, m);
    const int64_t nextM = std::max((m * m + n) / 3, n);
    n = nextN % 101;
    m = nextM % 101;
    value = graph.add(pointwise("mod(x0,101)"), "wrap", {value});
    const auto& elements = graph.shapeElements(value);
    for (const auto& element : elements) EXPECT_LE(element.text().size(), 2048U);
    EXPECT_EQ(base.at(elements, 3, 2), (Ints{n, m})) << i;
  }
}

TEST(ShapeElements, TextReadsBack) {
  Base base;
  auto& graph = base.graph;
  graph.addSymbol("N", {SymbolSource::Kind::kInputExtent, "x", 0});
  graph.addSymbol("M", {SymbolSource::Kind::kInputExtent, "x", 1});
  const auto size = graph.add(pointwise("cast.f32(x0);sqrt(t0);cast.i64(t1)"), "a \"quoted\" name", {base.shape});
  const auto elements = graph.shapeElements(size);
  const auto grid = graph.add(ops::Fill{elements, DataType::kF32}, "grid", {});
  graph.addOutput(grid, "y");
  const auto written = text(graph);
  const auto again = parse(written);
  EXPECT_EQ(again.shapes(), graph.shapes());
  EXPECT_EQ(text(again), written);
  EXPECT_EQ(hash(again), hash(graph));
  HostTensor x(DataType::kF32, {17, 100});
  const TensorView inputs[] = {x.view()};
  EXPECT_EQ(evaluate(again, inputs)[0].view().dims, (Dims{4, 10}));
  for (const char* broken : {"shape 1 \"a\" : i64[1] = {2}", "shape 0 \"a\" : i64[N] = {2}",
                             "shape 0 \"a\" : i64[2] = {2}", "shape 0 \"a\" 1 = shape(0)", "size \"a[0]\" = 0[0]",
                             "shape 0 \"a\" 99999999999 = shape(0)", "shape 0 \"a\" 1 = matmul()"})
    EXPECT_THROW((void)parse(std::string("graph \"g\" { ") + broken + " }"), UserError) << broken;
}

// Random arithmetic: every element, by algebra and program together, is what the nodes themselves compute.
TEST(ShapeElements, RandomArithmeticIsWhatTheNodesCompute) {
  std::mt19937_64 random(11);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::vector<std::string> binary{"add(x0,x1)",
                                        "sub(x0,x1)",
                                        "mul(x0,x1)",
                                        "min(x0,x1)",
                                        "max(x0,x1)",
                                        "abs(x0)",
                                        "neg(x0)",
                                        "mod(x0,7)",
                                        "floor_div(x0,3)",
                                        "less(x0,x1);select(t0,x1,x0)",
                                        "cast.f32(x0);mul(t0,0.37);floor(t1);cast.i64(t2)",
                                        "cast.f32(x0);abs(t0);sqrt(t1);ceil(t2);cast.i64(t3)",
                                        "fmod(x0,5)",
                                        "div(x0,4)",
                                        "sign(x0)",
                                        "clip(x0,-40,900)"};
  int computed = 0;
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    Base base;
    auto& graph = base.graph;
    std::vector<ValueId> values{base.shape, graph.addConstant(Constant::ofInts({3, -5}))};
    for (size_t i = 0; i < 2 + pick(9); ++i) {
      const ValueId a = values[pick(values.size())];
      const ValueId b = values[pick(values.size())];
      switch (pick(5)) {
        case 0: {
          const auto index = graph.add(pointwise("mod(x0,2)"), "index", {b});
          values.push_back(graph.add(ops::Gather{}, "gather", {a, index}));
          break;
        }
        case 1: {
          const auto sum = graph.add(ops::Reduce{pick(2) == 0 ? ops::ReduceOp::kAvg : ops::ReduceOp::kSum, {0}, true},
                                     "reduce", {a});
          values.push_back(graph.add(ops::Concat{}, "concat", {sum, sum}));
          break;
        }
        default: {
          const auto op = pointwise(binary[pick(binary.size())]);
          const auto& expr = op.as<ops::Pointwise>()->expr;
          std::vector<ValueId> inputs{a};
          if (expr.inputCount() > 1) inputs.push_back(b);
          values.push_back(graph.add(op, "op" + std::to_string(i), std::move(inputs)));
        }
      }
    }
    const auto elements = graph.shapeElements(values.back());
    computed += graph.shapes().empty() ? 0 : 1;
    graph.addOutput(values.back(), "y");
    for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 1}, {13, 2}, {224, 225}, {1, 640}}) {
      HostTensor x(DataType::kF32, {n, m});
      const TensorView inputs[] = {x.view()};
      const auto y = evaluate(graph, inputs);
      EXPECT_EQ(base.at(elements, n, m), (Ints{y[0].view().loadInt(0), y[0].view().loadInt(1)})) << text(graph);
    }
  }
  EXPECT_GT(computed, 100);
}

}  // namespace
}  // namespace tenon::graph
