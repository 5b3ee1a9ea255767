// Operators that draw random numbers, from the bytes of a model to the statistics of an engine's numbers.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments momentsOf(const Reals& values) {
  Moments result;
  for (const float x : values) result.mean += x / static_cast<double>(values.size());
  for (const float x : values)
    result.deviation += (x - result.mean) * (x - result.mean) / static_cast<double>(values.size());
  result.deviation = std::sqrt(result.deviation);
  return result;
}

ModelMaker generator(const char* type, const std::vector<std::pair<const char*, float>>& reals) {
  ModelMaker maker(17);
  auto& node = maker.node(type, {}, {"y"});
  ModelMaker::set(node, "shape", Ints{100, 200});
  for (const auto& [name, value] : reals) ModelMaker::set(node, name, value);
  maker.output("y");
  return maker;
}

TEST(Random, NormalHasItsMeanAndScale) {
  const auto y = runModel(generator("RandomNormal", {{"mean", 3.0F}, {"scale", 0.25F}, {"seed", 7.0F}}), {});
  ASSERT_EQ(y.size(), 1U);
  const auto moments = momentsOf(y[0]);
  EXPECT_NEAR(moments.mean, 3, 5 * 0.25 / std::sqrt(20000));
  EXPECT_NEAR(moments.deviation, 0.25, 5 * 0.25 / std::sqrt(40000));
}

TEST(Random, UniformStaysBetweenItsBounds) {
  const auto y = runModel(generator("RandomUniform", {{"low", -2.0F}, {"high", 4.0F}}), {});
  ASSERT_EQ(y.size(), 1U);
  for (const float x : y[0]) ASSERT_TRUE(x >= -2 && x <= 4) << x;
  const auto moments = momentsOf(y[0]);
  EXPECT_NEAR(moments.mean, 1, 5 * 6 / std::sqrt(12 * 20000));
  EXPECT_NEAR(moments.deviation, 6 / std::sqrt(12), 0.05);
}

TEST(Random, SeedsMakeTheSameNumbers) {
  const auto of = [](float seed) { return runModel(generator("RandomUniform", {{"seed", seed}}), {}).at(0); };
  EXPECT_EQ(of(1.5F), of(1.5F));
  EXPECT_NE(of(1.5F), of(2.5F));
  const auto plain = [] { return runModel(generator("RandomUniform", {}), {}).at(0); };
  EXPECT_NE(plain(), plain());
}

TEST(Random, LikeTakesShapeAndType) {
  for (const char* type : {"RandomNormalLike", "RandomUniformLike"}) {
    ModelMaker maker(17);
    maker.input("x", {50, 60});
    maker.node(type, {"x"}, {"noise"});
    maker.node("Sub", {"noise", "x"}, {"y"});
    maker.output("y");
    const auto y = runModel(maker, {Reals(3000, 1.0F)});
    ASSERT_EQ(y.size(), 1U);
    const bool normal = std::string(type) == "RandomNormalLike";
    EXPECT_NEAR(momentsOf(y[0]).mean, normal ? -1 : -0.5, 0.1);
    EXPECT_NEAR(momentsOf(y[0]).deviation, normal ? 1 : 1 / std::sqrt(12), 0.07);
  }
}

// training_mode is computed from a second input, so that it is known only at run time.
TEST(Random, DropoutKeepsAsManyAsItSaysWhereItTrains) {
  ModelMaker maker(17);
  maker.input("x", {3, 5000});
  maker.input("mode", {});
  maker.floats("ratio", {}, {0.25F});
  maker.floats("half", {}, {0.5F});
  maker.node("Greater", {"mode", "half"}, {"trains"});
  ModelMaker::set(maker.node("Dropout", {"x", "ratio", "trains"}, {"y", "mask"}), "seed", int64_t{11});
  ModelMaker::set(maker.node("Cast", {"mask"}, {"kept"}), "to", int64_t{1});
  maker.output("y");
  maker.output("kept");
  const Reals x = randomReals(15000, 3, 1, 2);
  const auto trained = runModel(maker, {x, {1}});
  ASSERT_EQ(trained.size(), 2U);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(trained[0][i], trained[1][i] == 0 ? 0 : x[i] / 0.75F, 1e-6F) << i;
  EXPECT_NEAR(momentsOf(trained[1]).mean, 0.75, 5 * std::sqrt(0.75 * 0.25 / 15000));
  const auto inferred = runModel(maker, {x, {0}});
  EXPECT_EQ(inferred.at(0), x);
  EXPECT_EQ(inferred.at(1), Reals(15000, 1.0F));
}

TEST(Random, BernoulliIsOneAsOftenAsItSays) {
  ModelMaker maker(17);
  maker.input("p", {4, 5000});
  maker.node("Bernoulli", {"p"}, {"y"});
  maker.output("y");
  Reals chances;
  for (int row = 0; row < 4; ++row) chances.insert(chances.end(), 5000, static_cast<float>(row) / 3);
  const auto y = runModel(maker, {chances});
  ASSERT_EQ(y.size(), 1U);
  for (int row = 0; row < 4; ++row) {
    double sum = 0;
    for (int i = 0; i < 5000; ++i) {
      const float x = y[0][static_cast<size_t>(row * 5000 + i)];
      ASSERT_TRUE(x == 0 || x == 1);
      sum += x;
    }
    EXPECT_NEAR(sum / 5000, row / 3.0, row % 3 == 0 ? 0 : 5 * std::sqrt(2.0 / 9 / 5000));
  }
}

TEST(Random, MultinomialTakesClassesByTheirWeights) {
  ModelMaker maker(17);
  maker.input("x", {2, 3});
  auto& node = maker.node("Multinomial", {"x"}, {"y"});
  ModelMaker::set(node, "sample_size", int64_t{6000});
  maker.output("y");
  const Reals logs{std::log(0.5F), std::log(0.2F), std::log(0.3F), -INFINITY, 2, -INFINITY};
  const auto y = runModel<int32_t>(maker, {logs});
  ASSERT_EQ(y.size(), 1U);
  ASSERT_EQ(y[0].size(), 12000U);
  double counts[2][3] = {};
  for (size_t i = 0; i < 12000; ++i) {
    ASSERT_TRUE(y[0][i] >= 0 && y[0][i] < 3) << y[0][i];
    ++counts[i / 6000][y[0][i]];
  }
  const double expected[2][3] = {{0.5, 0.2, 0.3}, {0, 1, 0}};
  for (int row = 0; row < 2; ++row) {
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(counts[row][k] / 6000, expected[row][k], row == 0 ? 0.035 : 0);
  }
}

TEST(Random, WhatIsMissingOrWrongIsSaid) {
  NetworkBench bench;
  ModelMaker without(17);
  without.node("RandomNormal", {}, {"y"});
  without.output("y");
  EXPECT_FALSE(bench.parse(without));
  EXPECT_NE(bench.errors().find("the attribute shape is missing"), std::string::npos) << bench.errors();
  NetworkBench other;
  ModelMaker integers = generator("RandomUniform", {});
  ModelMaker::set(*integers.proto().mutable_graph()->mutable_node(0), "dtype", int64_t{7});
  EXPECT_FALSE(other.parse(integers));
  EXPECT_NE(other.errors().find("random numbers of INT64; expected a floating type"), std::string::npos)
      << other.errors();
}

}  // namespace
}  // namespace tenon::parsers::onnx
