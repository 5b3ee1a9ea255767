// IScatterLayer: its setters, the operator that it becomes, and what it refuses.
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;

class ScatterLayers : public NetworkTest {};

TEST_F(ScatterLayers, SettersDecideAboutTheOperator) {
  auto& indices = input("i", {2, 3}, nv::DataType::kINT32);
  auto* layer = network->addScatter(input("x", {2, 5}), indices, input("u", {2, 3}), nv::ScatterMode::kELEMENT);
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getType(), nv::LayerType::kSCATTER);
  EXPECT_EQ(layer->getMode(), nv::ScatterMode::kELEMENT);
  EXPECT_EQ(layer->getAxis(), 0);
  layer->setAxis(1);
  EXPECT_EQ(layer->getAxis(), 1);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 5}));
  EXPECT_EQ(operators(layer->getOutput(0)), "scatter{axis=1}");
  layer->setMode(static_cast<nv::ScatterMode>(5));
  expectError("5");
  EXPECT_EQ(layer->getMode(), nv::ScatterMode::kELEMENT);
}

TEST_F(ScatterLayers, RowsAreNamedByTheLastAxis) {
  auto* layer = network->addScatter(input("x", {4, 5, 6}), input("i", {7, 2}, nv::DataType::kINT64), input("u", {7, 6}),
                                    nv::ScatterMode::kND);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{4, 5, 6}));
  EXPECT_EQ(operators(layer->getOutput(0)), "scatter{mode=nd}");
}

TEST_F(ScatterLayers, AxesOutsideAreRefused) {
  auto* layer = network->addScatter(input("x", {2, 5}), input("i", {2, 3}, nv::DataType::kINT32), input("u", {2, 3}),
                                    nv::ScatterMode::kELEMENT);
  layer->setAxis(2);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  expectError("axis 2 is out of range; the data has 2 dimensions");
}

}  // namespace
}  // namespace tenon::api
