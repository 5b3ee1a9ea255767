// Phases: what needs a size that the graph computes comes behind it, all else before.
#include "graph/phases.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "ops/op/count_nonzero.h"
#include "ops/op/fill.h"
#include "ops/op/nonzero.h"
#include "ops/op/pointwise.h"

namespace tenon::graph {
namespace {

struct Sized {
  Graph graph;
  ValueId x, places, other;
  NodeId size, found, beside;
};

// The places of what is not 0 in x[8], and behind them -x.
Sized sized() {
  Sized s;
  s.x = s.graph.addInput("x", {DataType::kF32, {8}, std::nullopt});
  const ValueId count = s.graph.add(ops::CountNonZero{}, "count", {s.x});
  s.size = s.graph.addNode(ops::Size{"n", 4, 8}, "size", {count});
  s.places = s.graph.add(ops::NonZero{Extent::symbol("n")}, "places", {s.x});
  s.other = s.graph.add(ops::Pointwise{ops::parseScalarExpr("neg(x0)")}, "other", {s.x});
  s.found = s.graph.value(s.places).producer;
  s.beside = s.graph.value(s.other).producer;
  s.graph.addOutput(s.places);
  s.graph.addOutput(s.other);
  return s;
}

TEST(Phases, BeginAsLateAsTheyCan) {
  auto s = sized();
  const auto phases = phasesOf(s.graph);
  EXPECT_EQ(phases.count, 2);
  EXPECT_EQ(phases.sizes, std::vector<NodeId>{s.size});
  EXPECT_EQ(phases.ofNode[s.size], 0);
  EXPECT_EQ(phases.ofNode[s.beside], 0);
  EXPECT_EQ(phases.ofNode[s.found], 1);
  EXPECT_TRUE(s.graph.isBefore(s.found, s.beside));
  sortByPhases(s.graph, phases);
  EXPECT_TRUE(s.graph.isBefore(s.beside, s.found));
  EXPECT_NO_THROW(verify(s.graph));
}

TEST(Phases, AreEvaluatedInOrder) {
  const auto s = sized();
  HostTensor x(DataType::kF32, {8});
  for (int64_t i = 0; i < 8; ++i) x.view().storeDouble(i, i % 3 == 1 ? 1 : 0);
  const TensorView inputs[] = {x.view()};
  const auto results = evaluate(s.graph, inputs);
  ASSERT_EQ(results[0].view().dims, (Dims{1, 3}));
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(results[0].view().loadInt(i), 3 * i + 1);
  const auto again = evaluate(parse(text(s.graph)), inputs);
  EXPECT_EQ(again[0].view().dims, (Dims{1, 3}));
}

TEST(Phases, OneWithoutSizes) {
  Graph graph;
  const ValueId x = graph.addInput("x", {DataType::kF32, {8}, std::nullopt});
  graph.addOutput(graph.add(ops::Pointwise{ops::parseScalarExpr("neg(x0)")}, "y", {x}));
  EXPECT_EQ(phasesOf(graph).count, 1);
}

TEST(Phases, ASizeThatNeedsItselfIsRefused) {
  Graph graph;
  ops::Fill fill;
  fill.shape = {Extent::symbol("n")};
  const ValueId x = graph.add(fill, "fill", {});
  const ValueId count = graph.add(ops::CountNonZero{}, "count", {x});
  graph.addNode(ops::Size{"n", 4, 8}, "size", {count});
  graph.addOutput(count);
  EXPECT_THROW((void)phasesOf(graph), InternalError);
}

}  // namespace
}  // namespace tenon::graph
