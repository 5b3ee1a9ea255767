// Pointwise nodes with several outputs: when they are made, and the kernel that computes them.
#include "check_pass.h"
#include "passes/run_first.h"

namespace tenon::passes {
namespace {

std::string onlyOp(const graph::Graph& graph, size_t at = 0) { return graph.node(graph.order()[at]).op.text(); }

TEST(FuseOutputs, ResultReadElsewhere) {
  const auto after = expectPass("fuse_outputs", R"g(input %x : f32[4,8]
    input %w : f32[8]
    %y : f32[4,8] = pointwise{expr="tanh(x0)"}(%x) "y" from("y")
    %z : f32[4,8] = pointwise{expr="mul(x1,2);add(t0,x0)"}(%w, %y) "z" from("z")
    %s : f32[4,8] = softmax{axis=1}(%y) "s"
    output %z
    output %s
)g",
                                "multi_pointwise softmax");
  EXPECT_EQ(onlyOp(after), "multi_pointwise{expr=\"tanh(x0);mul(t0,2);add(t1,x1)\" results=[0,2]}");
  EXPECT_EQ(after.node(after.order()[0]).name, "fusedPointwiseNode(y, z)");
  EXPECT_EQ(after.node(after.order()[0]).origins, (std::vector<std::string>{"y", "z"}));
}

TEST(FuseOutputs, ResultThatIsAnOutput) {
  const auto after = expectPass("fuse_outputs", R"g(input %x : f32[5]
    %y : f32[5] = pointwise{expr="neg(x0)"}(%x) "y"
    %z : bool[5] = pointwise{expr="greater(x0,0)"}(%y) "z"
    output %y
    output %z
)g",
                                "multi_pointwise");
  EXPECT_EQ(onlyOp(after), "multi_pointwise{expr=\"neg(x0);greater(t0,0)\" results=[0,1]}");
}

TEST(FuseOutputs, ReadersOfOneTensor) {
  // Three of them, and what two of them begin with is computed once.
  const auto after = expectPass("fuse_outputs", R"g(input %x : f32[3,7]
    input %a : f32[3,7]
    %u : f32[3,7] = pointwise{expr="exp(x0);add(t0,1)"}(%x) "u"
    %v : f32[3,7] = pointwise{expr="exp(x1);mul(t0,x0)"}(%a, %x) "v"
    %t : f32[7,3] = transpose{permutation=[1,0]}(%u) "t"
    %w : f32[3,7] = pointwise{expr="sub(x0,x1)"}(%v, %x) "w"
    output %t
    output %v
    output %w
)g",
                                "multi_pointwise transpose");
  EXPECT_EQ(onlyOp(after), "multi_pointwise{expr=\"exp(x0);add(t0,1);mul(t0,x1);sub(t2,x0)\" results=[1,2,3]}");
}

TEST(FuseOutputs, WhatStays) {
  // A way around: the second one waits for what reads the first one.
  expectPass("fuse_outputs", R"g(input %x : f32[4,8]
    %y : f32[4,8] = pointwise{expr="tanh(x0)"}(%x) "y"
    %s : f32[4,8] = softmax{axis=1}(%y) "s"
    %z : f32[4,8] = pointwise{expr="add(x0,x1)"}(%s, %y) "z"
    output %z
)g",
             "pointwise softmax pointwise");
  // Nothing but a vector is read by both; the outputs have two shapes; one is marked.
  expectPass("fuse_outputs", R"g(input %x : f32[4,8]
    input %a : f32[4,8]
    input %w : f32[8]
    %y : f32[4,8] = pointwise{expr="add(x0,x1)"}(%x, %w) "y"
    %z : f32[4,8] = pointwise{expr="sub(x0,x1)"}(%a, %w) "z"
    output %y
    output %z
)g",
             "pointwise pointwise");
  expectPass("fuse_outputs", R"g(input %x : f32[1,8]
    input %a : f32[4,8]
    %y : f32[1,8] = pointwise{expr="exp(x0)"}(%x) "y"
    %z : f32[4,8] = pointwise{expr="sub(x0,x1)"}(%a, %y) "z"
    output %y
    output %z
)g",
             "pointwise pointwise");
  expectPass("fuse_outputs", R"g(input %x : f32[8]
    %y : f32[8] = pointwise{expr="exp(x0)"}(%x) "y" debug
    %z : f32[8] = pointwise{expr="add(x0,1)"}(%y) "z"
    output %y
    output %z
)g",
             "pointwise pointwise");
}

TEST(FuseOutputs, NoMoreThanFour) {
  std::string body = "input %x : f32[8]\n";
  std::string outputs;
  for (int i = 0; i < 6; ++i) {
    body += fmt::format("%y{0} : f32[8] = pointwise{{expr=\"add(x0,{1})\"}}(%x) \"y{0}\"\n", i, i + 1);
    outputs += fmt::format("output %y{}\n", i);
  }
  expectPass("fuse_outputs", body + outputs, "multi_pointwise multi_pointwise");
}

TEST(FuseOutputs, WaitsForTheOthers) {
  // The whole pipeline: epilogues first, and where another run follows nothing of it.
  const auto before = graph::parse(R"g(graph "g" {
    input %x : f32[4,8]
    const %w : f32[8,8] = random(1)
    const %b : f32[8] = random(2)
    %m : f32[4,8] = matmul(%x, %w) "m"
    %y : f32[4,8] = pointwise{expr="add(x0,x1)"}(%m, %b) "y"
    %u : f32[4,8] = pointwise{expr="exp(x0)"}(%y) "u"
    %v : f32[4,8] = pointwise{expr="tanh(x0)"}(%y) "v"
    output %u
    output %v
  })g");
  auto after = before;
  run(after, {});
  EXPECT_EQ(operators(after), "matmul multi_pointwise");
  expectSameValues(before, after);
  auto waiting = before;
  runFirst(waiting, {});
  EXPECT_EQ(operators(waiting), "matmul pointwise pointwise");
}

void expectKernel(const std::string& type, const std::string& expr, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::string& results) {
  std::string text = "graph \"g\" {\n";
  std::string names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += fmt::format("input %x{} : {}{}\n", i, type, inputs[i]);
    names += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("{}%y{} : {}", i == 0 ? "" : ", ", i, outputs[i]);
  text += fmt::format(" = multi_pointwise{{expr=\"{}\" results={}}}({}) \"n\"\n", expr, results, names);
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("output %y{}\n", i);
  SCOPED_TRACE(text);
  const auto graph = graph::parse(text + "}\n");
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  test::expectMatchesReference(graph, randomInputs(graph, 2, 5), options);
}

TEST(MultiPointwiseKernel, MatchesTheReference) {
  for (const std::string shape : {"[0]", "[1]", "[7]", "[16]", "[513]", "[3,1024]", "[2,3,5,7]", "[1,8,16,16]"}) {
    expectKernel("f32", "add(x0,x1);tanh(t0);mul(t1,x0)", {shape, shape}, {"f32" + shape, "f32" + shape}, "[0,2]");
    expectKernel("f32", "mul(x0,2);greater(t0,x1);sub(t0,x1)", {shape, "[1]"},
                 {"f32" + shape, "bool" + shape, "f32" + shape}, "[2,1,0]");
  }
  expectKernel("f32", "add(x0,x1);mul(t0,x2)", {"[5,1]", "[33]", "[4,1,1]"}, {"f32[4,5,33]", "f32[4,5,33]"}, "[1,0]");
}

// Results that may take the place of an operand, in a network where they do.
TEST(MultiPointwiseKernel, InPlace) {
  for (const std::string n : {"15", "16", "4096"}) {
    const std::string type = "f32[3," + n + "]";
    const auto graph = graph::parse(
        "graph \"g\" {\ninput %x : " + type + "\n%a : " + type + " = softmax{axis=1}(%x) \"a\"\n%y : " + type +
        ", %z : " + type +
        " = multi_pointwise{expr=\"mul(x0,3);exp(t0);add(t1,x0)\" results=[0,2]}(%a) \"n\"\n%p : " + type +
        " = softmax{axis=1}(%y) \"p\"\n%q : " + type + " = softmax{axis=1}(%z) \"q\"\noutput %p\noutput %q\n}\n");
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    test::expectMatchesReference(graph, randomInputs(graph, 2, 5), options);
  }
}

}  // namespace
}  // namespace tenon::passes
