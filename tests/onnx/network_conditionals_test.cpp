// If from the model's bytes to its numbers: parsed, built, saved, loaded, run.
#include "control_flow_models.h"

namespace tenon::parsers::onnx {
namespace {

ModelMaker conditional(bool known) {
  ModelMaker then, otherwise, maker;
  then.floats("two", {}, {2});
  then.node("Mul", {"x", "two"}, {"doubled"});
  then.node("Add", {"doubled", "outside"}, {"r"});
  then.output("r");
  otherwise.node("Sub", {"x", "outside"}, {"r2"});
  otherwise.output("r2");
  if (known) {
    maker.initializer("c", {}, kBool).set_raw_data("\1", 1);
  } else {
    maker.input("c", {}, kBool);
  }
  maker.input("x", {3});
  maker.node("Neg", {"x"}, {"n"});
  maker.node("Exp", {"n"}, {"outside"});
  auto& node = maker.node("If", {"c"}, {"y"}, "choice");
  setGraph(node, "then_branch", then);
  setGraph(node, "else_branch", otherwise);
  maker.output("y");
  return maker;
}

TEST(Conditionals, IfComputesTheBranchThatIsChosen) {
  const Floats x{0.5F, -1, 2};
  for (const bool holds : {true, false}) {
    const auto y = run(conditional(false), {&holds, x.data()}, 3);
    ASSERT_EQ(y.size(), 3U);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(y[i], holds ? 2 * x[i] + std::exp(-x[i]) : x[i] - std::exp(-x[i]), 1e-5F);
  }
}

TEST(Conditionals, KnownConditionsChooseWhileParsing) {
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(conditional(true))) << bench.errors();
  for (int i = 0; i < bench.network->getNbLayers(); ++i)
    EXPECT_NE(bench.network->getLayer(i)->getType(), nvinfer1::LayerType::kCONDITION);
  const Floats x{1, 2, 3};
  const auto y = run(conditional(true), {x.data()}, 3);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], 2 * x[i] + std::exp(-x[i]), 1e-5F);
}

// Two rows of x where it has more than five, else four rows, doubled.
ModelMaker unequalBranches() {
  ModelMaker then, otherwise, maker;
  then.ints("from", {1}, {0});
  then.ints("to", {1}, {2});
  then.node("Slice", {"x", "from", "to"}, {"r"});
  then.output("r", {2, 3});
  otherwise.ints("from", {1}, {0});
  otherwise.ints("to", {1}, {4});
  otherwise.node("Slice", {"x", "from", "to"}, {"part"});
  otherwise.node("Add", {"part", "part"}, {"r2"});
  otherwise.output("r2", {4, 3});
  maker.input("x", {-2, 3});
  maker.ints("zero", {}, {0});
  maker.ints("five", {}, {5});
  maker.node("Shape", {"x"}, {"shape"});
  maker.node("Gather", {"shape", "zero"}, {"n"});
  maker.node("Greater", {"n", "five"}, {"c"});
  auto& node = maker.node("If", {"c"}, {"y"}, "choice");
  setGraph(node, "then_branch", then);
  setGraph(node, "else_branch", otherwise);
  maker.output("y");
  return maker;
}

TEST(Conditionals, BranchesMayGiveDifferentExtents) {
  Floats x(48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) + 0.25F;
  for (const int64_t n : {4, 5, 6, 16}) {
    const auto y = run(unequalBranches(), {x.data()}, 13, n);
    ASSERT_EQ(y.size(), 13U);
    const size_t kept = n > 5 ? 6 : 12;
    for (size_t i = 0; i < kept; ++i) EXPECT_EQ(y[i], n > 5 ? x[i] : 2 * x[i]) << n << ' ' << i;
    EXPECT_EQ(y[kept], -99) << n;
  }
}

// Each branch counts, and the one that is not chosen would refuse its operands: an index beyond x.
TEST(Conditionals, BranchesThatCountRunWhereTheyAreChosen) {
  ModelMaker then, otherwise, maker;
  then.node("Gather", {"x", "index"}, {"element"});
  then.node("Sub", {"x", "element"}, {"differences"});
  then.node("NonZero", {"differences"}, {"places"});
  then.output("places", {1, -2}, kInt64);
  otherwise.node("NonZero", {"x"}, {"places2"});
  otherwise.output("places2", {1, -2}, kInt64);
  maker.input("x", {6});
  maker.input("number", {1});
  maker.floats("six", {}, {6});
  maker.node("Squeeze", {"number"}, {"one"});
  ModelMaker::set(maker.node("Cast", {"one"}, {"index"}), "to", int64_t{kInt64});
  maker.node("Less", {"one", "six"}, {"c"});
  auto& node = maker.node("If", {"c"}, {"found"}, "choice");
  setGraph(node, "then_branch", then);
  setGraph(node, "else_branch", otherwise);
  ModelMaker::set(maker.node("Cast", {"found"}, {"y"}), "to", int64_t{1});
  maker.output("y");
  const Floats x{0, 1, 2, 0, 3, 0};
  const auto expected = [&](float index) {
    Floats places;
    for (size_t i = 0; i < x.size(); ++i) {
      const float less = index < 6 ? x[static_cast<size_t>(index)] : 0;
      if (x[i] != less) places.push_back(static_cast<float>(i));
    }
    places.resize(6, -99);
    return places;
  };
  for (const float index : {0.0F, 2.0F, 9.0F}) EXPECT_EQ(run(maker, {x.data(), &index}, 6), expected(index)) << index;
}

// What exporters write for a squeeze of an axis whose extent they do not know: its branches have different ranks.
TEST(Conditionals, ASqueezeThatMayBeIsImportedForOtherExtentsThanOne) {
  ModelMaker then, otherwise, maker;
  then.ints("axes", {1}, {1});
  then.node("Squeeze", {"x", "axes"}, {"r"});
  then.output("r");
  otherwise.node("Identity", {"x"}, {"r2"});
  otherwise.output("r2");
  maker.input("x", {3, -1});
  maker.ints("one", {}, {1});
  maker.node("Shape", {"x"}, {"shape"});
  maker.node("Gather", {"shape", "one"}, {"extent"});
  maker.node("Equal", {"extent", "one"}, {"isOne"});
  auto& node = maker.node("If", {"isOne"}, {"z"}, "squeeze");
  setGraph(node, "then_branch", then);
  setGraph(node, "else_branch", otherwise);
  maker.node("Neg", {"z"}, {"y"});
  maker.output("y");
  const Floats x{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(maker, {x.data()}, 6, 2), (Floats{-1, -2, -3, -4, -5, -6}));
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_EQ(bench.outputShape(), (Dimensions{3, -1}));
  bool isAsserted = false;
  for (int i = 0; i < bench.network->getNbLayers(); ++i) {
    if (bench.network->getLayer(i)->getType() != nvinfer1::LayerType::kASSERTION) continue;
    isAsserted = true;
    const auto* assertion = static_cast<const nvinfer1::IAssertionLayer*>(bench.network->getLayer(i));
    EXPECT_NE(std::string(assertion->getMessage()).find("node 'squeeze' squeezes an axis where its extent is 1"),
              std::string::npos);
  }
  EXPECT_TRUE(isAsserted);
}

// What stands behind may need the other rank: here a transposition of two axes.
TEST(Conditionals, ASqueezeIsDoneWhereTheRestNeedsIt) {
  ModelMaker then, otherwise, maker;
  then.ints("axes", {1}, {2});
  then.node("Squeeze", {"x", "axes"}, {"r"});
  then.output("r");
  otherwise.node("Identity", {"x"}, {"r2"});
  otherwise.output("r2");
  maker.input("x", {2, 3, -1});
  maker.ints("one", {}, {1});
  maker.ints("two", {}, {2});
  maker.node("Shape", {"x"}, {"shape"});
  maker.node("Gather", {"shape", "two"}, {"extent"});
  maker.node("Equal", {"extent", "one"}, {"isOne"});
  auto& node = maker.node("If", {"isOne"}, {"z"}, "squeeze");
  setGraph(node, "then_branch", then);
  setGraph(node, "else_branch", otherwise);
  ModelMaker::set(maker.node("Transpose", {"z"}, {"y"}), "perm", Ints64{1, 0});
  maker.output("y");
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  EXPECT_EQ(bench.outputShape(), (Dimensions{3, 2}));
  EXPECT_EQ(bench.errors(), "");
  const std::string bytes = maker.bytes();
  EXPECT_TRUE(bench.parser->supportsModelV2(bytes.data(), bytes.size(), nullptr)) << bench.errors();
  const Floats x{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(run(maker, {x.data()}, 6, 1, 1), (Floats{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace tenon::parsers::onnx
