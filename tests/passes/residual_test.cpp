// Scales and residual sums behind products, with a transpose between them or without.
#include "check_pass.h"

#include "ops/op/matmul.h"

namespace tenon::passes {
namespace {

// The epilogue that a product keeps when its constant scale is in its weights, and how many inputs the node has.
void expectScaled(const std::string& epilogue, const std::string& left, size_t inputs, bool transposed = false,
                  const std::string& weights = "[5,7]") {
  SCOPED_TRACE(epilogue);
  const auto graph = expectPass(
      "fold_affine",
      "input %x : f32[2,3,5]\ninput %r : f32[2,3,7]\nconst %w : f32" + weights +
          " = random(1)\n"
          "const %b : f32[7] = random(2)\nconst %s : f32[1,7] = random(3)\nconst %h : f32[1] = {0.75}\n%y : f32[2,3,7] = matmul{transposeB=" +
          (transposed ? "true" : "false") + " epilogue=\"" + epilogue +
          "\"}(%x, %w, %b, %s, %h, %r) \"y\"\noutput %y\n",
      "matmul");
  const auto& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.inputs.size(), inputs);
  ops::Operator wanted = ops::MatMul{false, transposed, node.op.as<ops::MatMul>()->epilogue};
  EXPECT_EQ(node.op.text(), wanted.text());
  EXPECT_EQ(node.op.text().find("epilogue") == std::string::npos ? "" : node.op.text().substr(node.op.text().find('"')),
            left.empty() ? "" : "\"" + left + "\"}");
}

TEST(FoldAffine, ScalesBehindProducts) {
  expectScaled("add(x0,x1);mul(t0,x2);add(t1,x4)", "add(x0,x2);add(t0,x1)", 4);
  expectScaled("mul(x0,x2);add(t0,x1);add(t1,x4)", "add(x0,x2);add(t0,x1)", 4);
  expectScaled("add(x0,x1);mul(t0,x2);gelu_erf(t1);mul(t2,x4);mul(t3,x1)",
               "add(x0,x3);gelu_erf(t0);mul(t1,x2);mul(t2,x1)", 5);
  expectScaled("mul(x0,x3);relu(t0);add(t1,x4)", "relu(x0);add(t0,x1)", 3);
  expectScaled("mul(x0,0.5)", "", 2);
  expectScaled("div(x0,4);sub(x1,t0);mul(t1,x2);add(t2,x4)", "add(x0,x2);add(t0,x1)", 4, true, "[7,5]");
  expectScaled("add(x0,x1);mul(t0,x2)", "add(x0,x1)", 3, true, "[1,7,5]");
}

TEST(FoldAffine, WhatIsNoScaleOfColumnsStays) {
  const auto same = [](const std::string& epilogue, const std::string& constants, const std::string& inputs,
                       const Options& options = {}) {
    SCOPED_TRACE(epilogue);
    const std::string body = "input %x : f32[2,3,5]\ninput %r : f32[2,3,7]\nconst %w : f32[5,7] = random(1)\n" +
                             constants + "%y : f32[2,3,7] = matmul{epilogue=\"" + epilogue + "\"}(%x, %w, " + inputs +
                             ") \"y\"\noutput %y\n";
    auto graph = graph::parse("graph \"g\" {\n" + body + "}\n");
    EXPECT_EQ(runPass("fold_affine", graph, options), 0);
  };
  const std::string row = "const %s : f32[7] = random(2)\n";
  same("add(x0,x1)", row, "%s");
  same("relu(x0);mul(t0,x1)", row, "%s");
  same("mul(x0,x1);add(t0,x0)", row, "%s");
  same("mul(x0,x1);add(t0,x1);add(t1,t0)", row, "%s");
  same("mul(x0,x1)", "", "%r");
  same("mul(x0,x1)", "const %s : f32[3,1] = random(2)\n", "%s");
  Options refittable;
  refittable.refittable = true;
  same("mul(x0,x1)", row, "%s", refittable);
}

// The end of a block that works on channels-last rows within a network that is channels-first.
std::string block(const std::string& between, const std::string& other, const std::string& rest) {
  return "input %x : f32[2,3,4,5]\ninput %z : f32[2,3,4,6]\nconst %w : f32[5,6] = random(1)\nconst %b : f32[6] = random(2)\n"
         "const %s : f32[6,1,1] = random(3)\n%p : f32[2,3,4,6] = matmul{epilogue=\"add(x0,x1)\"}(%x, %w, %b) \"product\"\n" +
         between + "%t : f32[2,6,3,4] = transpose{permutation=[0,3,1,2]}(%p) \"forward\"\n" + other +
         "%y : f32[2,6,3,4] = pointwise{expr=\"mul(x0,x2);add(t0,x1)\"}(%t, %o, %s) \"sum\"\noutput %y\n" + rest;
}

const std::string kShared =
    "%o : f32[2,6,3,4] = transpose{permutation=[0,3,1,2]}(%z) \"residual\"\n"
    "const %k : f32[6,1,1,1] = random(5)\n%e : f32[2,6,3,4] = convolution{groups=6}(%o, %k) \"other\"\noutput %e\n";
const std::string kConvolved =
    "input %i : f32[2,2,3,4]\nconst %v : f32[6,2,1,1] = random(4)\n%o : f32[2,6,3,4] = convolution(%i, %v) \"convolved\"\n"
    "%e : f32[2,6,3,4] = pointwise{expr=\"exp(x0)\"}(%o) \"other\"\noutput %e\n";

Options onCuda() {
  Options options;
  options.device = "cuda";
  return options;
}

TEST(SinkTransposes, ResidualSumsComeToTheProduct) {
  expectPass("sink_transposes", block("", kShared, ""), "matmul transpose convolution pointwise transpose");
  const auto convolved = expectPass("sink_transposes", block("", kConvolved, ""),
                                    "matmul convolution pointwise transpose pointwise transpose", onCuda());
  EXPECT_EQ(convolved.node(convolved.value(convolved.outputs()[1]).producer).name, "forward");
}

TEST(SinkTransposes, SumsThatWouldCostMoreStay) {
  const std::string same = "matmul transpose";
  // On the host a convolution need not be channels-last; nor are inputs on any device.
  expectPass("sink_transposes", block("", kConvolved, ""), same + " convolution pointwise pointwise");
  expectPass("sink_transposes", block("", "input %o : f32[2,6,3,4]\n", ""), same + " pointwise", onCuda());
  // The product or its transpose has other readers.
  expectPass("sink_transposes",
             block("", kShared, "%q : f32[2,6,3,4] = pointwise{expr=\"tanh(x0)\"}(%t) \"reader\"\noutput %q\n"),
             same + " transpose convolution pointwise pointwise");
  expectPass("sink_transposes", block("", kShared, "output %p\n"), same + " transpose convolution pointwise");
  // Another order of axes.
  expectPass("sink_transposes",
             block("",
                   "input %u : f32[2,4,6,3]\n%o : f32[2,6,3,4] = transpose{permutation=[0,2,3,1]}(%u) \"residual\"\n"
                   "%e : f32[2,6,3,4] = pointwise{expr=\"exp(x0)\"}(%o) \"other\"\noutput %e\n",
                   ""),
             same + " transpose pointwise pointwise");
}

// Blocks of a network: what is left are products with whole epilogues, and no sum.
TEST(SinkTransposes, BlocksOfRowsEndInTheirProducts) {
  auto graph = graph::parse(R"g(graph "g" {
    input %i : f32[2,2,3,4]
    const %v : f32[6,2,1,1] = random(1)
    const %k : f32[6,1,3,3] = random(2)
    const %w : f32[6,6] = random(3)
    const %b : f32[6] = random(4)
    const %s : f32[6,1,1] = random(5)
    %x : f32[2,6,3,4] = convolution(%i, %v) "stem"
    %d : f32[2,6,3,4] = convolution{groups=6 prePadding=[1,1] postPadding=[1,1]}(%x, %k) "depthwise"
    %r : f32[2,3,4,6] = transpose{permutation=[0,2,3,1]}(%d) "rows"
    %p : f32[2,3,4,6] = matmul(%r, %w) "product"
    %q : f32[2,3,4,6] = pointwise{expr="add(x0,x1)"}(%p, %b) "bias"
    %t : f32[2,6,3,4] = transpose{permutation=[0,3,1,2]}(%q) "forward"
    %m : f32[2,6,3,4] = pointwise{expr="mul(x0,x1)"}(%s, %t) "scale"
    %y : f32[2,6,3,4] = pointwise{expr="add(x0,x1)"}(%m, %x) "sum"
    %d2 : f32[2,6,3,4] = convolution{groups=6 prePadding=[1,1] postPadding=[1,1]}(%y, %k) "depthwise2"
    %r2 : f32[2,3,4,6] = transpose{permutation=[0,2,3,1]}(%d2) "rows2"
    %p2 : f32[2,3,4,6] = matmul(%r2, %w) "product2"
    %q2 : f32[2,3,4,6] = pointwise{expr="add(x0,x1)"}(%p2, %b) "bias2"
    %t2 : f32[2,6,3,4] = transpose{permutation=[0,3,1,2]}(%q2) "forward2"
    %m2 : f32[2,6,3,4] = pointwise{expr="mul(x0,x1)"}(%s, %t2) "scale2"
    %y2 : f32[2,6,3,4] = pointwise{expr="add(x0,x1)"}(%m2, %y) "sum2"
    output %y2
  })g");
  const auto before = graph;
  run(graph, onCuda());
  expectSameValues(before, graph);
  int products = 0;
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    EXPECT_NE(node.op.name(), "pointwise") << graph::text(graph);
    if (node.op.as<ops::MatMul>() == nullptr) continue;
    ++products;
    EXPECT_EQ(node.op.text(), "matmul{epilogue=\"add(x0,x1);add(t0,x2)\"}");
  }
  EXPECT_EQ(products, 2);
}

}  // namespace
}  // namespace tenon::passes
