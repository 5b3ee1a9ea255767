// SPDX-License-Identifier: Apache-2.0
// IPluginV3 from network to answers: shapes, types, formats, fields.
#include <array>

#include "v3.h"

namespace tenon::test {
namespace {

TEST_F(PluginV3, ScalesFixedShapes) {
  const float factor = -1.5F;
  const auto plugin = make("Scale", {factorField(factor)});
  for (const auto& shape : {dims({1}), dims({7}), dims({0, 3}), dims({2, 3, 5}), dims({65537}), dims({})}) {
    for (const int level : {0, 3}) {
      const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, shape); }, {}, level);
      ASSERT_NE(plan, nullptr);
      const auto engine = load(*plan);
      ASSERT_NE(engine, nullptr);
      const auto x = eighths(shape);
      EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, scaled(x.values, factor)) << volume(shape);
    }
  }
}

TEST_F(PluginV3, LayerShowsWhatItIs) {
  const float factor = 2;
  const auto plugin = make("Scale", {factorField(factor)});
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  nv::ITensor* x = network->addInput("x", nv::DataType::kFLOAT, dims({-1, 4}));
  nv::IPluginV3Layer* layer = network->addPluginV3(&x, 1, nullptr, 0, *plugin);
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getType(), nv::LayerType::kPLUGIN_V3);
  EXPECT_NE(&layer->getPlugin(), plugin.get()) << "the network has a copy";
  EXPECT_EQ(layer->getNbInputs(), 1);
  ASSERT_EQ(layer->getNbOutputs(), 1);
  EXPECT_EQ(layer->getOutput(0)->getType(), nv::DataType::kFLOAT);
  const auto shape = layer->getOutput(0)->getDimensions();
  EXPECT_EQ(shape.nbDims, 2);
  EXPECT_EQ(shape.d[0], -1);
  EXPECT_EQ(shape.d[1], 4);
}

TEST_F(PluginV3, ScalesShapesThatVary) {
  const float factor = 0.5F;
  const auto plugin = make("Scale", {factorField(factor)});
  const auto plan = build(
      [&](auto& network) {
        return aroundV3(network, *plugin, dims({-1, 3}));
      },
      {{"x", {dims({1, 3}), dims({4, 3}), dims({9, 3})}}});
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  ASSERT_NE(engine, nullptr);
  const std::unique_ptr<nv::IExecutionContext> first(engine->createExecutionContext());
  const std::unique_ptr<nv::IExecutionContext> second(engine->createExecutionContext());
  for (const int64_t n : {1, 9, 4, 7, 1}) {
    for (auto* context : {first.get(), second.get()}) {
      const auto x = eighths(dims({n, 3}), static_cast<int>(n));
      const auto y = run(*engine, *context, {{"x", x}})["y0"];
      EXPECT_EQ(y.shape.d[0], n);
      EXPECT_EQ(y.values, scaled(x.values, factor));
    }
  }
}

// The profiles have the same opt and other limits: workspace and ranges are those of each.
TEST_F(PluginV3, EachProfileHasItsRanges) {
  const float factor = 2;
  const auto plugin = make("Scale", {factorField(factor)});
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  ASSERT_TRUE(aroundV3(*network, *plugin, dims({-1, -1})));
  constexpr std::array<int64_t, 2> kMost{4, 300};
  for (const int64_t most : kMost) {
    auto* profile = builder->createOptimizationProfile();
    profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({1, 1}));
    profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({3, 2}));
    profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({most, 7}));
    config->addOptimizationProfile(profile);
  }
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  for (int32_t profile = 0; profile < 2; ++profile) {
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    ASSERT_TRUE(context->setOptimizationProfileAsync(profile, nullptr));
    for (const auto& shape : {dims({1, 1}), dims({3, 2}), dims({kMost.at(static_cast<size_t>(profile)), 7})}) {
      const auto x = eighths(shape);
      EXPECT_EQ(run(*engine, *context, {{"x", x}})["y0"].values, scaled(x.values, factor));
    }
  }
}

TEST_F(PluginV3, MayHaveNoTensorInputs) {
  const auto plugin = make("Numbers");
  ASSERT_NE(plugin, nullptr);
  const int32_t count = 5;
  const auto plan = build([&](nv::INetworkDefinition& network) {
    nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({5}));
    nv::ITensor* length = network.addConstant(dims({1}), {nv::DataType::kINT32, &count, 1})->getOutput(0);
    nv::ITensor* numbers = network.addPluginV3(nullptr, 0, &length, 1, *plugin)->getOutput(0);
    nv::ITensor* y = network.addElementWise(*x, *numbers, nv::ElementWiseOperation::kSUM)->getOutput(0);
    y->setName("y0");
    network.markOutput(*y);
    return true;
  });
  ASSERT_NE(plan, nullptr);
  const auto y = run(*load(*plan), {{"x", {dims({5}), {10, 10, 10, 10, 10}}}})["y0"];
  EXPECT_EQ(y.values, (std::vector<float>{10, 11, 12, 13, 14}));
}

// A plan whose plugin records are damaged is refused, or says what it says: it never crashes.
TEST_F(PluginV3, DamagedStateIsRefused) {
  const float factor = 2;
  const auto plugin = make("Scale", {factorField(factor)});
  const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({4})); });
  ASSERT_NE(plan, nullptr);
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log()));
  std::string bytes(static_cast<const char*>(plan->data()), plan->size());
  const size_t at = bytes.find("state=");
  ASSERT_NE(at, std::string::npos) << "the plan holds the state as text";
  bytes[at + 8] = '?';
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(bytes.data(), bytes.size()));
  EXPECT_EQ(engine, nullptr);
  EXPECT_NE(log().take(), "");
}

// x in FP32 -> cast -> plugin in `type` -> cast -> y in FP32, strongly typed.
bool castAround(nv::INetworkDefinition& network, nv::IPluginV3& plugin, const nv::Dims& shape, nv::DataType type) {
  nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, shape);
  nv::ITensor* half = network.addCast(*x, type)->getOutput(0);
  nv::ILayer* layer = network.addPluginV3(&half, 1, nullptr, 0, plugin);
  if (layer == nullptr) return false;
  nv::ITensor* y = network.addCast(*layer->getOutput(0), nv::DataType::kFLOAT)->getOutput(0);
  y->setName("y0");
  network.markOutput(*y);
  return true;
}

constexpr auto kStrong = 1U << static_cast<uint32_t>(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);

TEST_F(PluginV3, ScalesInHalfPrecision) {
  const float factor = 4;
  const auto plugin = make("Scale", {factorField(factor)});
  const auto plan = build(
      [&](auto& n) {
        return castAround(n, *plugin, dims({5, 7}), nv::DataType::kHALF);
      },
      {}, 3, kStrong);
  ASSERT_NE(plan, nullptr);
  const auto x = eighths(dims({5, 7}));
  EXPECT_EQ(run(*load(*plan), {{"x", x}})["y0"].values, scaled(x.values, factor));
}

// The plugin takes nothing but vectors of eight halves and gives pairs: reformats stand around it. In a weakly typed
// network the casts do too.
TEST_F(PluginV3, GetsTheVectorFormatsThatItTakes) {
  const auto plugin = make("Vectors");
  for (const auto& shape : {dims({1, 8, 2, 3}), dims({2, 3, 5, 1}), dims({1, 17, 1, 1})}) {
    const auto x = eighths(shape);
    auto expected = x.values;
    const auto plane = static_cast<size_t>(shape.d[2] * shape.d[3]);
    const auto channels = static_cast<size_t>(shape.d[1]);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<float>(i / plane % channels);
    for (const auto flags : {0U, kStrong}) {
      const auto plan =
          build([&](auto& n) { return castAround(n, *plugin, shape, nv::DataType::kHALF); }, {}, 3, flags);
      ASSERT_NE(plan, nullptr);
      EXPECT_EQ(run(*load(*plan), {{"x", x}})["y0"].values, expected);
    }
    const auto weak = build([&](nv::INetworkDefinition& n) {
      nv::ITensor* input = n.addInput("x", nv::DataType::kFLOAT, shape);
      nv::ITensor* y = n.addPluginV3(&input, 1, nullptr, 0, *plugin)->getOutput(0);
      y->setType(nv::DataType::kFLOAT);
      y->setName("y0");
      n.markOutput(*y);
      return true;
    });
    ASSERT_NE(weak, nullptr);
    EXPECT_EQ(run(*load(*weak), {{"x", x}})["y0"].values, expected);
  }
}

TEST_F(PluginV3, ShapesAreExpressionsOfTheInputs) {
  const auto plugin = make("Pair");
  const auto define = [&](nv::INetworkDefinition& network) {
    std::array<nv::ITensor*, 2> inputs{network.addInput("a", nv::DataType::kFLOAT, dims({-1, 5})),
                                       network.addInput("b", nv::DataType::kFLOAT, dims({-1, 5}))};
    nv::ILayer* layer = network.addPluginV3(inputs.data(), 2, nullptr, 0, *plugin);
    if (layer == nullptr) return false;
    for (int i = 0; i < 2; ++i) {
      layer->getOutput(i)->setName(i == 0 ? "rows" : "filled");
      network.markOutput(*layer->getOutput(i));
    }
    return true;
  };
  const auto plan = build(
      define, {{"a", {dims({0, 5}), dims({3, 5}), dims({8, 5})}}, {"b", {dims({1, 5}), dims({2, 5}), dims({6, 5})}}});
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  for (const auto& [n, m] : {std::pair<int64_t, int64_t>{3, 2}, {8, 1}, {1, 6}, {0, 1}, {2, 2}}) {
    const auto a = eighths(dims({n, 5}), 1);
    const auto b = eighths(dims({m, 5}), 2);
    auto outputs = run(*engine, {{"a", a}, {"b", b}});
    auto expected = a.values;
    expected.insert(expected.end(), b.values.begin(), b.values.end());
    EXPECT_EQ(outputs["rows"].values, expected);
    EXPECT_EQ(outputs["rows"].shape.d[0], n + m);
    EXPECT_EQ(outputs["filled"].shape.d[0], 3);
    EXPECT_EQ(outputs["filled"].shape.d[1], std::max(n, m) - std::min(n, m) + 1);
    for (const float value : outputs["filled"].values) EXPECT_EQ(value, static_cast<float>(n * m));
  }
}

TEST_F(PluginV3, ShapeInputsAreValues) {
  const auto plugin = make("Repeat");
  const int32_t rows = 3;
  const auto define = [&](nv::INetworkDefinition& network) {
    nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({4}));
    nv::ITensor* count = network.addConstant(dims({1}), {nv::DataType::kINT32, &rows, 1})->getOutput(0);
    nv::ILayer* layer = network.addPluginV3(&x, 1, &count, 1, *plugin);
    if (layer == nullptr) return false;
    EXPECT_EQ(layer->getNbInputs(), 2);
    layer->getOutput(0)->setName("y0");
    network.markOutput(*layer->getOutput(0));
    return true;
  };
  const auto plan = build(define);
  ASSERT_NE(plan, nullptr);
  const auto x = eighths(dims({4}));
  std::vector<float> expected;
  for (int32_t i = 0; i < rows; ++i) expected.insert(expected.end(), x.values.begin(), x.values.end());
  EXPECT_EQ(run(*load(*plan), {{"x", x}})["y0"].values, expected);
}

TEST_F(PluginV3, FieldsOfEveryTypeArrive) {
  const std::array<uint64_t, 16> bytes{0x0102030405060708, 0xfffefdfcfbfaf9f8, 77, 1ULL << 63};
  std::vector<nv::PluginField> fields;
  constexpr std::array<size_t, 12> kBytes{2, 4, 8, 1, 2, 4, 1, sizeof(nv::Dims), 1, 2, 8, 1};
  float sum = 0;
  std::array<std::string, 12> names;
  for (int32_t type = 0; type < 12; ++type) {
    const auto index = static_cast<size_t>(type);
    names[index] = "field" + std::to_string(type);
    const int32_t length = type == 7 ? 1 : type % 4;  // none, too
    fields.emplace_back(names[index].c_str(), bytes.data(), static_cast<nv::PluginFieldType>(type), length);
    for (const char c : names[index]) sum += static_cast<float>(c);
    const auto* raw = reinterpret_cast<const uint8_t*>(bytes.data());
    for (size_t i = 0; i < kBytes[index] * static_cast<size_t>(length); ++i) sum += static_cast<float>(raw[i]);
    sum += 1000 * static_cast<float>(type);
  }
  const auto plugin = make("Fields", fields);
  const auto plan = build([&](auto& network) { return aroundV3(network, *plugin, dims({3})); });
  ASSERT_NE(plan, nullptr);
  const auto y = run(*load(*plan), {{"x", {dims({3}), {0, 1, 2}}}})["y0"];
  EXPECT_EQ(y.values, (std::vector<float>{sum, sum + 1, sum + 2}));
}

// Two layers of one plugin and one of another with the same type stay three, among layers of ours.
TEST_F(PluginV3, LayersStayApart) {
  const float two = 2;
  const float three = 3;
  const auto doubled = make("Scale", {factorField(two)});
  const auto tripled = make("Scale", {factorField(three)});
  const auto define = [&](nv::INetworkDefinition& network) {
    nv::ITensor* x = network.addInput("x", nv::DataType::kFLOAT, dims({2, 6}));
    nv::ITensor* absolute = network.addUnary(*x, nv::UnaryOperation::kABS)->getOutput(0);
    std::array<nv::ITensor*, 3> parts{};
    for (size_t i = 0; i < 3; ++i)
      parts[i] = network.addPluginV3(&absolute, 1, nullptr, 0, i == 2 ? *tripled : *doubled)->getOutput(0);
    nv::ITensor* joined = network.addConcatenation(parts.data(), 3)->getOutput(0);
    nv::ITensor* y = network.addUnary(*joined, nv::UnaryOperation::kNEG)->getOutput(0);
    y->setName("y0");
    network.markOutput(*y);
    return true;
  };
  const auto plan = build(define);
  ASSERT_NE(plan, nullptr);
  const auto engine = load(*plan);
  const auto x = eighths(dims({2, 6}));
  std::vector<float> expected;
  for (const float factor : {2.0F, 2.0F, 3.0F}) {
    for (const float value : x.values) expected.push_back(-factor * std::abs(value));
  }
  EXPECT_EQ(run(*engine, {{"x", x}})["y0"].values, expected);
}

}  // namespace
}  // namespace tenon::test
