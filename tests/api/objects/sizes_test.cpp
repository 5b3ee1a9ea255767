// Sizes that are broken, beyond memory, or only now and then: refused by name while building, at every level.
#include "fixture.h"

namespace {

using nv::OptProfileSelector;

class Sizes : public ObjectTest {
 protected:
  // At every level no engine, and one error that names what it must.
  void expectRefusal(const std::vector<std::string>& parts) {
    for (int level = 0; level <= 5; ++level) {
      SCOPED_TRACE(level);
      config->setBuilderOptimizationLevel(level);
      const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
      EXPECT_EQ(plan, nullptr);
      ASSERT_EQ(log.errors.size(), 1U) << fmt::format("{}", fmt::join(log.errors, "\n"));
      for (const auto& part : parts) EXPECT_NE(log.errors[0].find(part), std::string::npos) << log.errors[0];
      log.errors.clear();
    }
  }

  void relu(nv::ITensor& x) {
    auto* layer = network->addActivation(x, nv::ActivationType::kRELU);
    ASSERT_NE(layer, nullptr);
    layer->setName("act");
    network->markOutput(*layer->getOutput(0));
  }

  // A window of 512 over samples of which the profile gives these.
  void window(int64_t min, int64_t opt, int64_t max) {
    auto* x = network->addInput("samples", nv::DataType::kFLOAT, dims({1, 1, 1, -1}));
    weights.resize(8 * 512, 1);
    auto* layer = network->addConvolutionNd(
        *x, 8, dims({1, 512}), {nv::DataType::kFLOAT, weights.data(), static_cast<int64_t>(weights.size())}, {});
    layer->setName("stft");
    layer->getOutput(0)->setName("y");
    network->markOutput(*layer->getOutput(0));
    auto* profile = builder->createOptimizationProfile();
    profile->setDimensions("samples", OptProfileSelector::kMIN, dims({1, 1, 1, min}));
    profile->setDimensions("samples", OptProfileSelector::kOPT, dims({1, 1, 1, opt}));
    profile->setDimensions("samples", OptProfileSelector::kMAX, dims({1, 1, 1, max}));
    config->addOptimizationProfile(profile);
  }

  std::vector<float> weights;
};

TEST_F(Sizes, InputsBeyondMemory) {
  for (const auto& extents : std::vector<std::vector<int64_t>>{
           {int64_t{1} << 62}, {int64_t{1} << 62, 4}, {INT64_MAX, INT64_MAX, INT64_MAX}}) {
    network.reset(builder->createNetworkV2(0));
    auto* x = network->addInput("x", nv::DataType::kFLOAT, dims(extents));
    ASSERT_NE(x, nullptr);
    relu(*x);
    expectRefusal({"network input 'x'", "more than 140737488355328 bytes",
                   "change the layer, or the shapes of the network's inputs"});
  }
}

TEST_F(Sizes, LargerThanTheMachine) {
  relu(*network->addInput("x", nv::DataType::kFLOAT, dims({int64_t{1} << 44})));
  expectRefusal({"layer 'act'", "its tensors take 140737488355328 bytes, this machine has"});
}

TEST_F(Sizes, MinimumShorterThanTheWindow) {
  window(1, 1000, 2000);
  expectRefusal({"layer 'stft' (convolution) at the min shapes of optimization profile 0",
                 "the kernel covers 512 elements of spatial axis 1, the padded input has 1",
                 "the network's inputs are 'samples' 1x1x1x1 there", "--minShapes"});
}

TEST_F(Sizes, EverythingShorterThanTheWindow) {
  window(1, 6, 6);
  expectRefusal({"layer 'stft' (convolution) at the min shapes"});
}

TEST_F(Sizes, MinimumAsLongAsTheWindow) {
  window(512, 1000, 2000);
  const auto built = engine();
  ASSERT_NE(built, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(built->createExecutionContext());
  std::vector<float> x(2000, 1), y(8 * 1489, -1);
  ASSERT_TRUE(context->setTensorAddress("samples", x.data()));
  ASSERT_TRUE(context->setTensorAddress("y", y.data()));
  for (const int64_t samples : {512, 513, 2000}) {
    ASSERT_TRUE(context->setInputShape("samples", dims({1, 1, 1, samples})));
    EXPECT_EQ(extents(context->getTensorShape("y")), (std::vector<int64_t>{1, 8, 1, samples - 511}));
    ASSERT_TRUE(context->enqueueV3(nullptr));
    EXPECT_EQ(y[0], 512);
  }
  for (const int64_t samples : {int64_t{511}, int64_t{2001}, int64_t{0}, int64_t{1} << 62}) {
    EXPECT_FALSE(context->setInputShape("samples", dims({1, 1, 1, samples})));
    expectError("profile 0 allows 512 to 2000");
  }
  EXPECT_FALSE(context->setInputShape("samples", dims({1, 1, 1, -1})));
  expectError("entry 3 is -1; expected at least 0");
}

TEST_F(Sizes, NegativeMinimum) {
  window(-5, 1000, 2000);
  EXPECT_EQ(engine(), nullptr);
  EXPECT_FALSE(log.errors.empty());
  log.errors.clear();
}

// Deeper than the machine's stack.
TEST_F(Sizes, ChainOfShapeArithmetic) {
  constexpr int kLayers = 100000;
  auto* x = network->addInput("x", nv::DataType::kINT32, dims({2}));
  nv::ITensor* last = x;
  for (int i = 0; i < kLayers; ++i)
    last = network->addElementWise(*last, *x, nv::ElementWiseOperation::kMAX)->getOutput(0);
  EXPECT_FALSE(x->isShapeTensor());
  EXPECT_TRUE(x->isExecutionTensor());
  auto* fill = network->addFill({1, {1}}, nv::FillOperation::kLINSPACE);
  fill->setInput(0, *last);
  EXPECT_TRUE(x->isShapeTensor());
}

// One layer with very many inputs takes time by their number, not by its square.
TEST_F(Sizes, ConcatenationOfVeryManyInputs) {
  constexpr int32_t kInputs = 20000;
  auto* x = network->addInput("x", nv::DataType::kFLOAT, dims({1, 2}));
  const std::vector<nv::ITensor*> inputs(kInputs, x);
  auto* layer = network->addConcatenation(inputs.data(), kInputs);
  ASSERT_NE(layer, nullptr);
  layer->setAxis(0);
  network->markOutput(*layer->getOutput(0));
  EXPECT_EQ(extents(layer->getOutput(0)->getDimensions()), (std::vector<int64_t>{kInputs, 2}));
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_NE(plan, nullptr);
}

}  // namespace
