// Shapes that are computed: by floating point, gathers, comparisons, reductions, ranges; from shapes and from values
// that the user gives. Whatever the arithmetic, extents are known before anything runs.
#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>

#include "fixture.h"

namespace {

using nv::ElementWiseOperation;
using nv::OptProfileSelector;
using Extents = std::vector<int64_t>;

class ShapePrograms : public ObjectTest {
 protected:
  nv::ITensor& constant(const std::vector<int64_t>& values, bool scalar = false) {
    const Extents shape = scalar ? Extents{} : Extents{static_cast<int64_t>(values.size())};
    kept_.push_back(std::make_unique<std::vector<int64_t>>(values));
    return *network
                ->addConstant(dims(shape),
                              {nv::DataType::kINT64, kept_.back()->data(), static_cast<int64_t>(kept_.back()->size())})
                ->getOutput(0);
  }
  nv::ITensor& floats(const std::vector<float>& values) {
    keptFloats_.push_back(std::make_unique<std::vector<float>>(values));
    return *network
                ->addConstant(dims({static_cast<int64_t>(values.size())}),
                              {nv::DataType::kFLOAT, keptFloats_.back()->data(),
                               static_cast<int64_t>(keptFloats_.back()->size())})
                ->getOutput(0);
  }
  nv::ITensor& both(ElementWiseOperation op, nv::ITensor& a, nv::ITensor& b) {
    return *network->addElementWise(a, b, op)->getOutput(0);
  }
  nv::ITensor& unary(nv::UnaryOperation op, nv::ITensor& a) { return *network->addUnary(a, op)->getOutput(0); }
  nv::ITensor& cast(nv::ITensor& a, nv::DataType type) { return *network->addCast(a, type)->getOutput(0); }
  nv::ITensor& shape(nv::ITensor& a) { return *network->addShape(a)->getOutput(0); }
  nv::ITensor& element(nv::ITensor& a, int64_t i) { return *network->addGather(a, constant({i}), 0)->getOutput(0); }
  nv::ITensor& joined(const std::vector<nv::ITensor*>& parts) {
    return *network->addConcatenation(parts.data(), static_cast<int32_t>(parts.size()))->getOutput(0);
  }
  nv::ITensor& modulo(nv::ITensor& a, int64_t divisor) {
    auto& quotient = both(ElementWiseOperation::kFLOOR_DIV, a, constant({divisor}));
    return both(ElementWiseOperation::kSUB, a, both(ElementWiseOperation::kPROD, quotient, constant({divisor})));
  }
  // floor(size * scales), element by element
  nv::ITensor& scaled(nv::ITensor& size, const std::vector<float>& scales) {
    auto& product = both(ElementWiseOperation::kPROD, cast(size, nv::DataType::kFLOAT), floats(scales));
    return cast(unary(nv::UnaryOperation::kFLOOR, product), nv::DataType::kINT64);
  }
  // A tensor of this computed shape, all 2: what shows the shape.
  nv::IFillLayer& filled(nv::ITensor& size, int32_t rank) {
    auto* fill = network->addFill(dims(Extents(static_cast<size_t>(rank), 1)), nv::FillOperation::kLINSPACE,
                                  nv::DataType::kFLOAT);
    fill->setInput(0, size);
    fill->setInput(1, *network->addShuffle(floats({2}))->getOutput(0));
    fill->setInput(2, floats(std::vector<float>(static_cast<size_t>(rank), 0)));
    fill->setName("filled");
    return *fill;
  }
  void range(const char* name, const Extents& min, const Extents& opt, const Extents& max) {
    if (profile_ == nullptr) profile_ = builder->createOptimizationProfile();
    profile_->setDimensions(name, OptProfileSelector::kMIN, dims(min));
    profile_->setDimensions(name, OptProfileSelector::kOPT, dims(opt));
    profile_->setDimensions(name, OptProfileSelector::kMAX, dims(max));
  }
  void values(const char* name, const Extents& min, const Extents& opt, const Extents& max) {
    if (profile_ == nullptr) profile_ = builder->createOptimizationProfile();
    const auto count = static_cast<int32_t>(min.size());
    profile_->setShapeValuesV2(name, OptProfileSelector::kMIN, min.data(), count);
    profile_->setShapeValuesV2(name, OptProfileSelector::kOPT, opt.data(), count);
    profile_->setShapeValuesV2(name, OptProfileSelector::kMAX, max.data(), count);
  }
  void build() {
    if (profile_ != nullptr) config->addOptimizationProfile(profile_);
    engine_ = engine();
    ASSERT_NE(engine_, nullptr);
    context_.reset(engine_->createExecutionContext());
    ASSERT_NE(context_, nullptr);
  }
  // Shape of the output "y" for this shape of "x".
  Extents shapeFor(const Extents& x) {
    EXPECT_TRUE(context_->setInputShape("x", dims(x)));
    EXPECT_EQ(context_->inferShapes(0, nullptr), 0);
    return extents(context_->getTensorShape("y"));
  }
  std::vector<float> run(const std::vector<float>& x) {
    int64_t count = 1;
    for (const int64_t extent : extents(context_->getTensorShape("y"))) count *= extent;
    std::vector<float> y(static_cast<size_t>(count), -1);
    EXPECT_TRUE(context_->setTensorAddress("x", const_cast<float*>(x.data())));
    EXPECT_TRUE(context_->setTensorAddress("y", y.data()));
    EXPECT_TRUE(context_->enqueueV3(nullptr));
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    return y;
  }

  std::vector<std::unique_ptr<std::vector<int64_t>>> kept_;
  std::vector<std::unique_ptr<std::vector<float>>> keptFloats_;
  nv::IOptimizationProfile* profile_ = nullptr;
  std::unique_ptr<nv::ICudaEngine> engine_;
  std::unique_ptr<nv::IExecutionContext> context_;
};

// floor(extent * scale) for scales that are no fractions with a small denominator.
TEST_F(ShapePrograms, ResizeByFloatingScales) {
  const std::vector<float> scales{1, 1, 0.73105858F, 1.4142135F};
  auto* resize = network->addResize(input("x", {1, 1, -1, -1}));
  resize->setScales(scales.data(), 4);
  output(resize->getOutput(0), "y");
  EXPECT_EQ(extents(resize->getOutput(0)->getDimensions()), (Extents{1, 1, -1, -1}));
  range("x", {1, 1, 2, 1}, {1, 1, 8, 8}, {1, 1, 64, 50});
  build();
  for (const auto& [h, w] : std::vector<std::pair<int64_t, int64_t>>{{2, 1}, {8, 8}, {17, 31}, {64, 50}, {63, 49}}) {
    const auto by = [](int64_t extent, float scale) {
      return static_cast<int64_t>(std::floor(static_cast<float>(extent) * scale));
    };
    EXPECT_EQ(shapeFor({1, 1, h, w}), (Extents{1, 1, by(h, scales[2]), by(w, scales[3])}));
    std::vector<float> x(static_cast<size_t>(h * w));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const auto y = run(x);
    const auto columns = static_cast<size_t>(by(w, scales[3]));
    for (size_t i = 0; i < y.size(); ++i) {
      const auto row = std::floor(static_cast<float>(i / columns) / scales[2]);
      const auto column = std::floor(static_cast<float>(i % columns) / scales[3]);
      EXPECT_EQ(y[i], row * static_cast<float>(w) + column) << h << "x" << w << " at " << i;
    }
  }
}

TEST_F(ShapePrograms, ResizeToComputedExtents) {
  auto& x = input("x", {1, 2, -1, -1});
  auto* resize = network->addResize(x);
  resize->setInput(1, scaled(shape(x), {1, 1, 1.7F, 0.31F}));
  output(resize->getOutput(0), "y");
  range("x", {1, 2, 4, 4}, {1, 2, 10, 10}, {1, 2, 40, 40});
  build();
  EXPECT_EQ(shapeFor({1, 2, 10, 13}), (Extents{1, 2, 17, 4}));
  EXPECT_EQ(run(std::vector<float>(260, 3)), std::vector<float>(17 * 4 * 2, 3));
}

// Start, size and stride from averages, remainders and roots.
TEST_F(ShapePrograms, SliceByComputedStartSizeAndStride) {
  auto& x = input("x", {-1});
  auto& n = shape(x);
  auto& real = cast(n, nv::DataType::kFLOAT);
  auto& root = cast(unary(nv::UnaryOperation::kFLOOR, unary(nv::UnaryOperation::kSQRT, real)), nv::DataType::kINT64);
  auto& start = unary(nv::UnaryOperation::kABS, both(ElementWiseOperation::kSUB, constant({3}), modulo(n, 5)));
  auto* slice = network->addSlice(x, dims({0}), dims({1}), dims({1}));
  slice->setInput(1, start);
  slice->setInput(2, both(ElementWiseOperation::kSUB, root, constant({1})));
  slice->setInput(3, root);
  output(slice->getOutput(0), "y");
  range("x", {9}, {50}, {200});
  build();
  for (const int64_t extent : {9, 10, 49, 50, 121, 199, 200}) {
    const auto step = static_cast<int64_t>(std::floor(std::sqrt(static_cast<float>(extent))));
    const int64_t first = std::abs(3 - extent % 5);
    if (first + (step - 2) * step >= extent) continue;
    ASSERT_EQ(shapeFor({extent}), (Extents{step - 1})) << extent;
    std::vector<float> values(static_cast<size_t>(extent));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const auto y = run(values);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(first + static_cast<int64_t>(i) * step));
  }
}

// The index is computed, and -1 stays the one that is worked out.
TEST_F(ShapePrograms, ReshapeByAGatherOfComputedIndex) {
  auto& x = input("x", {-1, -1});
  auto& size = shape(x);
  auto& index = modulo(element(size, 0), 2);
  auto& picked = *network->addGather(size, index, 0)->getOutput(0);
  auto* shuffle = network->addShuffle(x);
  shuffle->setInput(1, joined({&constant({-1}), &picked}));
  output(shuffle->getOutput(0), "y");
  EXPECT_EQ(extents(shuffle->getOutput(0)->getDimensions()), (Extents{-1, -1}));
  range("x", {1, 1}, {6, 4}, {9, 9});
  build();
  EXPECT_EQ(shapeFor({6, 4}), (Extents{4, 6}));
  EXPECT_EQ(shapeFor({5, 4}), (Extents{5, 4}));
  EXPECT_EQ(shapeFor({9, 8}), (Extents{9, 8}));
  const std::vector<float> values(72, 7);
  EXPECT_EQ(run(values), values);
}

TEST_F(ShapePrograms, SelectByComparisonOfReductions) {
  auto& x = input("x", {-1, -1, -1});
  auto& size = shape(x);
  auto& real = cast(size, nv::DataType::kFLOAT);
  auto& mean = *network->addReduce(real, nv::ReduceOperation::kAVG, 1, true)->getOutput(0);
  auto& above = both(ElementWiseOperation::kGREATER, real, *network->addShuffle(mean)->getOutput(0));
  auto* select = network->addSelect(above, size, constant({2, 2, 2}));
  output(filled(*select->getOutput(0), 3).getOutput(0), "y");
  output(network->addIdentity(x)->getOutput(0), "z");  // keeps the data of x in use
  range("x", {1, 1, 1}, {4, 5, 6}, {8, 8, 8});
  build();
  EXPECT_EQ(shapeFor({4, 5, 6}), (Extents{2, 2, 6}));
  EXPECT_EQ(shapeFor({8, 1, 7}), (Extents{8, 2, 7}));
  EXPECT_EQ(shapeFor({3, 3, 3}), (Extents{2, 2, 2}));
}

// As many elements as a range has that is itself of computed length.
TEST_F(ShapePrograms, RangesOfComputedLengthAndTheirSum) {
  auto& x = input("x", {-1});
  auto& n = shape(x);
  auto& half =
      cast(both(ElementWiseOperation::kPROD, cast(n, nv::DataType::kFLOAT), floats({0.47F})), nv::DataType::kINT64);
  auto* numbers = network->addFill(dims({1}), nv::FillOperation::kLINSPACE, nv::DataType::kINT64);
  numbers->setInput(0, half);
  numbers->setInput(1, constant({1}, true));
  numbers->setInput(2, constant({3}));
  auto* sum = network->addReduce(*numbers->getOutput(0), nv::ReduceOperation::kSUM, 1, true);
  output(filled(*sum->getOutput(0), 1).getOutput(0), "y");
  output(network->addIdentity(x)->getOutput(0), "z");
  range("x", {3}, {10}, {40});
  build();
  for (const int64_t extent : {3, 10, 39, 40}) {
    int64_t expected = 0;
    const auto length = static_cast<int64_t>(static_cast<float>(extent) * 0.47F);
    for (int64_t i = 0; i < length; ++i) expected += 1 + 3 * i;
    EXPECT_EQ(shapeFor({extent}), (Extents{expected})) << extent;
  }
}

// Values that the user gives, by way of floating point; and values that nobody has given yet.
TEST_F(ShapePrograms, ShapeInputsThroughFloatingPoint) {
  auto& size = input("size", {2}, nv::DataType::kINT32);
  auto* resize = network->addResize(input("x", {1, 1, 4, 4}));
  auto& wide = cast(cast(size, nv::DataType::kFLOAT), nv::DataType::kINT64);
  resize->setInput(1, joined({&constant({1, 1}), &scaled(wide, {0.51F, 3.3F})}));
  output(resize->getOutput(0), "y");
  values("size", {2, 2}, {10, 10}, {40, 20});
  build();
  EXPECT_TRUE(engine_->isShapeInferenceIO("size"));
  const char* missing[1] = {};
  EXPECT_EQ(context_->inferShapes(1, missing), 1);
  EXPECT_STREQ(missing[0], "size");
  EXPECT_EQ(extents(context_->getTensorShape("y")), (Extents{1, 1, -1, -1}));
  for (const auto& given : std::vector<std::vector<int32_t>>{{10, 10}, {40, 2}, {3, 19}}) {
    EXPECT_TRUE(context_->setTensorAddress("size", const_cast<int32_t*>(given.data())));
    EXPECT_EQ(context_->inferShapes(0, nullptr), 0);
    const auto by = [](int32_t value, float scale) {
      return static_cast<int64_t>(std::floor(static_cast<float>(value) * scale));
    };
    EXPECT_EQ(extents(context_->getTensorShape("y")), (Extents{1, 1, by(given[0], 0.51F), by(given[1], 3.3F)}));
    EXPECT_EQ(run(std::vector<float>(16, 2)),
              std::vector<float>(static_cast<size_t>(by(given[0], 0.51F) * by(given[1], 3.3F)), 2));
  }
  const std::vector<int32_t> outside{41, 2};
  EXPECT_TRUE(context_->setTensorAddress("size", const_cast<int32_t*>(outside.data())));
  EXPECT_FALSE(context_->enqueueV3(nullptr));
  expectError("shape tensor 'size': value 0 is 41, profile 0 allows 2 to 40");
}

// A shape output is on the host, whatever computes it.
TEST_F(ShapePrograms, OutputsForShapesAreReadable) {
  auto& x = input("x", {-1, -1});
  auto& size = scaled(shape(x), {0.37F, 2.9F});
  size.setName("y");
  EXPECT_TRUE(network->markOutputForShapes(size));
  output(network->addIdentity(x)->getOutput(0), "z");
  range("x", {1, 1}, {10, 10}, {30, 30});
  build();
  EXPECT_EQ(engine_->getTensorLocation("y"), nv::TensorLocation::kHOST);
  EXPECT_TRUE(context_->setInputShape("x", dims({29, 7})));
  std::vector<float> data(29 * 7), copy(29 * 7);
  std::vector<int64_t> y(2);
  EXPECT_TRUE(context_->setTensorAddress("x", data.data()));
  EXPECT_TRUE(context_->setTensorAddress("z", copy.data()));
  EXPECT_TRUE(context_->setTensorAddress("y", y.data()));
  EXPECT_TRUE(context_->enqueueV3(nullptr));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(y, (std::vector<int64_t>{10, 20}));
}

// What the layer makes of the shapes is refused when they are bound, with its name and what it got.
TEST_F(ShapePrograms, RefusalsNameTheLayer) {
  auto& x = input("x", {-1});
  auto& picked =
      *network->addGather(shape(x), both(ElementWiseOperation::kDIV, shape(x), constant({10})), 0)->getOutput(0);
  picked.setName("picked");
  network->getLayer(network->getNbLayers() - 1)->setName("pick");
  output(filled(picked, 1).getOutput(0), "y");
  output(network->addIdentity(x)->getOutput(0), "z");
  range("x", {1}, {9}, {9});
  build();
  EXPECT_EQ(shapeFor({7}), (Extents{7}));
  context_.reset();
  range("x", {1}, {9}, {25});
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  EXPECT_EQ(plan, nullptr);
  expectError("at its max shapes: layer 'pick': gather: index 2 is outside axis 0 of extent 1");
}

TEST_F(ShapePrograms, ValuesOfTheDeviceAreKnownBehindTheRun) {
  auto& x = input("x", {4});
  auto& size = cast(*network->addReduce(x, nv::ReduceOperation::kMAX, 1, true)->getOutput(0), nv::DataType::kINT64);
  auto* fill = &filled(size, 1);
  EXPECT_EQ(extents(fill->getOutput(0)->getDimensions()), (Extents{-1}));
}

// Whatever happens on the way: what is fixed needs no symbol, and the engine knows the extents.
TEST_F(ShapePrograms, OfFixedShapesAreConstants) {
  auto& x = input("x", {12, 5});
  auto* resize = network->addResize(*network->addShuffle(x)->getOutput(0));
  resize->setInput(1, scaled(shape(x), {0.7071F, 1.2345F}));
  output(resize->getOutput(0), "y");
  EXPECT_EQ(extents(resize->getOutput(0)->getDimensions()), (Extents{8, 6}));
  build();
  EXPECT_EQ(extents(engine_->getTensorShape("y")), (Extents{8, 6}));
}

// Two profiles have bounds of their own; a plan that was saved has them too.
TEST_F(ShapePrograms, ProfilesHaveBoundsOfTheirOwn) {
  auto& x = input("x", {-1});
  output(filled(scaled(shape(x), {0.61F}), 1).getOutput(0), "y");
  output(network->addIdentity(x)->getOutput(0), "z");
  range("x", {10}, {20}, {30});
  config->addOptimizationProfile(profile_);
  profile_ = nullptr;
  range("x", {40}, {50}, {60});
  build();
  EXPECT_EQ(shapeFor({30}), (Extents{18}));
  ASSERT_TRUE(context_->setOptimizationProfileAsync(1, nullptr));
  EXPECT_EQ(shapeFor({59}), (Extents{35}));
  const std::unique_ptr<nv::IHostMemory> saved(engine_->serialize());
  const std::unique_ptr<nv::ICudaEngine> again(runtime->deserializeCudaEngine(saved->data(), saved->size()));
  ASSERT_NE(again, nullptr);
  context_.reset(again->createExecutionContext());
  EXPECT_EQ(shapeFor({11}), (Extents{6}));
  context_.reset();
}

}  // namespace
