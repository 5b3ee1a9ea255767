// How much faster nodes must be together than apart.
#include "compile/joins.h"

#include <gtest/gtest.h>
#include "passes/composites.h"

namespace tenon::test {
namespace {

// The hundredths of the time apart that a join may take at most, of the only one that is tried in the body.
int mostOf(const std::string& body, bool onHost = false) {
  auto graph = graph::parse("graph \"g\" {\n" + body + "}\n");
  int most = -1;
  const auto pays = [&](const graph::Graph& whole, std::span<const graph::NodeId> made,
                        std::span<const graph::NodeId>) {
    EXPECT_EQ(most, -1) << "more than one join is tried";
    constexpr double kApart = 3e-5;
    for (most = 100; most > 0; --most) {
      if (compile::isClearlyFaster(whole, made, onHost, kApart * most / 100, kApart)) break;
    }
    return true;
  };
  passes::runJoins(graph, {false, nullptr, onHost ? "cpu" : "cuda", {}}, pays);
  return most;
}

const std::string kProduct = R"g(
  input %u : f32[3,5,6]
  const %q : f32[6,64] = random(6)
  const %s : f32[64] = random(1)
  const %t : f32[64] = random(2)
  const %w : f32[64,12] = random(3)
  %x : f32[3,5,64] = matmul(%u, %q) "first"
  %n : f32[3,5,64] = normalization{axes=[-1]}(%x, %s, %t) "norm"
)g";

// A normalization that moves into the products around it, and one that goes into the product in front.
TEST(Joins, OfNormalizationsMustGainMost) {
  EXPECT_EQ(mostOf(kProduct + "  %y : f32[3,5,12] = matmul(%n, %w) \"second\"\n  output %y\n"), 90);
  EXPECT_EQ(mostOf(kProduct + "  output %n\n"), 87);
}

// A cast that a convolution takes on GPUs; convolutions that a processor computes together.
TEST(Joins, OfOthersMustGainBeyondNoise) {
  EXPECT_EQ(mostOf(R"g(
  input %x : f32[1,3,8,8]
  const %w : f16[16,3,3,3] = random(1)
  %h : f16[1,3,8,8] = pointwise{expr="cast.f16(x0)"}(%x) "cast"
  %y : f16[1,16,6,6] = convolution(%h, %w) "convolution"
  output %y
)g"),
            96);
  EXPECT_EQ(mostOf(R"g(
  input %x : f32[1,16,8,8]
  const %w : f32[4,16,1,1] = random(1)
  const %v : f32[10,16,1,1] = random(2)
  %y : f32[1,4,8,8] = convolution(%x, %w) "first"
  %z : f32[1,10,8,8] = convolution(%x, %v) "second"
  output %y
  output %z
)g",
                   true),
            89);
}

}  // namespace
}  // namespace tenon::test
