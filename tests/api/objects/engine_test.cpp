// From network to answer: small networks are built, saved, loaded and run; results are compared with the references.
#include <cmath>
#include <random>

#include "api/network/network.h"
#include "fixture.h"
#include "graph/graph.h"

namespace {

using nv::OptProfileSelector;

class Engines : public ObjectTest {
 protected:
  // What the references of the operators say for the network's one output.
  std::vector<float> reference(const std::vector<std::pair<std::vector<float>, tenon::Dims>>& inputs) {
    const auto graph = dynamic_cast<tenon::api::Network&>(*network).assemble();
    std::vector<tenon::TensorView> views;
    for (const auto& [values, extents] : inputs) {
      views.push_back({const_cast<float*>(values.data()), tenon::DataType::kF32, extents});
    }
    const auto results = tenon::graph::evaluate(graph, views);
    const auto& view = results.at(0).view();
    return {view.as<float>(), view.as<float>() + view.count()};
  }
  static std::vector<float> random(int64_t count, uint32_t seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> distribution(-1, 1);
    std::vector<float> values(static_cast<size_t>(count));
    for (auto& value : values) value = distribution(generator);
    return values;
  }
  static void expectClose(const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-4F * (1 + std::abs(wanted[i]))) << i;
  }
  // Convolution with bias, ReLU, pooling, softmax over [N,3,H,W].
  void smallNetwork(const std::vector<int64_t>& shape) {
    kernel = random(5 * 3 * 9, 1);
    bias = random(5, 2);
    const nv::Weights w{nv::DataType::kFLOAT, kernel.data(), static_cast<int64_t>(kernel.size())};
    const nv::Weights b{nv::DataType::kFLOAT, bias.data(), static_cast<int64_t>(bias.size())};
    auto* conv = network->addConvolutionNd(input("x", shape), 5, dims({3, 3}), w, b);
    conv->setPaddingNd(dims({1, 1}));
    auto* relu = network->addActivation(*conv->getOutput(0), nv::ActivationType::kRELU);
    auto* pool = network->addPoolingNd(*relu->getOutput(0), nv::PoolingType::kMAX, dims({2, 2}));
    pool->setStrideNd(dims({2, 2}));
    output(network->addSoftMax(*pool->getOutput(0))->getOutput(0), "y");
  }
  std::vector<float> kernel;
  std::vector<float> bias;
};

TEST_F(Engines, AWrongNameIsAnsweredByTheRightOnes) {
  smallNetwork({1, 3, 4, 4});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->getTensorShape("z").nbDims, -1);
  expectError("the engine has no input or output 'z'; it has 'x', 'y'");
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  EXPECT_FALSE(context->setTensorAddress("X", nullptr));
  expectError("no input or output 'X'; it has 'x', 'y'");
  EXPECT_EQ(runtime->deserializeCudaEngine("", 0), nullptr);
  expectError("the engine is empty: got 0 bytes");
}

TEST_F(Engines, AStaticNetworkRuns) {
  smallNetwork({2, 3, 9, 11});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->getNbIOTensors(), 2);
  EXPECT_STREQ(loaded->getIOTensorName(0), "x");
  EXPECT_STREQ(loaded->getIOTensorName(1), "y");
  EXPECT_EQ(extents(loaded->getTensorShape("y")), (std::vector<int64_t>{2, 5, 4, 5}));
  EXPECT_EQ(loaded->getTensorIOMode("y"), nv::TensorIOMode::kOUTPUT);
  EXPECT_EQ(loaded->getTensorIOMode("z"), nv::TensorIOMode::kNONE);
  EXPECT_EQ(loaded->getTensorFormat("x"), nv::TensorFormat::kLINEAR);
  EXPECT_EQ(loaded->getTensorVectorizedDim("x"), -1);
  EXPECT_GT(loaded->getNbLayers(), 0);

  const auto x = random(2 * 3 * 9 * 11, 3);
  std::vector<float> y(2 * 5 * 4 * 5, -1);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(extents(context->getTensorStrides("y")), (std::vector<int64_t>{100, 20, 5, 1}));
  EXPECT_EQ(context->getMaxOutputSize("y"), static_cast<int64_t>(y.size() * sizeof(float)));
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  EXPECT_TRUE(context->executeV2(bindings));
  expectClose(y, reference({{x, {2, 3, 9, 11}}}));
}

TEST_F(Engines, ADynamicNetworkRunsWithEveryAllowedShape) {
  smallNetwork({-1, 3, -1, 8});
  auto* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 3, 2, 8}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 3, 8, 8}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({3, 3, 17, 8}));
  ASSERT_EQ(config->addOptimizationProfile(profile), 0);
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(extents(loaded->getTensorShape("x")), (std::vector<int64_t>{-1, 3, -1, 8}));
  EXPECT_EQ(extents(loaded->getProfileShape("x", 0, OptProfileSelector::kMAX)), (std::vector<int64_t>{3, 3, 17, 8}));
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  ASSERT_NE(context, nullptr);
  const char* missing[1] = {};
  EXPECT_EQ(context->inferShapes(1, missing), 1);
  EXPECT_STREQ(missing[0], "x");
  EXPECT_FALSE(context->setInputShape("x", dims({4, 3, 8, 8})));
  EXPECT_EQ(log.errors.size(), 1U);
  log.errors.clear();
  for (const auto& [n, h] : std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {3, 17}, {2, 7}}) {
    ASSERT_TRUE(context->setInputShape("x", dims({n, 3, h, 8})));
    EXPECT_EQ(context->inferShapes(0, nullptr), 0);
    const auto shape = extents(context->getTensorShape("y"));
    EXPECT_EQ(shape, (std::vector<int64_t>{n, 5, h / 2, 4}));
    const auto x = random(n * 3 * h * 8, static_cast<uint32_t>(h));
    std::vector<float> y(static_cast<size_t>(n * 5 * (h / 2) * 4), -1);
    EXPECT_TRUE(context->setInputTensorAddress("x", x.data()));
    EXPECT_TRUE(context->setTensorAddress("y", y.data()));
    EXPECT_EQ(context->getTensorAddress("y"), y.data());
    EXPECT_TRUE(context->enqueueV3(nullptr));
    // The synchronous call waits for the stream.
    void* bindings[] = {const_cast<float*>(x.data()), y.data()};
    EXPECT_TRUE(context->executeV2(bindings));
    expectClose(y, reference({{x, {n, 3, h, 8}}}));
  }
}

TEST_F(Engines, ShapeTensorsDecideAboutExtents) {
  auto& x = input("x", {-1});
  auto& size = input("size", {2}, nv::DataType::kINT64);
  auto* shuffle = network->addShuffle(x);
  shuffle->setInput(1, size);
  output(shuffle->getOutput(0), "y");
  auto* profile = builder->createOptimizationProfile();
  const int64_t low[] = {1, 1}, best[] = {2, 3}, high[] = {4, 4};
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({6}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({16}));
  profile->setShapeValuesV2("size", OptProfileSelector::kMIN, low, 2);
  profile->setShapeValuesV2("size", OptProfileSelector::kOPT, best, 2);
  profile->setShapeValuesV2("size", OptProfileSelector::kMAX, high, 2);
  ASSERT_EQ(config->addOptimizationProfile(profile), 0);
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(loaded->isShapeInferenceIO("size"));
  EXPECT_EQ(loaded->getTensorLocation("size"), nv::TensorLocation::kHOST);
  EXPECT_EQ(loaded->getProfileTensorValuesV2("size", 0, OptProfileSelector::kOPT)[1], 3);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  const std::vector<float> data{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<int64_t> wanted{4, 2};
  std::vector<float> y(8);
  EXPECT_TRUE(context->setInputShape("x", dims({8})));
  EXPECT_TRUE(context->setInputTensorAddress("size", wanted.data()));
  EXPECT_EQ(extents(context->getTensorShape("y")), wanted);
  void* bindings[] = {const_cast<float*>(data.data()), const_cast<int64_t*>(wanted.data()), y.data()};
  EXPECT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(y, data);
}

TEST_F(Engines, DamagedPlansAreRefused) {
  smallNetwork({1, 3, 4, 4});
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  runtime.reset(nv::createInferRuntime(log));
  std::vector<char> bytes(static_cast<char*>(plan->data()), static_cast<char*>(plan->data()) + plan->size());
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_EQ(runtime->deserializeCudaEngine(bytes.data(), bytes.size()), nullptr);
  EXPECT_EQ(runtime->deserializeCudaEngine(bytes.data(), 3), nullptr);
  EXPECT_EQ(runtime->deserializeCudaEngine(nullptr, 3), nullptr);
  EXPECT_EQ(log.errors.size(), 3U);
  log.errors.clear();
}

class Times final : public nv::IProfiler {
 public:
  void reportLayerTime(const char* name, float) noexcept override { names.emplace_back(name); }
  std::vector<std::string> names;
};

TEST_F(Engines, ProfilerAndInspectorNameTheLayers) {
  smallNetwork({1, 3, 4, 4});
  config->setProfilingVerbosity(nv::ProfilingVerbosity::kDETAILED);
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  Times times;
  context->setProfiler(&times);
  EXPECT_EQ(context->getProfiler(), &times);
  const auto x = random(48, 4);
  std::vector<float> y(20);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  EXPECT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(times.names.size(), static_cast<size_t>(loaded->getNbLayers()));
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  ASSERT_NE(inspector, nullptr);
  EXPECT_TRUE(inspector->setExecutionContext(context.get()));
  EXPECT_EQ(inspector->getExecutionContext(), context.get());
  const char* json = inspector->getEngineInformation(nv::LayerInformationFormat::kJSON);
  ASSERT_NE(json, nullptr);
  EXPECT_NE(std::string(json).find("{"), std::string::npos);
  EXPECT_EQ(inspector->getLayerInformation(99, nv::LayerInformationFormat::kONELINE), nullptr);
  expectError("there is no layer 99");
}

}  // namespace
