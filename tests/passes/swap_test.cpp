// Scalar work that reads halves of an axis in each other's places, and rotary embedding on CPUs.
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

// Of x [2,5,3,W] by angles [2,5,1,P]; `second`: where the other columns begin.
std::string rotation(int width, int pairs, const std::string& second, const std::string& stride, const std::string& end,
                     const std::string& x = "") {
  const auto part = fmt::format("[2,5,3,{}]", pairs);
  const auto slice = [&](const std::string& name, const std::string& first) {
    return fmt::format("%{} : f32{} = slice{{start=[0,0,0,{}] size={} stride=[1,1,1,{}]}}(%x) \"{}\"\n", name, part,
                       first, part, stride, name);
  };
  const auto scalar = [&](const std::string& name, const std::string& expr, const std::string& inputs) {
    return fmt::format("%{} : f32{} = pointwise{{expr=\"{}(x0,x1)\"}}({}) \"{}\"\n", name, part, expr, inputs, name);
  };
  return (x.empty() ? fmt::format("input %x : f32[2,5,3,{}]\n", width) : x) +
         fmt::format("input %c : f32[2,5,1,{}]\ninput %s : f32[2,5,1,{}]\n", pairs, pairs) + slice("a", "0") +
         slice("b", second) + scalar("ac", "mul", "%a, %c") + scalar("bs", "mul", "%s, %b") +
         scalar("as", "mul", "%a, %s") + scalar("bc", "mul", "%b, %c") + scalar("real", "sub", "%ac, %bs") +
         scalar("imaginary", "add", "%bc, %as") + end;
}

std::string joined(int pairs) {
  return fmt::format("%y : f32[2,5,3,{}] = concat{{axis=3}}(%real, %imaginary) \"y\"\noutput %y\n", 2 * pairs);
}

std::string operatorsAfter(const std::string& body) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  runPass("find_rotation", after);
  runPass("dead_code", after);
  graph::verify(after);
  expectSameValues(before, after);
  return operators(after);
}

TEST(FindRotation, Halves) {
  EXPECT_EQ(operatorsAfter(rotation(8, 4, "4", "1", joined(4))), "rotate_pairs");
  EXPECT_EQ(operatorsAfter(rotation(11, 4, "4", "1", joined(4))), "rotate_pairs");
}

TEST(FindRotation, Neighbours) {
  const auto unsqueezed = [](const std::string& name) {
    return "%" + name + "1 : f32[2,5,3,4,1] = reshape{shape=[2,5,3,4,1]}(%" + name + ") \"" + name + "1\"\n";
  };
  EXPECT_EQ(
      operatorsAfter(rotation(8, 4, "1", "2",
                              unsqueezed("real") + unsqueezed("imaginary") +
                                  "%y : f32[2,5,3,4,2] = concat{axis=4}(%real1, %imaginary1) \"y\"\noutput %y\n")),
      "rotate_pairs reshape");
}

TEST(FindRotation, TransposesComeBehind) {
  EXPECT_EQ(operatorsAfter(rotation(8, 4, "4", "1", joined(4),
                                    "input %z : f32[5,3,2,8]\n"
                                    "%x : f32[2,5,3,8] = transpose{permutation=[2,0,1,3]}(%z) \"t\"\n")),
            "transpose transpose rotate_pairs transpose");
}

// Other columns, overlapping ones, and halves that are joined the other way around.
TEST(FindRotation, OthersStay) {
  for (const auto& body :
       {rotation(9, 4, "5", "1", joined(4)), rotation(8, 4, "3", "1", joined(4)), rotation(8, 4, "1", "2", joined(4)),
        rotation(8, 4, "4", "1", "%y : f32[2,5,3,8] = concat{axis=3}(%imaginary, %real) \"y\"\noutput %y\n"),
        rotation(8, 4, "4", "1", "%y : f32[2,5,6,4] = concat{axis=2}(%real, %imaginary) \"y\"\noutput %y\n")})
    EXPECT_EQ(operatorsAfter(body).find("rotate_pairs"), std::string::npos) << body;
}

}  // namespace
}  // namespace tenon::passes
