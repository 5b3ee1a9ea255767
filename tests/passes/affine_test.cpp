// Scales and shifts that meet, and those in front of matrix products.
#include "check_pass.h"

namespace tenon::passes {
namespace {

const std::string kHead =
    "input %x : f32[2,5,3,4]\nconst %a : f32[5,1,1] = random(1)\nconst %b : f32[1,5,1,1] = random(2)\nconst %h : f32[1] = {0.75}\n";

graph::Graph chain(const std::string& expr, const std::string& left = "pointwise") {
  return expectPass("merge_affine",
                    kHead + "%y : f32[2,5,3,4] = pointwise{expr=\"" + expr + "\"}(%x, %a, %b, %h) \"y\"\noutput %y\n",
                    left);
}

TEST(MergeAffine, ChainsBecomeOneScaleAndOneShift) {
  const auto text = [](const graph::Graph& graph) { return graph.node(graph.order()[0]).op.text(); };
  EXPECT_EQ(text(chain("mul(x0,x1);add(t0,x2);mul(t1,x2);add(t2,x1);relu(t3)")),
            R"g(pointwise{expr="mul(x0,x1);add(t0,x2);relu(t1)"})g");
  EXPECT_EQ(text(chain("add(x0,x1);add(t0,x2);add(t1,x3)")), R"g(pointwise{expr="add(x0,x1)"})g");
  EXPECT_EQ(text(chain("mul(x0,x1);div(t0,x2);exp(t1);mul(t2,x1)")),
            R"g(pointwise{expr="mul(x0,x1);exp(t0);mul(t1,x2)"})g");
  EXPECT_EQ(text(chain("sub(x2,x0);neg(t0);mul(t1,2)")), R"g(pointwise{expr="mul(x0,x1);add(t0,x2)"})g");
}

TEST(MergeAffine, WhatLooksIntoTheChainKeepsIt) {
  const auto same = [](const std::string& expr) {
    const auto graph = chain(expr);
    EXPECT_EQ(graph.node(graph.order()[0]).op.text(), "pointwise{expr=\"" + expr + "\"}");
  };
  same("mul(x0,x1);add(t0,x2);mul(t1,x2);mul(t2,t0)");
  same("add(x0,x1);add(t0,x2);mul(t1,x0)");
  same("mul(x0,x1);add(t0,x2)");
  same("mul(x0,x0);add(t0,x2)");
}

std::string product(const std::string& scale, const std::string& expr, bool transposed, const std::string& weights) {
  return "input %x : f32[2,3,5]\nconst %s : f32" + scale +
         " = random(1)\nconst %t : f32[5] = random(2)\nconst %w : f32" + weights +
         " = random(3)\n%z : f32[2,3,5] = pointwise{expr=\"" + expr +
         "\"}(%x, %s, %t) \"z\"\n%y : f32[2,3,7] = matmul{transposeB=" + (transposed ? "true" : "false") +
         "}(%z, %w) \"y\"\n";
}

TEST(MergeAffine, IntoTheWeightsOfProducts) {
  for (const char* scale : {"[5]", "[1,1,5]", "[1]"}) {
    expectPass("merge_affine", product(scale, "mul(x0,x1)", false, "[5,7]") + "output %y\n", "matmul");
    expectPass("merge_affine", product(scale, "mul(x0,x1);add(t0,x2)", false, "[5,7]") + "output %y\n", "matmul");
    expectPass("merge_affine", product(scale, "add(x0,x2)", true, "[7,5]") + "output %y\n", "matmul");
    expectPass("merge_affine", product(scale, "mul(x0,x1);sub(x2,t0)", true, "[1,7,5]") + "output %y\n", "matmul");
  }
}

TEST(MergeAffine, BeforeAnEpilogue) {
  for (const char* epilogue : {"add(x0,x1);relu(t0)", "add(x1,x0)", "relu(x0);add(t0,x1)", "add(x0,x1);mul(t0,x1)",
                               "sigmoid(x0);mul(x0,t0)"}) {
    SCOPED_TRACE(epilogue);
    for (const char* bias : {"[7]", "[1,1,7]", "[1]", "[3,1]"}) {
      expectPass("merge_affine",
                 std::string("input %x : f32[2,3,5]\nconst %s : f32[5] = random(1)\nconst %t : f32[5] = random(2)\n"
                             "const %w : f32[5,7] = random(3)\nconst %b : f32") +
                     bias +
                     " = random(4)\n%z : f32[2,3,5] = pointwise{expr=\"mul(x0,x1);add(t0,x2)\"}"
                     "(%x, %s, %t) \"z\"\n%y : f32[2,3,7] = matmul{epilogue=\"" +
                     epilogue + "\"}(%z, %w, %b) \"y\"\noutput %y\n",
                 "matmul");
    }
  }
}

TEST(MergeAffine, EveryReaderMustTakeThem) {
  expectPass("merge_affine",
             product("[5]", "mul(x0,x1)", false, "[5,7]") +
                 "%r : f32[2,3,5] = pointwise{expr=\"exp(x0)\"}(%z) \"r\"\noutput %y\noutput %r\n",
             "pointwise matmul pointwise");
  expectPass("merge_affine",
             product("[5]", "mul(x0,x1)", false, "[5,7]") +
                 "const %u : f32[1,5,2] = random(4)\n%r : f32[2,3,2] = matmul(%z, %u) \"r\"\noutput %y\noutput %r\n",
             "matmul matmul");
  expectPass("merge_affine", product("[3,1]", "mul(x0,x1)", false, "[5,7]") + "output %y\n", "pointwise matmul");
}

}  // namespace
}  // namespace tenon::passes
