// Whatever is marked reaches the debug listener: inputs, constants, views, values that something else would swallow.
#include <cmath>
#include <cstring>
#include <map>

#include "fixture.h"

namespace {

class KeptTensors final : public nv::IDebugListener {
 public:
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
    int times = 0;
  };
  bool processDebugTensor(const void* address, nv::TensorLocation, nv::DataType type, const nv::Dims& shape,
                          const char* name, cudaStream_t) override {
    auto& tensor = tensors[name];
    tensor.shape = extents(shape);
    ++tensor.times;
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) count *= extent;
    tensor.values.resize(static_cast<size_t>(count));
    if (type == nv::DataType::kFLOAT) std::memcpy(tensor.values.data(), address, tensor.values.size() * sizeof(float));
    if (type == nv::DataType::kINT64) std::copy_n(static_cast<const int64_t*>(address), count, tensor.values.begin());
    return true;
  }
  std::map<std::string, Tensor> tensors;
};

class DebugTensors : public ObjectTest {
 protected:
  void mark(nv::ITensor* tensor, const char* name) {
    tensor->setName(name);
    ASSERT_TRUE(network->markDebug(*tensor));
    marked.emplace_back(name);
  }
  // Builds, runs once with the bindings, and returns what the listener saw.
  std::map<std::string, KeptTensors::Tensor> seen(const std::vector<void*>& bindings) {
    const auto loaded = engine();
    if (loaded == nullptr) return {};
    for (const auto& name : marked) EXPECT_TRUE(loaded->isDebugTensor(name.c_str())) << name;
    const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
    KeptTensors listener;
    EXPECT_TRUE(context->setDebugListener(&listener));
    EXPECT_TRUE(context->setAllTensorsDebugState(true));
    EXPECT_TRUE(context->executeV2(bindings.data()));
    EXPECT_EQ(listener.tensors.size(), marked.size());
    for (const auto& name : marked) EXPECT_EQ(listener.tensors[name].times, 1) << name;
    EXPECT_TRUE(context->setAllTensorsDebugState(false));
    listener.tensors.clear();
    EXPECT_TRUE(context->executeV2(bindings.data()));
    EXPECT_TRUE(listener.tensors.empty());
    EXPECT_TRUE(context->setAllTensorsDebugState(true));
    EXPECT_TRUE(context->executeV2(bindings.data()));
    return std::move(listener.tensors);
  }
  std::vector<float> x{1, -2, 3, -4, 5, -6};
  std::vector<float> y = std::vector<float>(6);
  std::vector<std::string> marked;
};

TEST_F(DebugTensors, MayBeInputs) {
  auto& in = input("x", {2, 3});
  mark(&in, "x");
  output(network->addUnary(in, nv::UnaryOperation::kNEG)->getOutput(0), "y");
  const auto tensors = seen({x.data(), y.data()});
  EXPECT_EQ(tensors.at("x").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors.at("x").values, x);
  EXPECT_EQ(y[1], 2);
}

TEST_F(DebugTensors, MayBeConstants) {
  std::vector<float> half(6, 0.5F);
  auto* constant = network->addConstant(dims({2, 3}), {nv::DataType::kFLOAT, half.data(), 6});
  auto* twice =
      network->addElementWise(*constant->getOutput(0), *constant->getOutput(0), nv::ElementWiseOperation::kSUM);
  mark(constant->getOutput(0), "half");
  mark(twice->getOutput(0), "one");  // computed from constants
  output(
      network->addElementWise(input("x", {2, 3}), *twice->getOutput(0), nv::ElementWiseOperation::kSUM)->getOutput(0),
      "y");
  const auto tensors = seen({x.data(), y.data()});
  EXPECT_EQ(tensors.at("half").values, half);
  EXPECT_EQ(tensors.at("one").values, std::vector<float>(6, 1));
  EXPECT_EQ(y[1], -1);
}

TEST_F(DebugTensors, MayBeViews) {
  auto& in = input("x", {2, 3});
  auto* flat = network->addShuffle(in);
  flat->setReshapeDimensions(dims({6}));
  auto* abs = network->addUnary(*flat->getOutput(0), nv::UnaryOperation::kABS);
  auto* column = network->addShuffle(*abs->getOutput(0));
  column->setReshapeDimensions(dims({6, 1}));
  auto* same = network->addIdentity(*column->getOutput(0));  // nothing but a name
  mark(flat->getOutput(0), "flat");
  mark(column->getOutput(0), "column");
  mark(same->getOutput(0), "same");
  output(network->addUnary(*same->getOutput(0), nv::UnaryOperation::kNEG)->getOutput(0), "y");
  const auto tensors = seen({x.data(), y.data()});
  EXPECT_EQ(tensors.at("flat").shape, (std::vector<int64_t>{6}));
  EXPECT_EQ(tensors.at("flat").values, x);
  EXPECT_EQ(tensors.at("column").shape, (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(tensors.at("column").values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensors.at("same").values, tensors.at("column").values);
  EXPECT_EQ(y[1], -2);
}

// Convolutions write images with the channels behind the pixels; what is shown is row-major. An activation that would
// be part of the convolution stands alone.
TEST_F(DebugTensors, AreRowMajorWhereTheEngineIsNot) {
  constexpr int64_t kChannels = 16, kSize = 12;
  std::vector<float> image(kChannels * kSize * kSize), weights(kChannels * kChannels * 9), result(image.size());
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i * 7 % 13) / 13 - 0.5F;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 5 % 11) / 11 - 0.5F;
  const nv::Weights kernel{nv::DataType::kFLOAT, weights.data(), static_cast<int64_t>(weights.size())};
  const auto convolve = [&](nv::ITensor& from) {
    auto* layer = network->addConvolutionNd(from, kChannels, dims({3, 3}), kernel, {});
    layer->setPaddingNd(dims({1, 1}));
    return layer->getOutput(0);
  };
  nv::ITensor* const first = convolve(input("x", {1, kChannels, kSize, kSize}));
  mark(first, "first");
  nv::ITensor* const second = network->addActivation(*first, nv::ActivationType::kRELU)->getOutput(0);
  mark(second, "second");
  output(convolve(*second), "y");
  const auto tensors = seen({image.data(), result.data()});
  const auto& shown = tensors.at("first");
  EXPECT_EQ(shown.shape, (std::vector<int64_t>{1, kChannels, kSize, kSize}));
  for (const int64_t at : {0, 5, 143, 144, 700, 1500, 2303}) {
    const int64_t k = at / kSize / kSize, row = at / kSize % kSize, column = at % kSize;
    double sum = 0;
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t h = row + tap / 3 - 1, w = column + tap % 3 - 1;
        if (h < 0 || w < 0 || h >= kSize || w >= kSize) continue;
        sum += double{image[static_cast<size_t>((c * kSize + h) * kSize + w)]} *
               weights[static_cast<size_t>((k * kChannels + c) * 9 + tap)];
      }
    }
    EXPECT_NEAR(shown.values[static_cast<size_t>(at)], sum, 1e-4) << at;
  }
  for (size_t i = 0; i < shown.values.size(); ++i)
    ASSERT_EQ(tensors.at("second").values[i], std::max(shown.values[i], 0.F)) << i;
}

TEST_F(DebugTensors, MayBeOutputsAndWhatNobodyReads) {
  auto& in = input("x", {2, 3});
  auto* abs = network->addUnary(in, nv::UnaryOperation::kABS);
  auto* unread = network->addUnary(*abs->getOutput(0), nv::UnaryOperation::kSQRT);
  output(network->addUnary(*abs->getOutput(0), nv::UnaryOperation::kNEG)->getOutput(0), "y");
  mark(network->getOutput(0), "y");
  mark(unread->getOutput(0), "unread");
  mark(abs->getOutput(0), "absolute");  // that would be one node with its reader
  const auto tensors = seen({x.data(), y.data()});
  EXPECT_EQ(tensors.at("y").values, y);
  EXPECT_EQ(tensors.at("unread").values[3], 2);
  EXPECT_EQ(tensors.at("absolute").values[3], 4);
}

TEST_F(DebugTensors, MayHaveAnyShapeAndType) {
  auto& in = input("x", {-1, 3});
  auto* shape = network->addShape(in);
  mark(&in, "x");
  mark(shape->getOutput(0), "shape");
  auto* flat = network->addShuffle(in);
  flat->setReshapeDimensions(dims({-1}));
  output(flat->getOutput(0), "y");
  auto* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({0, 3}));
  profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({2, 3}));
  profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({9, 3}));
  config->addOptimizationProfile(profile);
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  KeptTensors listener;
  context->setDebugListener(&listener);
  EXPECT_TRUE(context->setTensorDebugState("x", true));
  EXPECT_TRUE(context->setTensorDebugState("shape", true));
  EXPECT_FALSE(context->setTensorDebugState("y", true));
  expectError("tensor 'y' was not marked");
  void* bindings[] = {x.data(), y.data()};
  for (const int64_t rows : {2, 1, 0}) {
    ASSERT_TRUE(context->setInputShape("x", dims({rows, 3})));
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(listener.tensors["x"].shape, (std::vector<int64_t>{rows, 3}));
    EXPECT_EQ(listener.tensors["x"].values, std::vector<float>(x.begin(), x.begin() + 3 * rows));
    EXPECT_EQ(listener.tensors["shape"].values, (std::vector<float>{static_cast<float>(rows), 3}));
  }
}

// What fusion leaves is shown under the tensors' own names; what it swallows is not, and stays swallowed.
TEST_F(DebugTensors, MayBeAllThatFusionLeaves) {
  auto& in = input("x", {2, 3});
  auto* abs = network->addUnary(in, nv::UnaryOperation::kABS)->getOutput(0);
  auto* root = network->addUnary(*abs, nv::UnaryOperation::kSQRT)->getOutput(0);
  auto* sums = network->addReduce(*root, nv::ReduceOperation::kSUM, 2, true)->getOutput(0);
  abs->setName("absolute");
  root->setName("root");
  sums->setName("sums");
  auto* product = network->addMatrixMultiply(*root, nv::MatrixOperation::kTRANSPOSE, *sums, nv::MatrixOperation::kNONE)
                      ->getOutput(0);
  product->setName("product");
  output(network->addUnary(*product, nv::UnaryOperation::kNEG)->getOutput(0), "y");
  EXPECT_TRUE(network->markUnfusedTensorsAsDebugTensors());
  for (const bool marked : {true, false}) {
    if (!marked) {
      EXPECT_TRUE(network->unmarkUnfusedTensorsAsDebugTensors());
    }
    const auto loaded = engine();
    ASSERT_NE(loaded, nullptr);
    const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
    EXPECT_FALSE(context->getUnfusedTensorsDebugState());
    KeptTensors listener;
    context->setDebugListener(&listener);
    void* bindings[] = {x.data(), y.data()};
    ASSERT_TRUE(context->setAllTensorsDebugState(true));  // of those that were marked by name
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_TRUE(listener.tensors.empty());
    EXPECT_TRUE(context->setUnfusedTensorsDebugState(true));
    EXPECT_TRUE(context->getUnfusedTensorsDebugState());
    ASSERT_TRUE(context->executeV2(bindings));
    if (!marked) {
      EXPECT_TRUE(listener.tensors.empty());
      continue;
    }
    EXPECT_EQ(listener.tensors.count("absolute"), 0U);  // one node with the root
    EXPECT_EQ(listener.tensors.count("product"), 0U);   // the negation is the product's epilogue
    ASSERT_EQ(listener.tensors.count("root"), 1U);
    ASSERT_EQ(listener.tensors.count("sums"), 1U);
    ASSERT_EQ(listener.tensors.count("y"), 1U);
    EXPECT_EQ(listener.tensors["root"].shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(listener.tensors["root"].values[3], 2);
    EXPECT_EQ(listener.tensors["sums"].shape, (std::vector<int64_t>{2, 1}));
    EXPECT_FLOAT_EQ(listener.tensors["sums"].values[0], 1 + std::sqrt(2.F) + std::sqrt(3.F));
    EXPECT_TRUE(std::equal(y.begin(), y.begin() + 3, listener.tensors["y"].values.begin()));
    listener.tensors.clear();
    EXPECT_TRUE(context->setUnfusedTensorsDebugState(false));
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_TRUE(listener.tensors.empty());
  }
}

TEST_F(DebugTensors, AreNotThereWithoutTheMark) {
  auto& in = input("x", {2, 3});
  mark(&in, "x");
  EXPECT_TRUE(network->unmarkDebug(in));
  marked.clear();
  output(network->addUnary(in, nv::UnaryOperation::kNEG)->getOutput(0), "y");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  EXPECT_FALSE(loaded->isDebugTensor("x"));
  EXPECT_EQ(loaded->getNbLayers(), 1);
}

}  // namespace
