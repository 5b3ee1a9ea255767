// Who owns the bytes: what outlives a call holds nothing of the caller's.
#include <cmath>
#include <cstring>
#include <limits>

#include "fixture.h"

namespace {

class Ownership : public ObjectTest {
 protected:
  // Weights of the caller, in memory of their own that wipe() fills with something else.
  nv::Weights weights(int64_t count, size_t misalignment = 0) {
    auto& bytes = *kept.emplace_back(
        std::make_unique<std::vector<char>>(static_cast<size_t>(count) * sizeof(float) + misalignment));
    for (int64_t i = 0; i < count; ++i) {
      const float value = std::sin(static_cast<float>(i + 7 * static_cast<int64_t>(kept.size())));
      std::memcpy(bytes.data() + misalignment + static_cast<size_t>(i) * sizeof(float), &value, sizeof(value));
    }
    return {nv::DataType::kFLOAT, bytes.data() + misalignment, count};
  }
  void wipe() {
    for (auto& bytes : kept) std::fill(bytes->begin(), bytes->end(), static_cast<char>(0x7f));
  }
  // y [2,7] of x [2,3,6,6]: a convolution that is used as it is, a product, a sum and a table that is read.
  void network_(size_t misalignment = 0) {
    auto* conv = network->addConvolutionNd(input("x", {2, 3, 6, 6}), 8, dims({3, 3}), weights(8 * 3 * 9, misalignment),
                                           weights(8));
    auto* mean = network->addReduce(*conv->getOutput(0), nv::ReduceOperation::kAVG, 12, false);
    auto* factor = network->addConstant(dims({8, 7}), weights(56, misalignment));
    auto* product = network->addMatrixMultiply(*mean->getOutput(0), nv::MatrixOperation::kNONE, *factor->getOutput(0),
                                               nv::MatrixOperation::kNONE);
    auto* table = network->addConstant(dims({1, 7}), weights(7, misalignment));
    auto* sum = network->addElementWise(*product->getOutput(0), *table->getOutput(0), nv::ElementWiseOperation::kSUM);
    output(sum->getOutput(0), "y");
  }
  static std::vector<float> run(nv::ICudaEngine& engine) {
    std::vector<float> x(2 * 3 * 36), y(14, -9);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<float>(i));
    const std::unique_ptr<nv::IExecutionContext> context(engine.createExecutionContext());
    void* bindings[] = {x.data(), y.data()};
    EXPECT_TRUE(context->executeV2(bindings));
    return y;
  }
  std::unique_ptr<nv::ICudaEngine> load(const nv::IHostMemory& plan) {
    if (runtime == nullptr) runtime.reset(nv::createInferRuntime(log));
    return std::unique_ptr<nv::ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  }
  std::vector<std::unique_ptr<std::vector<char>>> kept;
};

// The plan as buildSerializedNetwork() makes it, whose bytes leave before the weights do, is the answer.
TEST_F(Ownership, AnEngineOutlivesTheWeightsItWasBuiltFrom) {
  for (const int level : {0, 1, 3}) {
    network.reset(builder->createNetworkV2(0));
    config->setBuilderOptimizationLevel(level);
    const std::unique_ptr<nv::ITimingCache> cache(config->createTimingCache(nullptr, 0));
    config->setTimingCache(*cache, false);
    network_();
    const std::unique_ptr<nv::IHostMemory> direct(builder->buildSerializedNetwork(*network, *config));
    ASSERT_NE(direct, nullptr);
    const auto expected = run(*load(*direct));
    std::unique_ptr<nv::ICudaEngine> built(builder->buildEngineWithConfig(*network, *config));
    ASSERT_NE(built, nullptr);
    network.reset();
    wipe();
    kept.clear();
    EXPECT_EQ(run(*built), expected) << "level " << level;
    const std::unique_ptr<nv::IHostMemory> plan(built->serialize());
    ASSERT_EQ(plan->size(), direct->size());
    EXPECT_EQ(std::memcmp(plan->data(), direct->data(), plan->size()), 0) << "level " << level;
    built.reset();
    EXPECT_EQ(run(*load(*plan)), expected) << "level " << level;
  }
}

TEST_F(Ownership, WeightsMayStandAtAnyAddress) {
  network_();
  const std::unique_ptr<nv::IHostMemory> aligned(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(aligned, nullptr);
  kept.clear();
  network.reset(builder->createNetworkV2(0));
  network_(1);
  const std::unique_ptr<nv::IHostMemory> odd(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(odd, nullptr);
  ASSERT_EQ(odd->size(), aligned->size());
  EXPECT_EQ(std::memcmp(odd->data(), aligned->data(), odd->size()), 0);
}

// Of one array the first 8 elements, all 16, and none.
TEST_F(Ownership, PartsOfOneArrayAreToldApart) {
  const auto all = weights(16);
  auto& x = input("x", {2, 8});
  auto* first = network->addConstant(dims({1, 8}), {all.type, all.values, 8});
  auto* whole = network->addConstant(dims({2, 8}), all);
  auto* none = network->addConstant(dims({2, 0}), {all.type, all.values, 0});
  auto* sum = network->addElementWise(x, *first->getOutput(0), nv::ElementWiseOperation::kSUM);
  auto* product = network->addElementWise(*sum->getOutput(0), *whole->getOutput(0), nv::ElementWiseOperation::kPROD);
  nv::ITensor* parts[] = {product->getOutput(0), none->getOutput(0)};
  auto* concat = network->addConcatenation(parts, 2);
  concat->setAxis(1);
  output(concat->getOutput(0), "y");
  const std::unique_ptr<nv::ICudaEngine> built(builder->buildEngineWithConfig(*network, *config));
  ASSERT_NE(built, nullptr);
  std::vector<float> factor(16), values(16, 2), y(16);
  std::memcpy(factor.data(), all.values, 64);
  wipe();
  const std::unique_ptr<nv::IExecutionContext> context(built->createExecutionContext());
  void* bindings[] = {values.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_FLOAT_EQ(y[i], (2 + factor[i % 8]) * factor[i]) << i;
}

// The caller's texts, extents and lists are read during the call and not after it.
TEST_F(Ownership, NamesPathsAndValuesAreCopied) {
  std::string text = "input";
  auto& x = *network->addInput(text.data(), nv::DataType::kFLOAT, dims({-1}));
  text = "batch";
  x.setDimensionName(0, text.data());
  auto* layer = network->addUnary(x, nv::UnaryOperation::kABS);
  text = "layer";
  layer->setName(text.data());
  layer->setMetadata(text.data());
  std::fill(text.begin(), text.end(), '#');
  EXPECT_STREQ(x.getName(), "input");
  EXPECT_STREQ(x.getDimensionName(0), "batch");
  EXPECT_STREQ(layer->getName(), "layer");
  EXPECT_STREQ(layer->getMetadata(), "layer");

  auto* profile = builder->createOptimizationProfile();
  text = "input";
  std::vector<int64_t> values{3, 4};
  profile->setShapeValuesV2(text.data(), nv::OptProfileSelector::kMIN, values.data(), 2);
  std::fill(text.begin(), text.end(), '#');
  std::fill(values.begin(), values.end(), -1);
  EXPECT_EQ(profile->getShapeValuesV2("input", nv::OptProfileSelector::kMIN)[1], 4);

  const char* path = text.data();
  text = "a.so";
  config->setPluginsToSerialize(&path, 1);
  std::fill(text.begin(), text.end(), '#');
  EXPECT_STREQ(config->getPluginToSerialize(0), "a.so");

  auto* resize = network->addResize(x);
  std::vector<float> scales{2};
  resize->setScales(scales.data(), 1);
  scales[0] = -1;
  EXPECT_EQ(resize->getScales(1, scales.data()), 1);
  EXPECT_EQ(scales[0], 2);
}

// Bytes that were handed in, or out.
TEST_F(Ownership, BytesOfPlansAndTimingCachesAreCopied) {
  config->setBuilderOptimizationLevel(1);
  const std::unique_ptr<nv::ITimingCache> cache(config->createTimingCache(nullptr, 0));
  config->setTimingCache(*cache, false);
  network_();
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  ASSERT_NE(plan, nullptr);
  std::vector<char> bytes(static_cast<char*>(plan->data()), static_cast<char*>(plan->data()) + plan->size());
  runtime.reset(nv::createInferRuntime(log));
  const std::unique_ptr<nv::ICudaEngine> loaded(runtime->deserializeCudaEngine(bytes.data(), bytes.size()));
  ASSERT_NE(loaded, nullptr);
  const auto expected = run(*loaded);
  std::fill(bytes.begin(), bytes.end(), static_cast<char>(0x7f));
  EXPECT_EQ(run(*loaded), expected);
  const std::unique_ptr<nv::IHostMemory> again(loaded->serialize());
  EXPECT_EQ(std::memcmp(again->data(), plan->data(), plan->size()), 0);

  const std::unique_ptr<nv::IHostMemory> saved(cache->serialize());
  std::vector<char> copy(static_cast<char*>(saved->data()), static_cast<char*>(saved->data()) + saved->size());
  const std::unique_ptr<nv::ITimingCache> read(config->createTimingCache(copy.data(), copy.size()));
  std::fill(copy.begin(), copy.end(), static_cast<char>(0x7f));
  const std::unique_ptr<nv::IHostMemory> rewritten(read->serialize());
  ASSERT_EQ(rewritten->size(), saved->size());
  EXPECT_EQ(std::memcmp(rewritten->data(), saved->data(), saved->size()), 0);
}

}  // namespace
