// Reductions of one tensor that become one node, and those that stay.
#include "check_pass.h"

#include "passes/composites.h"

namespace tenon::passes {
namespace {

bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }
bool never(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return false; }

// The join on a body of statements: the operators that are left, values as before, nothing left to do.
graph::Graph expectJoin(const std::string& body, const std::string& left) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  joinReductions(after, always);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << graph::text(after);
  expectSameValues(before, after);
  EXPECT_EQ(joinReductions(after, always), 0);
  const auto text = graph::text(after, INT64_MAX);
  EXPECT_EQ(graph::text(graph::parse(text), INT64_MAX), text);
  return after;
}

constexpr auto kExtremes = R"g(
  input %x : f32[N,6,9]
  %a : f32[N,1,9] = reduce{op=min axes=[1] keepDims=true}(%x) "least"
  %b : f32[N,1,9] = reduce{op=max axes=[1] keepDims=true}(%x) "most"
  %c : f32[N,1,9] = pointwise{expr="sub(x1,x0)"}(%a, %b) "range"
  output %c
)g";

TEST(JoinReductions, OfOneTensorOverTheSameAxes) {
  const auto after = expectJoin(kExtremes, "composite pointwise");
  EXPECT_EQ(after.node(after.order()[0]).name, "least + most");
}

TEST(JoinReductions, OfThree) {
  expectJoin(R"g(
  input %x : f32[3,6,9]
  %y : f32[3,6,9] = pointwise{expr="relu(x0)"}(%x) "y"
  %a : f32[3,6] = reduce{op=avg axes=[2]}(%y) "mean"
  %b : f32[3,6] = reduce{op=max axes=[2]}(%y) "most"
  %c : f32[3,6] = reduce{axes=[2]}(%y) "sum"
  output %a
  output %b
  output %c
)g",
             "pointwise composite");
}

TEST(JoinReductions, OtherAxesOrTensorsStay) {
  expectJoin(R"g(
  input %x : f32[3,6,9]
  %a : f32[3,6] = reduce{op=avg axes=[2]}(%x) "a"
  %b : f32[3,9] = reduce{op=max axes=[1]}(%x) "b"
  %c : f32[3,6,1] = reduce{op=max axes=[2] keepDims=true}(%x) "c"
  %y : f32[3,6,9] = pointwise{expr="abs(x0)"}(%x) "y"
  %d : f32[3,6] = reduce{op=avg axes=[2]}(%y) "d"
  output %a
  output %b
  output %c
  output %d
)g",
             "reduce reduce reduce pointwise reduce");
}

TEST(JoinReductions, OnlyWhereItPays) {
  auto graph = graph::parse("graph \"g\" {\n" + std::string(kExtremes) + "}\n");
  EXPECT_EQ(joinReductions(graph, never), 0);
  EXPECT_EQ(operators(graph), "reduce reduce pointwise");
}

}  // namespace
}  // namespace tenon::passes
