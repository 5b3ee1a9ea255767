// What is known of numbers that become sizes: each case beside the numbers that its graph computes.
#include "graph/number_range.h"

#include <gtest/gtest.h>

#include "ops/op/cumulative.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/topk.h"

namespace tenon::graph {
namespace {

ops::Pointwise pointwise(const char* text) { return {ops::parseScalarExpr(text)}; }

class NumberRanges : public testing::Test {
 protected:
  ValueId scalar(const char* expr) { return graph.add(pointwise(expr), "node", {x}); }
  void expect(ValueId value, const char* low, const char* high) {
    const auto range = numberRange(graph, value);
    EXPECT_EQ(range.low ? range.low->text() : "none", low);
    EXPECT_EQ(range.high ? range.high->text() : "none", high);
  }
  Graph graph;
  ValueId x = graph.addInput("x", {DataType::kF32, {Extent::symbol("n"), Extent(5)}, std::nullopt});
};

TEST_F(NumberRanges, OfScalarWork) {
  expect(x, "none", "none");
  expect(scalar("clip(x0,1,7.5);cast.i64(t0)"), "1", "8");
  expect(scalar("max(x0,2);min(t0,9)"), "2", "9");
  expect(scalar("relu(x0)"), "0", "none");
  expect(scalar("min(x0,3)"), "none", "3");
  expect(scalar("neg(x0)"), "none", "none");
  expect(scalar("sigmoid(x0);mul(t0,10);ceil(t1);cast.i32(t2)"), "0", "10");
  expect(scalar("greater(x0,0)"), "0", "1");
  expect(scalar("clip(x0,-3,4);neg(t0)"), "-4", "3");
  expect(scalar("clip(x0,-3,4);sub(8,t0)"), "4", "11");
  expect(scalar("clip(x0,-3,4);mul(t0,t0)"), "none", "none");
  expect(scalar("greater(x0,0);select(t0,5,2)"), "2", "5");
}

TEST_F(NumberRanges, OfReductionsAndIndices) {
  const auto bits = scalar("clip(x0,0,2);cast.i32(t0)");
  expect(graph.add(ops::Reduce{ops::ReduceOp::kSum, {1}, false}, "sum", {bits}), "0", "10");
  expect(graph.add(ops::Reduce{ops::ReduceOp::kSum, {0, 1}, false}, "sum", {bits}), "0", "10*n");
  expect(graph.add(ops::Reduce{ops::ReduceOp::kMax, {1}, false}, "max", {bits}), "0", "2");
  expect(graph.add(ops::Reduce{ops::ReduceOp::kMax, {0}, false}, "max", {bits}), "none", "none");  // n may be 0
  ops::TopK top;
  top.axis = 0;
  const auto node = graph.addNode(top, "top", {bits});
  expect(graph.node(node).outputs[1], "0", "max(0,n-1)");
  expect(graph.node(node).outputs[0], "0", "2");
}

}  // namespace
}  // namespace tenon::graph
