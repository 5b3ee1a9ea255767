// Extents that all profiles fix are facts of the engine, though the network leaves them open.
#include <algorithm>

#include "fixture.h"

namespace {

using nv::OptProfileSelector;
using Extents = std::vector<int64_t>;

class FixedExtents : public ObjectTest {
 protected:
  // A profile with these min, opt and max extents by input.
  struct Range {
    const char* input;
    Extents min, opt, max;
  };
  nv::IOptimizationProfile* profile(const std::vector<Range>& ranges) {
    auto* result = builder->createOptimizationProfile();
    for (const auto& range : ranges) {
      result->setDimensions(range.input, OptProfileSelector::kMIN, dims(range.min));
      result->setDimensions(range.input, OptProfileSelector::kOPT, dims(range.opt));
      result->setDimensions(range.input, OptProfileSelector::kMAX, dims(range.max));
    }
    EXPECT_GE(config->addOptimizationProfile(result), 0);
    return result;
  }
  // y = max over pairs of |x|, x [-1,2,-1,-1]
  nv::ITensor& pooled() {
    auto* abs = network->addUnary(input("x", {-1, 2, -1, -1}), nv::UnaryOperation::kABS);
    auto* pool = network->addPoolingNd(*abs->getOutput(0), nv::PoolingType::kMAX, dims({1, 2}));
    pool->setStrideNd(dims({1, 2}));
    output(pool->getOutput(0), "y");
    return *pool->getOutput(0);
  }
  static Extents shape(const nv::ICudaEngine& engine, const char* tensor) {
    return extents(engine.getTensorShape(tensor));
  }
};

TEST_F(FixedExtents, AreShownForInputsAndWhatFollows) {
  auto& y = pooled();
  profile({{"x", {1, 2, 3, 8}, {2, 2, 3, 8}, {4, 2, 3, 8}}});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(shape(*loaded, "x"), (Extents{-1, 2, 3, 8}));
  EXPECT_EQ(shape(*loaded, "y"), (Extents{-1, 2, 3, 4}));
  EXPECT_EQ(extents(y.getDimensions()), (Extents{-1, 2, -1, -1}));  // the network is as it was
  const std::unique_ptr<nv::IHostMemory> again(loaded->serialize());
  const std::unique_ptr<nv::ICudaEngine> reloaded(runtime->deserializeCudaEngine(again->data(), again->size()));
  EXPECT_EQ(shape(*reloaded, "y"), (Extents{-1, 2, 3, 4}));
  const std::unique_ptr<nv::ICudaEngine> built(builder->buildEngineWithConfig(*network, *config));
  EXPECT_EQ(shape(*built, "y"), (Extents{-1, 2, 3, 4}));
  EXPECT_EQ(extents(loaded->getProfileShape("x", 0, OptProfileSelector::kMAX)), (Extents{4, 2, 3, 8}));

  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  EXPECT_FALSE(context->setInputShape("x", dims({2, 2, 3, 6})));
  expectError("input 'x': axis 3 is 6, expected 8 (the network or every profile fixes it)");
  EXPECT_TRUE(context->setInputShape("x", dims({2, 2, 3, 8})));
  std::vector<float> x(96), result(48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  void* bindings[] = {x.data(), result.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  for (size_t i = 0; i < result.size(); ++i) EXPECT_EQ(result[i], static_cast<float>(2 * i + 1));
}

TEST_F(FixedExtents, OfAWholeInputNeedNoCall) {
  pooled();
  profile({{"x", {2, 2, 1, 4}, {2, 2, 1, 4}, {2, 2, 1, 4}}});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(shape(*loaded, "x"), (Extents{2, 2, 1, 4}));
  EXPECT_EQ(extents(loaded->getProfileShape("x", 0, OptProfileSelector::kMIN)), (Extents{2, 2, 1, 4}));
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  EXPECT_TRUE(context->allInputDimensionsSpecified());
  EXPECT_EQ(context->inferShapes(0, nullptr), 0);
  EXPECT_EQ(extents(context->getTensorShape("y")), (Extents{2, 2, 1, 2}));
  EXPECT_TRUE(context->setInputShape("x", dims({2, 2, 1, 4})));
  EXPECT_FALSE(context->setInputShape("x", dims({1, 2, 1, 4})));
  expectError("axis 0 is 1, expected 2");
}

TEST_F(FixedExtents, AreThoseOfAllProfiles) {
  pooled();
  profile({{"x", {1, 2, 3, 8}, {1, 2, 3, 8}, {1, 2, 3, 8}}});
  profile({{"x", {4, 2, 3, 6}, {4, 2, 3, 8}, {4, 2, 3, 10}}});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->getNbOptimizationProfiles(), 2);
  EXPECT_EQ(shape(*loaded, "x"), (Extents{-1, 2, 3, -1}));
  EXPECT_EQ(shape(*loaded, "y"), (Extents{-1, 2, 3, -1}));
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  EXPECT_FALSE(context->setInputShape("x", dims({4, 2, 3, 8})));
  expectError("axis 0 is 4, profile 0 allows 1 to 1");
  ASSERT_TRUE(context->setOptimizationProfileAsync(1, nullptr));
  EXPECT_TRUE(context->setInputShape("x", dims({4, 2, 3, 10})));
  EXPECT_EQ(extents(context->getTensorShape("y")), (Extents{4, 2, 3, 5}));
}

// "batch" is 4 by the one input; the other input's range holds it.
TEST_F(FixedExtents, OfADimensionWithANameCountForAllInputs) {
  auto& a = input("a", {-1, 3});
  auto& b = input("b", {-1, 3});
  a.setDimensionName(0, "batch");
  b.setDimensionName(0, "batch");
  output(network->addElementWise(a, b, nv::ElementWiseOperation::kSUM)->getOutput(0), "y");
  auto* range = profile({{"a", {4, 3}, {4, 3}, {4, 3}}, {"b", {1, 3}, {2, 3}, {8, 3}}});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  for (const char* tensor : {"a", "b", "y"}) EXPECT_EQ(shape(*loaded, tensor), (Extents{4, 3})) << tensor;
  EXPECT_EQ(extents(loaded->getProfileShape("b", 0, OptProfileSelector::kMAX)), (Extents{4, 3}));
  range->setDimensions("b", OptProfileSelector::kMIN, dims({5, 3}));
  range->setDimensions("b", OptProfileSelector::kOPT, dims({5, 3}));
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("the ranges of dimension 'batch' do not overlap");
}

TEST_F(FixedExtents, FollowFromShapeValuesToo) {
  auto& size = input("size", {2}, nv::DataType::kINT64);
  auto* shuffle = network->addShuffle(input("x", {-1}));
  shuffle->setInput(1, size);
  output(shuffle->getOutput(0), "y");
  auto* range = profile({{"x", {8}, {8}, {8}}});
  const int64_t values[] = {2, 4};
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
    range->setShapeValuesV2("size", select, values, 2);
  }
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(shape(*loaded, "y"), (Extents{2, 4}));
  EXPECT_TRUE(loaded->isShapeInferenceIO("size"));
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  const char* missing[2] = {};
  EXPECT_EQ(context->inferShapes(2, missing), 1);
  EXPECT_STREQ(missing[0], "size");
  std::vector<int64_t> given{2, 4};
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  void* bindings[3] = {};
  for (int i = 0; i < 3; ++i) {
    const std::string name = loaded->getIOTensorName(i);
    bindings[i] = name == "size" ? static_cast<void*>(given.data()) : name == "x" ? x.data() : y.data();
  }
  EXPECT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(y, x);
  given = {4, 2};  // as many elements, but not what the engine was built for
  EXPECT_FALSE(context->executeV2(bindings));
  expectError("shape tensor 'size': value 0 is 4, profile 0 allows 2 to 2");
}

TEST_F(FixedExtents, OfNothing) {
  pooled();
  profile({{"x", {0, 2, 1, 4}, {0, 2, 1, 4}, {0, 2, 1, 4}}});
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(shape(*loaded, "y"), (Extents{0, 2, 1, 2}));
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  void* bindings[] = {nullptr, nullptr};
  EXPECT_TRUE(context->executeV2(bindings));
}

}  // namespace
