// A pointwise convolution and the depthwise one behind it that become one node, and what stays.
#include "check_pass.h"

#include "passes/composites.h"

namespace tenon::passes {
namespace {

bool always(const graph::Graph&, std::span<const graph::NodeId>, std::span<const graph::NodeId>) { return true; }

std::string bodyOf(const std::string& first, const std::string& second, const std::string& behind = "") {
  return R"g(
  input %x : f16[N,8,9,7]
  input %u : f16[24,1,3,3]
  const %w : f16[24,8,1,1] = random(1)
  const %b : f16[24] = random(2)
  const %t : f16[24,8,3,3] = random(3)
  const %v : f16[24,1,3,3] = random(4)
  const %d : f16[24,4,3,3] = random(5)
  const %c : f16[24] = random(6)
)g" + first +
         second + "\n  output %y\n" + behind;
}

const char* const kExpand =
    "  %h : f16[N,24,9,7] = convolution{hasBias=true epilogue=\"relu(x0)\"}(%x, %w, %b) \"expand\"\n";
const char* const kWindow =
    "  %y : f16[N,24,4,3] = convolution{groups=24 strides=[2,2] hasBias=true}(%h, %v, %c) \"window\"\n";

graph::Graph expectJoin(const std::string& body, const std::string& left) {
  const auto before = graph::parse("graph \"g\" {\n" + body + "}\n");
  auto after = before;
  joinExpansion(after, always);
  graph::verify(after);
  EXPECT_EQ(operators(after), left) << graph::text(after);
  expectSameValues(before, after);
  EXPECT_EQ(joinExpansion(after, always), 0);
  return after;
}

TEST(JoinExpansion, OfOneReader) {
  const auto after = expectJoin(bodyOf(kExpand, kWindow), "composite");
  const auto& node = after.node(after.order()[0]);
  EXPECT_EQ(node.name, "expand + window");
  EXPECT_EQ(node.op.text(),
            "composite{parts=[{convolution{hasBias=true epilogue=\"relu(x0)\"} [0,1,2]},{convolution{strides=[2,2] "
            "groups=24 hasBias=true} [-1,3,4]}] outputs=[1]}");
}

TEST(JoinExpansion, OthersStay) {
  const std::string two = "convolution convolution";
  expectJoin(bodyOf(kExpand, kWindow, "  output %h\n"), two);
  // Windows of the first, groups of several channels, weights that are computed, a sum behind the first.
  expectJoin(
      bodyOf("  %h : f16[N,24,9,7] = convolution{prePadding=[1,1] postPadding=[1,1]}(%x, %t) \"first\"\n", kWindow),
      two);
  expectJoin(bodyOf(kExpand, "  %y : f16[N,24,7,5] = convolution{groups=6}(%h, %d) \"window\"\n"), two);
  expectJoin(bodyOf(kExpand, "  %y : f16[N,24,7,5] = convolution{groups=24}(%h, %u) \"window\"\n"), two);
  expectJoin("  input %s : f16[1,24,9,7]\n" +
                 bodyOf("  %h : f16[N,24,9,7] = convolution{epilogue=\"add(x0,x1)\"}(%x, %w, %s) \"first\"\n", kWindow),
             two);
}

TEST(JoinExpansion, NotWhereItDoesNotPay) {
  auto graph = graph::parse("graph \"g\" {\n" + bodyOf(kExpand, kWindow) + "}\n");
  EXPECT_EQ(joinExpansion(graph, [](const auto&, auto, auto) { return false; }), 0);
  EXPECT_EQ(operators(graph), "convolution convolution");
}

}  // namespace
}  // namespace tenon::passes
