// Reductions with scalar work in front of them: when they are made, and the kernel that computes them.
#include "check_pass.h"

namespace tenon::passes {
namespace {

TEST(FusePrologue, PointwiseInFront) {
  const auto after = expectPass("fuse_prologue", R"g(input %x : f32[4,1]
    input %w : f32[3,1,8]
    %y : f32[3,4,8] = pointwise{expr="sub(x0,x1);mul(t0,t0)"}(%x, %w) "y" from("y")
    %z : f32[3,8] = reduce{op=avg axes=[1]}(%y) "z" from("z")
    output %z
)g",
                                "pointwise_reduce");
  const auto& node = after.node(after.order()[0]);
  EXPECT_EQ(node.op.text(), "pointwise_reduce{expr=\"sub(x0,x1);mul(t0,t0)\" op=avg axes=[1]}");
  EXPECT_EQ(node.name, "y + z");
}

TEST(FusePrologue, ProductsOfIntegers) {
  expectPass("fuse_prologue", R"g(input %x : i32[4,8,1]
    input %w : i32[1,8,5]
    %y : i32[4,8,5] = pointwise{expr="mul(x0,x1)"}(%x, %w) "y"
    %z : i32[4,5] = reduce{op=sum axes=[1]}(%y) "z"
    output %z
)g",
             "pointwise_reduce");
  expectPass("fuse_prologue", R"g(input %x : i32[4,8,1]
    input %w : i32[1,8,5]
    %y : i32[4,8,5] = pointwise{expr="mul(x0,x1)"}(%x, %w) "y"
    %z : i32[4,5] = reduce{op=max axes=[1]}(%y) "z"
    output %z
)g",
             "pointwise reduce");
}

TEST(FusePrologue, WhatStays) {
  // Read elsewhere; integers; marked; no axes.
  expectPass("fuse_prologue", R"g(input %x : f32[4,8]
    %y : f32[4,8] = pointwise{expr="exp(x0)"}(%x) "y"
    %z : f32[4] = reduce{op=sum axes=[1]}(%y) "z"
    output %z
    output %y
)g",
             "pointwise reduce");
  expectPass("fuse_prologue", R"g(input %x : i32[4,8]
    %y : i32[4,8] = pointwise{expr="neg(x0)"}(%x) "y"
    %z : i32[4] = reduce{op=sum axes=[1]}(%y) "z"
    output %z
)g",
             "pointwise reduce");
  expectPass("fuse_prologue", R"g(input %x : f32[4,8]
    %y : f32[4,8] = pointwise{expr="exp(x0)"}(%x) "y" debug
    %z : f32[4] = reduce{op=sum axes=[1]}(%y) "z"
    output %z
)g",
             "pointwise reduce");
  expectPass("fuse_prologue", R"g(input %x : f32[4,8]
    %y : f32[4,8] = pointwise{expr="exp(x0)"}(%x) "y"
    %z : f32[4,8] = reduce{op=sum axes=[]}(%y) "z"
    output %z
)g",
             "pointwise reduce");
}

void expectKernel(const std::string& fields, const std::string& expr, const std::vector<std::string>& inputs) {
  const auto op = ops::Operator::parse("pointwise_reduce{expr=\"" + expr + "\" " + fields + "}");
  graph::Graph graph("g");
  std::vector<graph::ValueId> values;
  for (const auto& input : inputs) {
    const auto parsed = graph::parse("graph \"t\" {\ninput %x : f32" + input + "\noutput %x\n}\n");
    values.push_back(graph.addInput(fmt::format("x{}", values.size()), parsed.value(parsed.inputs()[0]).type));
  }
  graph.addOutput(graph.add(op, "n", values));
  SCOPED_TRACE(graph::text(graph));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  test::expectMatchesReference(graph, randomInputs(graph, 2, 5), options);
}

TEST(PointwiseReduceKernel, MatchesTheReference) {
  for (const std::string op : {"sum", "avg", "max", "min", "prod"}) {
    const std::string expr = "mul(x0,0.25);sub(t0,x1);abs(t1)";
    for (const std::string n : {"64", "67", "512", "513", "1100"}) {
      expectKernel("op=" + op + " axes=[1]", expr, {"[3," + n + "]", "[" + n + "]"});
      expectKernel("op=" + op + " axes=[0]", expr, {"[5," + n + "]", "[5,1]"});
      expectKernel("op=" + op + " axes=[-1] keepDims=true", expr, {"[2,3," + n + "]", "[3,1]"});
    }
    expectKernel("op=" + op + " axes=[0,2]", expr, {"[3,5,101]", "[3,5,101]"});
    expectKernel("op=" + op + " axes=[1]", expr, {"[3,70,5]", "[70,1]"});
    expectKernel("op=" + op + " axes=[2,3] keepDims=true", expr, {"[2,5,9,17]", "[2,1,9,17]"});
    expectKernel("op=" + op + " axes=[2,3]", expr, {"[2,70,9,3]", "[70,1,1]"});
  }
  expectKernel("op=sum axes=[0]", "mul(x0,x1)", {"[0,64]", "[0,64]"});
  expectKernel("op=sum axes=[1]", "mul(x0,x1)", {"[0,64]", "[0,64]"});
  expectKernel("op=max axes=[0]", "exp(x0)", {"[0,64]"});
}

// One output of many values: cut in pieces by shape, so that the bits do not depend on the number of threads.
TEST(PointwiseReduceKernel, FewOutputs) {
  expectKernel("op=sum axes=[0,1]", "sub(x0,x1);mul(t0,t0)", {"[700,1000]", "[700,1000]"});
  expectKernel("op=max axes=[1] keepDims=true", "abs(x0);add(t0,x1)", {"[3,200001]", "[3,1]"});
}

}  // namespace
}  // namespace tenon::passes
