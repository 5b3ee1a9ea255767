// Extents that a model leaves open and that its other operands, or only the run, tell.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

// The outputs of a model of FLOAT inputs with open extents at one set of shapes, as elements of Out.
template <typename Out = float>
std::vector<std::pair<Dimensions, std::vector<Out>>> runAt(const ModelMaker& maker,
                                                           const std::vector<std::pair<Dimensions, Reals>>& inputs) {
  const ModelRun run(maker, [&](NetworkBench& bench, nvinfer1::IBuilderConfig& config) {
    auto* profile = bench.builder->createOptimizationProfile();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const char* name = bench.network->getInput(static_cast<int32_t>(i))->getName();
      for (const auto which :
           {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT, nvinfer1::OptProfileSelector::kMAX})
        profile->setDimensions(name, which, toDims(inputs[i].first));
    }
    config.addOptimizationProfile(profile);
  });
  if (run.context == nullptr) return {};
  const auto& [bench, runtime, engine, context] = run;
  std::vector<std::pair<Dimensions, std::vector<Out>>> outputs;
  outputs.reserve(static_cast<size_t>(engine->getNbIOTensors()));
  std::vector<void*> bindings;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
    const char* name = engine->getIOTensorName(i);
    if (engine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT) {
      const auto& [shape, values] = inputs.at(static_cast<size_t>(i));
      EXPECT_TRUE(context->setInputShape(name, toDims(shape)));
      bindings.push_back(const_cast<float*>(values.data()));
      continue;
    }
    const Dimensions shape = toDimensions(context->getTensorShape(name));
    outputs.emplace_back(shape, std::vector<Out>(static_cast<size_t>(elementCount(shape)), Out(-99)));
    bindings.push_back(outputs.back().second.data());
  }
  EXPECT_TRUE(context->executeV2(bindings.data())) << bench.logger.text;
  return outputs;
}

Reals counted(size_t count) {
  Reals values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// Parts are rounded up from opset 18 on, and the last one is what is left.
TEST(OpenExtents, SplitIntoParts) {
  for (const int64_t extent : {10, 9, 3}) {
    ModelMaker maker(18);
    maker.input("x", {-1, 2});
    ModelMaker::set(maker.node("Split", {"x"}, {"a", "b", "c"}), "num_outputs", int64_t{3});
    for (const char* name : {"a", "b", "c"}) maker.output(name);
    const Reals x = counted(static_cast<size_t>(extent) * 2);
    const auto parts = runAt(maker, {{{extent, 2}, x}});
    ASSERT_EQ(parts.size(), 3U);
    const int64_t part = (extent + 2) / 3;
    size_t at = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].first, (Dimensions{i < 2 ? part : extent - 2 * part, 2})) << extent;
      for (const float value : parts[i].second) EXPECT_EQ(value, x[at++]);
    }
  }
}

// Channels that only the weights tell.
TEST(OpenExtents, ChannelsOfConvolutionsAndNormalizations) {
  const Reals x = randomReals(2 * 4 * 3 * 3, 1);
  for (const char* type : {"Conv", "ConvTranspose"}) {
    std::vector<std::vector<float>> results;
    for (const int64_t channels : {-1, 4}) {
      ModelMaker maker(17);
      maker.input("x", {-1, channels, -1, 3});
      maker.floats("w", {4, 2, 2, 2}, randomReals(32, 2));
      ModelMaker::set(maker.node(type, {"x", "w"}, {"c"}), "group", int64_t{type[4] == '\0' ? 2 : 1});
      for (const char* name : {"scale", "bias", "mean", "variance"})
        maker.floats(name, {type[4] == '\0' ? 4 : 2}, randomReals(type[4] == '\0' ? 4 : 2, 3, 0.5F, 1));
      maker.node("BatchNormalization", {"c", "scale", "bias", "mean", "variance"}, {"y"});
      maker.output("y");
      const auto y = runAt(maker, {{{2, 4, 3, 3}, x}});
      ASSERT_EQ(y.size(), 1U);
      results.push_back(y[0].second);
    }
    expectNear(results[0], std::vector<double>(results[1].begin(), results[1].end()), 1e-6);
  }
  ModelMaker maker(17);
  maker.input("x", {-1, -1, -1, 3});
  for (const char* name : {"scale", "bias", "mean", "variance"}) maker.floats(name, {4}, {1, 2, 3, 4});
  maker.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"});
  maker.output("y");
  const auto y = runAt(maker, {{{2, 4, 3, 3}, x}});
  ASSERT_EQ(y.size(), 1U);
  for (size_t i = 0; i < x.size(); ++i) {
    const double c = static_cast<double>(i / 9 % 4) + 1;
    EXPECT_NEAR(y[0].second[i], (x[i] - c) / std::sqrt(c + 1e-5) * c + c, 1e-5) << i;
  }
}

// The inner extent of a product of bytes with zero points, open on one side or on both.
TEST(OpenExtents, InnerExtentOfIntegerProducts) {
  constexpr int64_t kInner = 7;
  const Reals a = counted(2 * kInner), b = counted(kInner * 3);
  for (const bool both : {false, true}) {
    ModelMaker maker(17);
    maker.input("a", {-1, -1});
    if (both) {
      maker.input("b", {-1, 3});
    } else {
      maker.floats("b", {kInner, 3}, b);
    }
    ModelMaker::set(maker.node("Cast", {"a"}, {"bytes a"}), "to", int64_t{2});
    ModelMaker::set(maker.node("Cast", {"b"}, {"bytes b"}), "to", int64_t{2});
    const unsigned char zero = 5;
    maker.initializer("za", {}, 2).set_raw_data(&zero, 1);
    maker.node("MatMulInteger", {"bytes a", "bytes b", "za", "za"}, {"y"});
    maker.output("y", {}, 6);
    std::vector<std::pair<Dimensions, Reals>> inputs{{{2, kInner}, a}};
    if (both) inputs.push_back({{kInner, 3}, b});
    const auto y = runAt<int32_t>(maker, inputs);
    ASSERT_EQ(y.size(), 1U);
    for (size_t i = 0; i < 6; ++i) {
      float sum = 0;
      for (size_t k = 0; k < kInner; ++k) sum += (a[i / 3 * kInner + k] - zero) * (b[k * 3 + i % 3] - zero);
      EXPECT_EQ(y[0].second[i], sum) << both << i;
    }
  }
}

// A constant without elements counts where it has some along the axis.
TEST(OpenExtents, ConcatenationsWithoutElements) {
  ModelMaker maker(17);
  maker.input("x", {-1, 2, 3});
  maker.floats("none", {0, 4, 3}, {});
  ModelMaker::set(maker.node("Concat", {"none", "x"}, {"y"}), "axis", int64_t{1});
  maker.output("y");
  const auto y = runAt(maker, {{{0, 2, 3}, {}}});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_EQ(y[0].first, (Dimensions{0, 6, 3}));
}

// Where bounds cross, everything is the upper one, however they are given.
TEST(OpenExtents, HardmaxAlongAnOpenAxis) {
  for (const int64_t axis : {0, 1, 2}) {
    ModelMaker maker(17);
    maker.input("x", {-1, -1, -1});
    ModelMaker::set(maker.node("Hardmax", {"x"}, {"y"}), "axis", axis);
    maker.output("y");
    Reals x = counted(24);
    x[5] = 100;
    x[6] = 100;  // of two equal ones the first
    x[9] = 100;
    const auto y = runAt(maker, {{{2, 3, 4}, x}});
    ASSERT_EQ(y.size(), 1U);
    ASSERT_EQ(y[0].first, (Dimensions{2, 3, 4}));
    const int64_t strides[] = {12, 4, 1}, extents[] = {2, 3, 4};
    for (int64_t i = 0; i < 24; ++i) {
      const int64_t step = strides[axis], place = i / step % extents[axis], first = i - place * step;
      int64_t best = 0;
      for (int64_t k = 1; k < extents[axis]; ++k) {
        const auto at = [&](int64_t n) { return x[static_cast<size_t>(first + n * step)]; };
        if (at(k) > at(best)) best = k;
      }
      EXPECT_EQ(y[0].second[static_cast<size_t>(i)], place == best ? 1.F : 0.F) << axis << ' ' << i;
    }
  }
}

TEST(OpenExtents, ChannelsThatBecomeSpace) {
  for (const char* mode : {"DCR", "CRD"}) {
    std::vector<std::vector<float>> results;
    for (const int64_t channels : {-1, 8}) {
      ModelMaker maker(17);
      maker.input("x", {-1, channels, -1, 3});
      auto& node = maker.node("DepthToSpace", {"x"}, {"y"});
      ModelMaker::set(node, "blocksize", int64_t{2});
      ModelMaker::set(node, "mode", mode);
      maker.output("y");
      const auto y = runAt(maker, {{{1, 8, 2, 3}, counted(48)}});
      ASSERT_EQ(y.size(), 1U);
      EXPECT_EQ(y[0].first, (Dimensions{1, 2, 4, 6}));
      results.push_back(y[0].second);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST(OpenExtents, BoundsThatCross) {
  for (const int form : {0, 1, 2}) {
    ModelMaker maker(form == 0 ? 10 : 13);
    maker.input("x", {-1});
    if (form == 2) {
      maker.input("low", {});
      maker.input("high", {});
    } else if (form == 1) {
      maker.floats("low", {}, {2});
      maker.floats("high", {}, {-1});
    }
    auto& node = maker.node(
        "Clip", form == 0 ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "low", "high"}, {"y"});
    if (form == 0) {
      ModelMaker::set(node, "min", 2.0F);
      ModelMaker::set(node, "max", -1.0F);
    }
    maker.output("y");
    std::vector<std::pair<Dimensions, Reals>> inputs{{{5}, {-3, -1, 0, 2, 7}}};
    if (form == 2) inputs.insert(inputs.end(), {{{}, {2}}, {{}, {-1}}});
    const auto y = runAt(maker, inputs);
    ASSERT_EQ(y.size(), 1U);
    EXPECT_EQ(y[0].second, Reals(5, -1)) << form;
  }
}

// The places of the maxima of windows 3 by 2 apart, of images of 2 channels.
TEST(OpenExtents, PoolsWithIndices) {
  for (const char* pad : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "ceil"}) {
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 7}, {6, 4}, {9, 8}}) {
      std::vector<std::vector<int64_t>> results;
      const Reals x = randomReals(static_cast<size_t>(4 * rows * columns), 5);
      for (const bool isOpen : {false, true}) {
        ModelMaker maker(17);
        maker.input("x", isOpen ? Ints{-1, -1, -1, -1} : Ints{2, 2, rows, columns});
        auto& node = maker.node("MaxPool", {"x"}, {"y", "index"});
        ModelMaker::set(node, "kernel_shape", Ints{3, 3});
        ModelMaker::set(node, "strides", Ints{2, 2});
        if (std::string_view(pad) == "ceil") {
          ModelMaker::set(node, "ceil_mode", int64_t{1});
          ModelMaker::set(node, "pads", Ints{1, 0, 0, 1});
        } else {
          ModelMaker::set(node, "auto_pad", pad);
        }
        maker.output("index", {}, 7);
        const auto y = runAt<int64_t>(maker, {{{2, 2, rows, columns}, x}});
        ASSERT_EQ(y.size(), 1U);
        results.push_back(y[0].second);
      }
      EXPECT_EQ(results[0], results[1]) << pad << rows;
    }
  }
}

TEST(OpenExtents, Determinants) {
  ModelMaker maker(17);
  maker.input("x", {-1, -1, -1});
  maker.node("Det", {"x"}, {"d"});
  maker.output("d");
  const auto d = runAt(maker, {{{2, 3, 3}, {0, 2, 1, 4, 1, 3, 2, 5, 7, 1, 2, 3, 4, 5, 6, 7, 8, 10}}});
  ASSERT_EQ(d.size(), 1U);
  expectNear(d[0].second, {-26, -3}, 1e-5);
}

TEST(OpenExtents, UniqueRows) {
  ModelMaker maker(17);
  maker.input("x", {-1, -1});
  ModelMaker::set(maker.node("Unique", {"x"}, {"", "", "inverse"}), "axis", int64_t{0});
  maker.output("inverse", {}, 7);
  const auto inverse = runAt<int64_t>(maker, {{{5, 3}, {1, 2, 3, 0, 9, 9, 1, 2, 2, 1, 2, 3, 0, 9, 9}}});
  ASSERT_EQ(inverse.size(), 1U);
  EXPECT_EQ(inverse[0].second, (Ints{2, 0, 1, 2, 0}));
}

}  // namespace
}  // namespace tenon::parsers::onnx
