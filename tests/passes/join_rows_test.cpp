// Normalizations of rows that become part of the products in front of them, and those that stay.
#include "check_joins.h"

namespace tenon::passes {
namespace {

// The join on a body of statements; the operators that are left.
std::string joined(const std::string& body, const Pays& pays = always, graph::Graph* result = nullptr,
                   const char* disabled = "join_normalization") {
  return joinedWithout(disabled, body, pays, result);
}

const std::string kConstants = R"g(
  input %u : f32[N,5,6]
  input %r : f32[N,5,72]
  const %q : f32[6,72] = random(6)
  const %b : f32[72] = random(5)
  const %s : f32[72] = random(1)
  const %t : f32[1,1,72] = random(2)
)g";

TEST(JoinRows, ProductAndNormalization) {
  graph::Graph after;
  const auto network = kConstants + R"g(
  %x : f32[N,5,72] = matmul{epilogue="add(x0,x1);add(t0,x2)"}(%u, %q, %b, %r) "product" from("product")
  %y : f32[N,5,72] = normalization{axes=[-1]}(%x, %s, %t) "norm" from("norm")
  output %y
)g";
  EXPECT_EQ(joined(network, always, &after), "composite");
  const auto& node = after.node(after.order()[0]);
  EXPECT_EQ(node.name, "product + norm");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"product", "norm"}));
  EXPECT_EQ(node.outputs.size(), 1u);
  EXPECT_EQ(after.value(node.inputs.back()).type.shape.size(), 1u);
  const auto count = [&](const graph::Graph&, std::span<const graph::NodeId> made,
                         std::span<const graph::NodeId> instead) {
    EXPECT_EQ(made.size(), 1u);
    EXPECT_EQ(instead.size(), 2u);
    return false;
  };
  EXPECT_EQ(joined(network, count), "matmul normalization");
  EXPECT_EQ(joined(network, always, nullptr, "join_normalization,join_rows"), "matmul normalization");
}

// The sum that a normalization computes, of either operand, kept or not.
TEST(JoinRows, Sums) {
  const auto product = kConstants + R"g(
  %x : f32[N,5,72] = matmul{epilogue="add(x0,x1)"}(%u, %q, %b) "product"
)g";
  graph::Graph after;
  EXPECT_EQ(joined(product + R"g(
  %y : f32[N,5,72] = normalization{axes=[2] skip=true}(%x, %s, %t, %r) "norm"
  output %y
)g",
                   always, &after),
            "composite");
  EXPECT_EQ(after.node(after.order()[0]).outputs.size(), 1u);
  EXPECT_EQ(joined(product + R"g(
  %y : f32[N,5,72], %z : f32[N,5,72] = normalization{axes=[2] centered=false skip=true keepSum=true}(%r, %s, %t, %x) "norm"
  %a : f32[N,5,72] = pointwise{expr="mul(x0,x1)"}(%y, %z) "after"
  output %a
)g",
                   always, &after),
            "composite pointwise");
  EXPECT_EQ(after.node(after.order()[0]).outputs.size(), 2u);
}

// A product that others read goes on beside the rows, also as an output.
TEST(JoinRows, ProductsThatOthersRead) {
  graph::Graph after;
  EXPECT_EQ(joined(kConstants + R"g(
  %x : f32[N,5,72] = matmul{epilogue="add(x0,x1)"}(%u, %q, %r) "product"
  %y : f32[N,5,72] = normalization{axes=[-1]}(%x, %s, %t) "norm"
  output %x
  output %y
)g",
                   always, &after),
            "composite");
  EXPECT_EQ(after.node(after.order()[0]).outputs.size(), 2u);
}

TEST(JoinRows, WhatStays) {
  // Not along rows, factors that are not constant, a product that is transposed or has no constant weights.
  EXPECT_EQ(joined(kConstants + R"g(
  %x : f32[N,5,72] = matmul(%u, %q) "product"
  %y : f32[N,5,72] = normalization{axes=[1,2]}(%x, %s, %t) "norm"
  output %y
)g"),
            "matmul normalization");
  EXPECT_EQ(joined(kConstants + R"g(
  input %f : f32[72]
  %x : f32[N,5,72] = matmul(%u, %q) "product"
  %y : f32[N,5,72] = normalization{axes=[2]}(%x, %f, %t) "norm"
  output %y
)g"),
            "matmul normalization");
  EXPECT_EQ(joined(kConstants + R"g(
  input %w : f32[6,72]
  %x : f32[N,5,72] = matmul(%u, %w) "product"
  %y : f32[N,5,72] = normalization{axes=[2]}(%x, %s, %t) "norm"
  output %y
)g"),
            "matmul normalization");
}

}  // namespace
}  // namespace tenon::passes
