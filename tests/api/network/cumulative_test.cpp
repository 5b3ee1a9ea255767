// ICumulativeLayer: its setters, the operator that it becomes, and what it refuses.
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;

class CumulativeLayers : public NetworkTest {
 protected:
  nv::ICumulativeLayer* add(nv::ITensor& x, nv::ITensor& axis) {
    return network->addCumulative(x, axis, nv::CumulativeOperation::kSUM, false, false);
  }
  nv::ITensor& axis(int32_t value) {
    kept32.push_back(std::make_unique<int32_t>(value));
    return *network->addConstant(dims({}), {nv::DataType::kINT32, kept32.back().get(), 1})->getOutput(0);
  }
  std::vector<std::unique_ptr<int32_t>> kept32;
};

TEST_F(CumulativeLayers, SettersDecideAboutTheOperator) {
  auto* layer = add(input("x", {2, -1, 4}), axis(-2));
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getType(), nv::LayerType::kCUMULATIVE);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, -1, 4}));
  EXPECT_EQ(layer->getOperation(), nv::CumulativeOperation::kSUM);
  EXPECT_FALSE(layer->getExclusive());
  EXPECT_FALSE(layer->getReverse());
  layer->setExclusive(true);
  layer->setReverse(true);
  EXPECT_TRUE(layer->getExclusive());
  EXPECT_TRUE(layer->getReverse());
  EXPECT_TRUE(layer->setOperation(nv::CumulativeOperation::kSUM));
  EXPECT_EQ(operators(layer->getOutput(0)), "cumulative{axis=-2 exclusive=true reverse=true}");
}

TEST_F(CumulativeLayers, KeepTheType) {
  auto* layer = add(input("x", {5}, nv::DataType::kINT64), axis(0));
  EXPECT_EQ(layer->getOutput(0)->getType(), nv::DataType::kINT64);
}

TEST_F(CumulativeLayers, OtherOperationsAreRefused) {
  auto& x = input("x", {5});
  auto* layer = add(x, axis(0));
  EXPECT_FALSE(layer->setOperation(static_cast<nv::CumulativeOperation>(7)));
  expectError("operation 7");
  EXPECT_EQ(network->addCumulative(x, axis(0), static_cast<nv::CumulativeOperation>(1), false, false), nullptr);
  expectError("operation 1");
}

TEST_F(CumulativeLayers, AxesOutsideAreRefused) {
  EXPECT_EQ(add(input("x", {2, 3}), axis(2))->getOutput(0)->getDimensions().nbDims, -1);
  expectError("axis 2 is outside [-2, 2)");
}

TEST_F(CumulativeLayers, OneAxisOnly) {
  EXPECT_EQ(add(input("x", {2, 3}), ints({0, 1}))->getOutput(0)->getDimensions().nbDims, -1);
  expectError("axis (input 1) has 2 elements; expected 1");
}

TEST_F(CumulativeLayers, TheAxisIsKnownWhileBuilding) {
  add(input("x", {2, 3}), input("axis", {}, nv::DataType::kINT32))->getOutput(0)->getDimensions();
  expectError("axis (input 1)");
}

// Running sums of a shape are a shape: [N, 3] becomes the extents [N, N + 3].
TEST_F(CumulativeLayers, CarryShapes) {
  auto* sums = add(*network->addShape(input("x", {-1, 3}))->getOutput(0), axis(0));
  auto* slice = network->addSlice(input("data", {-1, -1}), dims({0, 0}), dims({1, 1}), dims({1, 1}));
  slice->setInput(2, *sums->getOutput(0));
  EXPECT_EQ(operators(slice->getOutput(0)), "shape\ncumulative{axis=0}\nslice{start=[0,0] size=[x.0,x.0+3]}");
}

}  // namespace
}  // namespace tenon::api
