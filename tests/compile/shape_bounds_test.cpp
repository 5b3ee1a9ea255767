// Bounds of computed sizes: what all shapes of a profile lead to, where they are few, and what a sample does elsewhere.
#include <gtest/gtest.h>

#include "compile/profiles.h"
#include "core/error.h"

namespace tenon::compile {
namespace {

// One size of x [N,M], by two operators over {N, M} and {20, 3}.
graph::Graph sized(const std::string& first, const std::string& second = "abs(x0)") {
  return graph::parse(fmt::format(R"(graph "sized" {{
    symbol "N" = extent(%x, 0)
    symbol "M" = extent(%x, 1)
    shape 0 "shape" : i64[2] = {{N,M}}
    shape 1 "limits" : i64[2] = {{20,3}}
    shape 2 "first" 1 = pointwise{{expr="{}"}}(0, 1)
    shape 3 "second" 1 = pointwise{{expr="{}"}}(2)
    size "s[0]" = 3[0]
    input %x : f32[N,M]
    %y : f32['s[0]'] = fill{{shape=['s[0]'] start=2}}() "y"
    output %y
  }})",
                                  first, second));
}

std::map<std::string, plan::InputRange> profile(const Dims& min, const Dims& opt, const Dims& max) {
  return {{"x", {min, opt, max, {}, {}, {}}}};
}

TEST(ShapeBounds, FewShapesAreAllLookedAt) {
  const auto symbols = bindProfile(sized("sub(x1,x0);mul(x0,t0)"), profile({1, 2}, {2, 2}, {20, 2}));
  ASSERT_EQ(symbols.shapeBounds.size(), 1U);
  EXPECT_EQ(symbols.shapeBounds[0].low, 0);     // N = 20
  EXPECT_EQ(symbols.shapeBounds[0].high, 100);  // N = 10, which is no corner
  EXPECT_EQ(symbols.bounds.at("s[0]").high, 100);
  EXPECT_EQ(symbols.min.at("s[0]"), 19);  // what the profile's own shapes lead to
  EXPECT_EQ(symbols.opt.at("s[0]"), 36);
  EXPECT_EQ(symbols.max.at("s[0]"), 0);
}

TEST(ShapeBounds, ManyShapesAreSampledWithTheirCorners) {
  const auto symbols = bindProfile(sized("mul(x0,3)", "floor_div(x0,2)"), profile({1, 1}, {5000, 7}, {1000000, 9000}));
  EXPECT_EQ(symbols.shapeBounds[0].low, 1);
  EXPECT_EQ(symbols.shapeBounds[0].high, 1500000);
  const auto huge = bindProfile(sized("identity(x0)"), profile({1, 1}, {5000, 7}, {int64_t{1} << 62, 9000}));
  EXPECT_EQ(huge.shapeBounds[0].high, int64_t{1} << 62);
}

// A hill in the middle of a wide range: an edge through opt finds most of it, and opt itself is always inside.
TEST(ShapeBounds, EveryShapeOfTheProfileItselfIsInside) {
  const auto symbols =
      bindProfile(sized("sub(x0,700000);abs(t0);sub(900000,t1)"), profile({1, 1}, {700000, 7}, {900000, 9000}));
  EXPECT_EQ(symbols.shapeBounds[0].high, 900000);
  EXPECT_LE(symbols.shapeBounds[0].low, 200001);
}

TEST(ShapeBounds, ShapesThatCannotBeAreLeftOutUnlessTheProfileNamesThem) {
  const auto divided = sized("sub(x0,10)", "identity(x0)");
  auto program = divided.shapes();
  program.steps[3].op = "pointwise{expr=\"div(x1,x0)\"}";
  program.steps[3].inputs = {2, 1};
  graph::Graph graph = divided;
  graph.setShapes(program);
  const auto symbols = bindProfile(graph, profile({1, 2}, {2, 2}, {19, 2}));
  EXPECT_EQ(symbols.shapeBounds[0].low, -20);
  EXPECT_EQ(symbols.shapeBounds[0].high, 20);
  try {
    (void)bindProfile(graph, profile({1, 2}, {10, 2}, {19, 2}));
    FAIL() << "expected a UserError";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("at its opt shapes: layer 'second': the shape computation divides by 0"),
              std::string::npos)
        << error.what();
  }
}

TEST(ShapeBounds, NoProgramNoBounds) {
  const auto graph =
      graph::parse("graph \"g\" { input %x : f32[N] %y : f32[N] = pointwise{expr=\"relu(x0)\"}(%x) output %y }");
  EXPECT_TRUE(bindProfile(graph, profile({1}, {2}, {3})).shapeBounds.empty());
}

}  // namespace
}  // namespace tenon::compile
