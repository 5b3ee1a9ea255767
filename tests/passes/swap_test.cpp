// Scalar work that reads halves of an axis in each other's places.
#include "check_pass.h"
#include "passes/pipeline.h"

namespace tenon::passes {
namespace {

Options onCuda(bool computes = true) {
  Options options;
  options.device = "cuda";
  options.computes = [computes](const ops::Operator&, std::span<const ops::TensorType>) { return computes; };
  return options;
}

std::string layer(const std::string& start, const std::string& inputs, const std::string& rest = "") {
  return "input %x : f16[2,4,6]\ninput %z : f16[3,2,4,6]\nconst %c : f16[6] = random(1)\n"
         "%s : f16[2,4,6] = slice{start=[" +
         start + "] size=[2,4,6] mode=wrap}(%x) \"roll\" from(\"roll\")\n" +
         "%y : f16[2,4,6] = pointwise{expr=\"mul(x0,x1);add(t0,x2)\"}(" + inputs +
         ") \"turn\" from(\"turn\")\noutput %y\n" + rest;
}

TEST(FuseSwap, HalvesOfAnAxis) {
  const auto graph = expectPass("fuse_swap", layer("0,0,3", "%s, %c, %x"), "swapped_pointwise", onCuda());
  const auto& node = graph.node(graph.order()[0]);
  EXPECT_EQ(node.op.text(), "swapped_pointwise{axis=2 expr=\"mul(x0,x1);add(t0,x2)\"}");
  EXPECT_EQ(node.origins, (std::vector<std::string>{"roll", "turn"}));
  expectPass("fuse_swap", layer("0,2,0", "%x, %s, %c"), "swapped_pointwise", onCuda());
  expectPass("fuse_swap", layer("1,0,0", "%c, %x, %s"), "swapped_pointwise", onCuda());
  expectPass("fuse_swap", layer("0,0,3", "%s, %s, %x"), "swapped_pointwise", onCuda());
}

TEST(FuseSwap, OtherRollsStay) {
  expectPass("fuse_swap", layer("0,0,2", "%s, %c, %x"), "slice pointwise", onCuda());
  expectPass("fuse_swap", layer("0,2,3", "%s, %c, %x"), "slice pointwise", onCuda());
  expectPass("fuse_swap", layer("0,0,3", "%s, %c, %x", "output %s\n"), "slice pointwise", onCuda());
  expectPass("fuse_swap", layer("0,0,3", "%s, %c, %x"), "slice pointwise", onCuda(false));
  expectPass(
      "fuse_swap",  // the result is larger
      "input %x : f16[4,6]\ninput %z : f16[3,4,6]\n%s : f16[4,6] = slice{start=[0,3] size=[4,6] mode=wrap}(%x) \"roll\"\n"
      "%y : f16[3,4,6] = pointwise{expr=\"mul(x0,x1)\"}(%s, %z) \"turn\"\noutput %y\n",
      "slice pointwise", onCuda());
}

// Rotary embedding as exporters write it is one node.
TEST(FuseSwap, RotaryEmbedding) {
  const std::string text = R"g(graph "rotary" {
    input %x : f16[1,4,3,8]
    input %c : f16[3,8]
    input %s : f16[3,8]
    %a : f16[1,4,3,4] = slice{start=[0,0,0,4] size=[1,4,3,4]}(%x) "a"
    %n : f16[1,4,3,4] = pointwise{expr="neg(x0)"}(%a) "n"
    %b : f16[1,4,3,4] = slice{start=[0,0,0,0] size=[1,4,3,4]}(%x) "b"
    %r : f16[1,4,3,8] = concat{axis=3}(%n, %b) "r"
    %p : f16[1,4,3,8] = pointwise{expr="mul(x0,x1)"}(%r, %s) "p"
    %q : f16[1,4,3,8] = pointwise{expr="mul(x0,x1)"}(%x, %c) "q"
    %y : f16[1,4,3,8] = pointwise{expr="add(x0,x1)"}(%p, %q) "y"
    output %y
  })g";
  auto graph = graph::parse(text);
  run(graph, onCuda());
  ASSERT_EQ(graph.order().size(), 1u) << graph::text(graph);
  EXPECT_EQ(graph.node(graph.order()[0]).op.name(), "swapped_pointwise");
}

}  // namespace
}  // namespace tenon::passes
