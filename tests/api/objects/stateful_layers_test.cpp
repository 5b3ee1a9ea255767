// Layers with a life beyond one execution: random numbers, caches that are updated in place, assertions about shapes.
#include <cmath>
#include <numeric>

#include "fixture.h"

namespace {

class StatefulLayers : public ObjectTest {
 protected:
  using Context = std::unique_ptr<nv::IExecutionContext>;
  // One execution with the tensors' memory by their names.
  static bool run(nv::IExecutionContext& context, const std::vector<std::pair<const char*, void*>>& memory) {
    for (const auto& [name, pointer] : memory) EXPECT_TRUE(context.setTensorAddress(name, pointer));
    return context.enqueueV3(nullptr);
  }
  nv::IFillLayer* noise(const std::vector<int64_t>& shape, nv::FillOperation op) {
    return network->addFill(dims(shape), op, nv::DataType::kFLOAT);
  }
  std::vector<float> draw(nv::IExecutionContext& context, size_t count) {
    std::vector<float> values(count);
    EXPECT_TRUE(run(context, {{"y", values.data()}}));
    return values;
  }
};

TEST_F(StatefulLayers, EachRunDrawsAnew) {
  auto* layer = noise({1000}, nv::FillOperation::kRANDOM_UNIFORM);
  layer->setAlpha(2);
  layer->setBeta(3);
  output(layer->getOutput(0), "y");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const Context a(loaded->createExecutionContext()), b(loaded->createExecutionContext());
  const auto first = draw(*a, 1000);
  for (const float x : first) {
    EXPECT_GE(x, 2);
    EXPECT_LE(x, 3);
  }
  EXPECT_NEAR(std::accumulate(first.begin(), first.end(), 0.0) / 1000, 2.5, 0.05);
  EXPECT_NE(draw(*a, 1000), first);
  EXPECT_NE(draw(*b, 1000), first);
}

TEST_F(StatefulLayers, ASeedMakesContextsAlike) {
  auto* layer = noise({7, 11}, nv::FillOperation::kRANDOM_NORMAL);
  layer->setMetadata("[ONNX Layer: noise] tenon.seed=12");
  output(layer->getOutput(0), "y");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const Context a(loaded->createExecutionContext()), b(loaded->createExecutionContext());
  const auto first = draw(*a, 77);
  const auto second = draw(*a, 77);
  EXPECT_NE(first, second);
  EXPECT_EQ(draw(*b, 77), first);
  EXPECT_EQ(draw(*b, 77), second);
}

TEST_F(StatefulLayers, NormalNumbersHaveMeanAndDeviation) {
  auto* layer = noise({50000}, nv::FillOperation::kRANDOM_NORMAL);
  const std::vector<float> mean{-1}, deviation{0.5F};
  layer->setInput(1, *network->addConstant(dims({}), {nv::DataType::kFLOAT, mean.data(), 1})->getOutput(0));
  layer->setInput(2, *network->addConstant(dims({}), {nv::DataType::kFLOAT, deviation.data(), 1})->getOutput(0));
  output(layer->getOutput(0), "y");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const Context context(loaded->createExecutionContext());
  auto values = draw(*context, 50000);
  double sum = 0, squares = 0;
  for (const float x : values) sum += x;
  for (const float x : values) squares += (x - sum / 50000) * (x - sum / 50000);
  EXPECT_NEAR(sum / 50000, -1, 5 * 0.5 / std::sqrt(50000));
  EXPECT_NEAR(std::sqrt(squares / 50000), 0.5, 5 * 0.5 / std::sqrt(100000));
  std::sort(values.begin(), values.end());
  double distance = 0;  // Kolmogorov's
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = 0.5 * std::erfc(-(values[i] + 1) / 0.5 / std::sqrt(2));
    distance = std::max(distance, std::abs(expected - (static_cast<double>(i) + 0.5) / 50000));
  }
  EXPECT_LT(distance, 2.5 / std::sqrt(50000));
}

// Two layers and a layer that is read twice: none is folded, merged with another, or computed twice.
TEST_F(StatefulLayers, NumbersAreNeitherMergedNorDuplicated) {
  config->setBuilderOptimizationLevel(1);
  auto* one = noise({64}, nv::FillOperation::kRANDOM_UNIFORM)->getOutput(0);
  auto* other = noise({64}, nv::FillOperation::kRANDOM_UNIFORM)->getOutput(0);
  const auto difference = [&](nv::ITensor* a, nv::ITensor* b) {
    return network->addElementWise(*a, *b, nv::ElementWiseOperation::kSUB)->getOutput(0);
  };
  auto* same = network->addUnary(*one, nv::UnaryOperation::kNEG)->getOutput(0);
  output(network->addElementWise(*one, *same, nv::ElementWiseOperation::kSUM)->getOutput(0), "zero");
  output(difference(one, other), "apart");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const Context context(loaded->createExecutionContext());
  std::vector<float> zero(64, 9), apart(64, 9);
  ASSERT_TRUE(run(*context, {{"zero", zero.data()}, {"apart", apart.data()}}));
  EXPECT_EQ(zero, std::vector<float>(64, 0));
  EXPECT_NE(apart, std::vector<float>(64, 0));
}

TEST_F(StatefulLayers, RandomShapesMayBeComputed) {
  auto& x = input("x", {-1, 3});
  auto* layer = noise({1, 1}, nv::FillOperation::kRANDOM_UNIFORM);
  layer->setInput(0, *network->addShape(x)->getOutput(0));
  output(network->addElementWise(x, *layer->getOutput(0), nv::ElementWiseOperation::kSUM)->getOutput(0), "y");
  auto* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({0, 3}));
  profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({5, 3}));
  profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({9, 3}));
  config->addOptimizationProfile(profile);
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const Context context(loaded->createExecutionContext());
  for (const int64_t rows : {5, 9, 0, 2, 7, 1, 3}) {
    std::vector<float> zeros(static_cast<size_t>(rows * 3) + 1), y(zeros.size(), -1);
    ASSERT_TRUE(context->setInputShape("x", dims({rows, 3})));
    ASSERT_TRUE(run(*context, {{"x", zeros.data()}, {"y", y.data()}}));
    for (size_t i = 0; i + 1 < y.size(); ++i) EXPECT_TRUE(y[i] >= 0 && y[i] <= 1) << y[i];
    EXPECT_EQ(y.back(), -1);
  }
}

TEST_F(StatefulLayers, CachesAreUpdatedInPlace) {
  auto& cache = input("cache", {1, 2, 8, 4});
  auto& update = input("update", {1, 2, 3, 4});
  auto& start = input("start", {1}, nv::DataType::kINT32);
  auto* layer = network->addKVCacheUpdate(cache, update, start, nv::KVCacheMode::kLINEAR);
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getCacheMode(), nv::KVCacheMode::kLINEAR);
  output(layer->getOutput(0), "updated");
  output(network->addUnary(*layer->getOutput(0), nv::UnaryOperation::kNEG)->getOutput(0), "negative");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_STREQ(loaded->getAliasedInputTensor("updated"), "cache");
  EXPECT_EQ(loaded->getAliasedInputTensor("negative"), nullptr);
  EXPECT_EQ(loaded->getAliasedInputTensor("cache"), nullptr);
  const Context context(loaded->createExecutionContext());
  std::vector<float> memory(64), negative(64), rows(24);
  std::iota(memory.begin(), memory.end(), 0.F);
  auto expected = memory;
  for (int32_t at : {0, 2, 5}) {
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = 100.F * static_cast<float>(at + 1) + static_cast<float>(i);
    for (size_t head = 0; head < 2; ++head)
      std::copy_n(rows.begin() + static_cast<ptrdiff_t>(head * 12), 12,
                  expected.begin() + static_cast<ptrdiff_t>(head * 32) + at * 4);
    ASSERT_TRUE(run(*context, {{"cache", memory.data()},
                               {"updated", memory.data()},
                               {"update", rows.data()},
                               {"start", &at},
                               {"negative", negative.data()}}));
    EXPECT_EQ(memory, expected);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(negative[i], -expected[i]);
  }
  std::vector<float> elsewhere(64);
  EXPECT_FALSE(run(*context, {{"updated", elsewhere.data()}}));
  expectError("output 'updated' is input 'cache' updated in place, but their addresses are");
}

TEST_F(StatefulLayers, CachesInsideTheNetworkAreCopied) {
  auto& x = input("x", {1, 1, 4, 2});
  auto* cache = network->addUnary(x, nv::UnaryOperation::kNEG)->getOutput(0);
  auto* layer = network->addKVCacheUpdate(*cache, input("update", {1, 1, 1, 2}),
                                          input("start", {1}, nv::DataType::kINT64), nv::KVCacheMode::kLINEAR);
  output(layer->getOutput(0), "y");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->getAliasedInputTensor("y"), nullptr);
  const Context context(loaded->createExecutionContext());
  std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8}, row{50, 60}, y(8);
  int64_t at = 2;
  ASSERT_TRUE(run(*context, {{"x", values.data()}, {"update", row.data()}, {"start", &at}, {"y", y.data()}}));
  EXPECT_EQ(y, (std::vector<float>{-1, -2, -3, -4, 50, 60, -7, -8}));
  EXPECT_EQ(values[0], 1);
}

TEST_F(StatefulLayers, NobodyElseReadsACacheThatIsUpdatedInPlace) {
  auto& cache = input("cache", {1, 2, 8, 4});
  auto* layer = network->addKVCacheUpdate(cache, input("update", {1, 2, 3, 4}),
                                          input("start", {1}, nv::DataType::kINT32), nv::KVCacheMode::kLINEAR);
  layer->setName("u");
  output(layer->getOutput(0), "updated");
  auto* reader = network->addUnary(cache, nv::UnaryOperation::kNEG);
  reader->setName("before");
  output(reader->getOutput(0), "negative");
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_EQ(plan, nullptr);
  expectError(
      "u: the cache 'cache' is updated in place and layer 'before' reads it too; let it read the result "
      "'updated'");
}

class Assertions : public StatefulLayers {
 protected:
  // Asserts that axis 0 of x has two rows.
  nv::IAssertionLayer* twoRows(nv::ITensor& x) {
    static const int64_t kTwo = 2;
    auto* rows = network->addSlice(*network->addShape(x)->getOutput(0), dims({0}), dims({1}), dims({1}))->getOutput(0);
    auto* two = network->addConstant(dims({1}), {nv::DataType::kINT64, &kTwo, 1})->getOutput(0);
    auto* equal = network->addElementWise(*rows, *two, nv::ElementWiseOperation::kEQUAL)->getOutput(0);
    output(network->addIdentity(x)->getOutput(0), "y");
    return network->addAssertion(*equal, "two rows");
  }
};

TEST_F(Assertions, AreCheckedWhenShapesAreGiven) {
  auto* layer = twoRows(input("x", {-1, 3}));
  ASSERT_NE(layer, nullptr);
  layer->setName("check");
  EXPECT_STREQ(layer->getMessage(), "two rows");
  EXPECT_EQ(layer->getNbOutputs(), 0);
  auto* profile = builder->createOptimizationProfile();
  for (const auto& [selector, rows] : {std::pair{nv::OptProfileSelector::kMIN, 1},
                                       {nv::OptProfileSelector::kOPT, 4},
                                       {nv::OptProfileSelector::kMAX, 8}})
    profile->setDimensions("x", selector, dims({rows, 3}));
  config->addOptimizationProfile(profile);
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const Context context(loaded->createExecutionContext());
  std::vector<float> x(24, 1), y(24);
  ASSERT_TRUE(context->setInputShape("x", dims({2, 3})));
  EXPECT_TRUE(run(*context, {{"x", x.data()}, {"y", y.data()}}));
  context->setInputShape("x", dims({3, 3}));
  EXPECT_FALSE(run(*context, {{"x", x.data()}, {"y", y.data()}}));
  ASSERT_FALSE(log.errors.empty());
  EXPECT_NE(log.errors.back().find("layer 'check': the assertion does not hold: two rows"), std::string::npos)
      << log.errors.back();
  log.errors.clear();
  ASSERT_TRUE(context->setInputShape("x", dims({2, 3})));
  EXPECT_TRUE(run(*context, {{"x", x.data()}, {"y", y.data()}}));
}

TEST_F(Assertions, AreErrorsOfTheBuildWhereTheyAreKnown) {
  twoRows(input("x", {3, 3}))->setName("check");
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_EQ(plan, nullptr);
  expectError("check: the assertion does not hold: two rows");
}

TEST_F(Assertions, ThatHoldCostNothing) {
  twoRows(input("x", {2, 3}));
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->getNbLayers(), 1);
}

TEST_F(Assertions, AreAboutShapes) {
  auto& x = input("x", {3}, nv::DataType::kBOOL);
  network->addAssertion(x, "all")->setName("check");
  output(network->addIdentity(x)->getOutput(0), "y");
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_EQ(plan, nullptr);
  ASSERT_FALSE(log.errors.empty());
  EXPECT_NE(log.errors.back().find("shape tensor"), std::string::npos) << log.errors.back();
  log.errors.clear();
}

TEST_F(Assertions, MessagesAreTexts) {
  auto* layer = twoRows(input("x", {2, 3}));
  layer->setMessage(nullptr);
  expectError("the message is null");
  EXPECT_STREQ(layer->getMessage(), "two rows");
  EXPECT_EQ(network->addAssertion(*network->getLayer(0)->getOutput(0), nullptr), nullptr);
  log.errors.clear();
}

TEST_F(StatefulLayers, ExchangeBetweenDevicesIsRefused) {
  EXPECT_EQ(network->addDistCollective(input("x", {4}), nv::CollectiveOperation::kALL_REDUCE, nv::ReduceOperation::kSUM,
                                       -1, nullptr, 0),
            nullptr);
  expectError("addDistCollective is not supported yet: an engine runs on one device");
}

}  // namespace
