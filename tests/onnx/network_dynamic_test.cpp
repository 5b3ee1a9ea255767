// Operators whose inputs have extents that are known only at run time, where their formulas allow it.
#include <algorithm>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

struct Given {
  std::string name;
  Dimensions shape;
  const void* values;
};

// An engine for 1 to 4 in every open dimension, run once.
std::vector<Reals> runOpen(const ModelMaker& maker, const std::vector<Given>& inputs, size_t count) {
  const ModelRun run(maker, [&](NetworkBench& bench, nvinfer1::IBuilderConfig& config) {
    auto* profile = bench.builder->createOptimizationProfile();
    for (int32_t i = 0; i < bench.network->getNbInputs(); ++i) {
      const auto* input = bench.network->getInput(i);
      Dimensions low = toDimensions(input->getDimensions());
      Dimensions high = low;
      std::replace(low.begin(), low.end(), int64_t{-1}, int64_t{1});
      std::replace(high.begin(), high.end(), int64_t{-1}, int64_t{4});
      profile->setDimensions(input->getName(), nvinfer1::OptProfileSelector::kMIN, toDims(low));
      profile->setDimensions(input->getName(), nvinfer1::OptProfileSelector::kOPT, toDims(low));
      profile->setDimensions(input->getName(), nvinfer1::OptProfileSelector::kMAX, toDims(high));
    }
    config.addOptimizationProfile(profile);
  });
  if (run.context == nullptr) return {};
  const auto& [bench, runtime, engine, context] = run;
  for (const Given& input : inputs) {
    EXPECT_TRUE(context->setInputShape(input.name.c_str(), toDims(input.shape))) << bench.logger.text;
    EXPECT_TRUE(context->setInputTensorAddress(input.name.c_str(), input.values));
  }
  std::vector<Reals> results{Reals(count, -99)};
  EXPECT_TRUE(context->setTensorAddress(engine->getIOTensorName(engine->getNbIOTensors() - 1), results[0].data()));
  EXPECT_TRUE(context->enqueueV3(nullptr)) << bench.logger.text;
  return results;
}

// y[:, -1, 1] and y[:, 0, 2] take what is added, twice where an index comes twice.
TEST(OpenExtents, ScatterNdAdds) {
  ModelMaker maker(18);
  maker.input("x", {-2, 3, 2});
  maker.input("i", {-3, 2}, 7);
  maker.input("u", {-3, 2});
  auto& node = maker.node("ScatterND", {"x", "i", "u"}, {"y"});
  ModelMaker::set(node, "reduction", std::string("add"));
  maker.output("y");
  const Reals x = randomReals(3 * 3 * 2, 1);
  const Reals updates = randomReals(4 * 2, 2);
  const Ints indices{2, -1, 0, 0, -1, 2, 0, 0};
  const auto y = runOpen(
      maker, {{"x", {3, 3, 2}, x.data()}, {"i", {4, 2}, indices.data()}, {"u", {4, 2}, updates.data()}}, x.size());
  std::vector<double> expected(x.begin(), x.end());
  for (size_t k = 0; k < 4; ++k) {
    const int64_t row = (indices[2 * k] + 3) % 3 * 3 + (indices[2 * k + 1] + 3) % 3;
    for (size_t c = 0; c < 2; ++c) expected[static_cast<size_t>(row) * 2 + c] += updates[2 * k + c];
  }
  ASSERT_EQ(y.size(), 1u);
  expectNear(y[0], expected, 1e-6);
}

TEST(OpenExtents, ScatterNdRefusesIndicesLongerThanTheRank) {
  ModelMaker maker(18);
  maker.input("x", {-2, 2});
  maker.ints("i", {1, 3}, {0, 0, 0});
  maker.floats("u", {1}, {1});
  auto& node = maker.node("ScatterND", {"x", "i", "u"}, {"y"});
  ModelMaker::set(node, "reduction", std::string("max"));
  maker.output("y");
  EXPECT_NE(refusal(maker).find("indices have 3 entries each; expected 1 to 2, the rank of the data"),
            std::string::npos)
      << refusal(maker);
}

TEST(OpenExtents, EyeLike) {
  ModelMaker maker;
  maker.input("x", {-2, -3});
  ModelMaker::set(maker.node("EyeLike", {"x"}, {"y"}), "k", int64_t{1});
  maker.output("y");
  const Reals x(3 * 4, 7);
  const auto y = runOpen(maker, {{"x", {3, 4}, x.data()}}, x.size());
  ASSERT_EQ(y.size(), 1u);
  expectNear(y[0], {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
}

// Pieces that are all empty still have extents: indices of a scatter that writes nothing.
TEST(OpenExtents, ConcatenatesEmptyPieces) {
  ModelMaker maker(18);
  maker.input("x", {-2, 3});
  maker.ints("row", {0, 1}, {});
  maker.ints("column", {0, 1}, {});
  ModelMaker::set(maker.node("Concat", {"row", "column"}, {"i"}), "axis", int64_t{-1});
  maker.floats("u", {0}, {});
  maker.node("ScatterND", {"x", "i", "u"}, {"y"});
  maker.output("y");
  const Reals x = randomReals(2 * 3, 1);
  const auto y = runOpen(maker, {{"x", {2, 3}, x.data()}}, x.size());
  ASSERT_EQ(y.size(), 1u);
  expectNear(y[0], std::vector<double>(x.begin(), x.end()), 0);
}

TEST(OpenExtents, TriangleByAComputedDiagonal) {
  for (const int64_t upper : {0, 1}) {
    ModelMaker maker(18);
    maker.input("x", {3, 4});
    maker.input("k", {}, 7);
    ModelMaker::set(maker.node("Trilu", {"x", "k"}, {"y"}), "upper", upper);
    maker.output("y");
    const Reals x = randomReals(12, 4);
    for (const int64_t k : {-5, -1, 0, 2, 9}) {
      Reals expected;
      for (int64_t i = 0; i < 12; ++i) {
        const bool stays = upper != 0 ? i % 4 - i / 4 >= k : i % 4 - i / 4 <= k;
        expected.push_back(stays ? x[static_cast<size_t>(i)] : 0);
      }
      EXPECT_EQ(runOpen(maker, {{"x", {3, 4}, x.data()}, {"k", {}, &k}}, x.size())[0], expected) << k;
    }
  }
}

// Half of the columns with antialiasing: weights 1, 3, 3, 1 of eight; at the ends what is outside counts for the
// border.
class Antialiased : public ::testing::TestWithParam<bool> {};

TEST_P(Antialiased, OfAnOpenBatch) {
  ModelMaker maker(18);
  maker.input("x", {-2, 1, 8});
  std::vector<std::string> operands{"x", "", "scales"};
  maker.floats("scales", {3}, {1, 1, 0.5f});
  if (GetParam()) {  // sizes with the batch as Shape gives it
    maker.node("Shape", {"x"}, {"shape"});
    maker.ints("zero", {1}, {0});
    maker.ints("two", {1}, {2});
    maker.ints("four", {1}, {4});
    maker.node("Slice", {"shape", "zero", "two"}, {"kept"});
    ModelMaker::set(maker.node("Concat", {"kept", "four"}, {"sizes"}), "axis", int64_t{0});
    operands = {"x", "", "", "sizes"};
  }
  auto& node = maker.node("Resize", operands, {"y"});
  ModelMaker::set(node, "mode", std::string("linear"));
  ModelMaker::set(node, "antialias", int64_t{1});
  maker.output("y");
  const Reals x = randomReals(3 * 8, 1);
  const auto y = runOpen(maker, {{"x", {3, 1, 8}, x.data()}}, 3 * 4);
  std::vector<double> expected;
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      double sum = 0;
      for (int64_t tap = 0; tap < 4; ++tap) {
        const int64_t from = std::clamp<int64_t>(2 * column - 1 + tap, 0, 7);
        sum += x[static_cast<size_t>(row * 8 + from)] * (tap == 1 || tap == 2 ? 3.0 : 1.0) / 8;
      }
      expected.push_back(sum);
    }
  }
  ASSERT_EQ(y.size(), 1u);
  expectNear(y[0], expected, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(OpenExtents, Antialiased, ::testing::Bool());

}  // namespace
}  // namespace tenon::parsers::onnx
