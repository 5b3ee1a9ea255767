// Scalar work that is done while the parts of a concatenation are copied.
#include "check_pass.h"

#include "ops/op/concat_pointwise.h"

namespace tenon::passes {
namespace {

Options onCuda(bool computes = true) {
  Options options;
  options.device = "cuda";
  options.computes = [computes](const ops::Operator&, std::span<const ops::TensorType>) { return computes; };
  return options;
}

std::string layer(const std::string& expr, const std::string& inputs, const std::string& rest = "") {
  return "input %a : f32[2,3,4,5]\ninput %b : f32[2,2,4,5]\ninput %r : f32[2,5,4,5]\nconst %s : f32[5,1,1] = random(1)\nconst %t : f32[1,5,1,1] = random(2)\n"
         "const %h : f32[1] = {0.75}\nconst %m : f32[4,5] = random(3)\n%c : f32[2,5,4,5] = concat{axis=1}(%a, %b) \"join\" from(\"join\")\n%y : f32[2,5,4,5] = pointwise{expr=\"" +
         expr + "\"}(" + inputs + ") \"norm\" from(\"norm\")\noutput %y\n" + rest;
}

TEST(FuseConcat, VectorsAlongTheAxis) {
  const auto graph =
      expectPass("fuse_concat", layer("mul(x0,x1);add(t0,x2);relu(t1)", "%c, %s, %t"), "concat_pointwise", onCuda());
  const auto& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.op.text(), "concat_pointwise{axis=1 parts=2 expr=\"mul(x0,x1);add(t0,x2);relu(t1)\"}");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"join", "norm"}));
  expectPass("fuse_concat", layer("mul(x1,x0);add(t0,x2);relu(t1)", "%s, %c, %h"), "concat_pointwise", onCuda());
  expectPass("fuse_concat", layer("sigmoid(x0);mul(x0,t0)", "%c"), "concat_pointwise", onCuda());
}

TEST(FuseConcat, WhatOthersNeedStays) {
  const std::string expr = "mul(x0,x1);relu(t0)";
  expectPass("fuse_concat", layer(expr, "%c, %s", "output %c\n"), "concat pointwise", onCuda());
  expectPass("fuse_concat",
             layer(expr, "%c, %s", "%z : f32[2,5,4,5] = pointwise{expr=\"exp(x0)\"}(%c) \"reader\"\noutput %z\n"),
             "concat pointwise pointwise", onCuda());
  expectPass("fuse_concat", layer(expr, "%c, %r"), "concat pointwise", onCuda());  // a whole tensor
  expectPass("fuse_concat", layer(expr, "%c, %m"), "concat pointwise", onCuda());  // along other axes
  expectPass("fuse_concat", layer(expr, "%c, %s"), "concat pointwise", onCuda(false));
  expectPass("fuse_concat", layer(expr, "%c, %s"), "concat pointwise");  // on the host
  expectPass(
      "fuse_concat",
      "input %a : f32[3,1]\ninput %b : f32[2,1]\nconst %s : f32[1,4] = random(1)\n%c : f32[5,1] = concat{axis=0}(%a, %b) \"join\"\n"
      "%y : f32[5,4] = pointwise{expr=\"mul(x0,x1)\"}(%c, %s) \"stretched\"\noutput %y\n",
      "concat pointwise", onCuda());
}

}  // namespace
}  // namespace tenon::passes
