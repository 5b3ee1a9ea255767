// Layers that become several operators: their setters, shapes and refusals. What they compute is tested through models.
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;

class ComposedLayers : public NetworkTest {
 protected:
  std::vector<std::unique_ptr<int32_t>> kept32;
};

TEST_F(ComposedLayers, EinsumShapes) {
  nv::ITensor* operands[] = {&input("a", {-1, 3, 4}), &input("b", {-1, 4, 5})};
  auto* layer = network->addEinsum(operands, 2, "bij,bjk->bik");
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getType(), nv::LayerType::kEINSUM);
  EXPECT_STREQ(layer->getEquation(), "bij,bjk->bik");
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{-1, 3, 5}));
  EXPECT_TRUE(layer->setEquation("bij,bjk->kb"));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{5, -1}));
  EXPECT_FALSE(layer->setEquation("b?"));
  expectError("got '?' in a term");
  EXPECT_STREQ(layer->getEquation(), "bij,bjk->kb");
}

TEST_F(ComposedLayers, EinsumRefusesExtentsThatDiffer) {
  nv::ITensor* operands[] = {&input("a", {2, 3}), &input("b", {4, 5})};
  network->addEinsum(operands, 2, "ij,jk->ik")->getOutput(0)->getDimensions();
  expectError("inner extents");
  EXPECT_EQ(network->addEinsum(operands, 2, "ij->->k"), nullptr);
  expectError("einsum equation");
}

TEST_F(ComposedLayers, OneHotPutsTheDepthAtItsAxis) {
  kept32.push_back(std::make_unique<int32_t>(7));
  auto& depth = *network->addConstant(dims({}), {nv::DataType::kINT32, kept32.back().get(), 1})->getOutput(0);
  auto* layer = network->addOneHot(input("i", {2, -1}, nv::DataType::kINT32), input("values", {2}), depth, 1);
  EXPECT_EQ(layer->getAxis(), 1);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 7, -1}));
  layer->setAxis(-1);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, -1, 7}));
  layer->setAxis(3);
  layer->getOutput(0)->getDimensions();
  expectError("axis 3 is not in [-3, 3)");
}

TEST_F(ComposedLayers, OneHotWantsTwoValues) {
  network->addOneHot(input("i", {2}, nv::DataType::kINT32), input("values", {3}), ints({4}), 0)
      ->getOutput(0)
      ->getDimensions();
  expectError("the values have shape [3]; expected [2]");
}

TEST_F(ComposedLayers, ReverseSequenceKeepsTheShape) {
  auto* layer = network->addReverseSequence(input("x", {-1, 3, 4}), input("n", {3}, nv::DataType::kINT32));
  EXPECT_EQ(layer->getBatchAxis(), 1);
  EXPECT_EQ(layer->getSequenceAxis(), 0);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{-1, 3, 4}));
  layer->setBatchAxis(0);
  layer->getOutput(0)->getDimensions();
  expectError("the batch axis and the sequence axis are both 0");
}

TEST_F(ComposedLayers, RaggedSoftMaxWantsABoundForEachRow) {
  auto& x = input("x", {2, 5});
  EXPECT_EQ(extents(network->addRaggedSoftMax(x, input("n", {2, 1}, nv::DataType::kINT32))->getOutput(0)),
            (Extents{2, 5}));
  network->addRaggedSoftMax(x, input("m", {2}, nv::DataType::kINT32))->getOutput(0)->getDimensions();
  expectError("the bounds have shape [2]");
}

TEST_F(ComposedLayers, GridSampleTakesTheShapeOfTheGrid) {
  auto* layer = network->addGridSample(input("x", {2, 3, 8, 9}), input("grid", {2, 5, -1, 2}));
  EXPECT_EQ(layer->getInterpolationMode(), nv::InterpolationMode::kLINEAR);
  EXPECT_EQ(layer->getSampleMode(), nv::SampleMode::kFILL);
  EXPECT_FALSE(layer->getAlignCorners());
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 3, 5, -1}));
  layer->setInterpolationMode(nv::InterpolationMode::kCUBIC);
  layer->setAlignCorners(true);
  EXPECT_TRUE(layer->setSampleMode(nv::SampleMode::kREFLECT));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 3, 5, -1}));
  EXPECT_FALSE(layer->setSampleMode(nv::SampleMode::kWRAP));
  expectError("expected kFILL, kCLAMP or kREFLECT");
}

TEST_F(ComposedLayers, GridSampleRefusesGridsOfOtherRank) {
  network->addGridSample(input("x", {2, 3, 8, 9}), input("grid", {2, 5, 6, 3}))->getOutput(0)->getDimensions();
  expectError("the grid has shape [2,5,6,3]; expected 4 dimensions, the last of extent 2");
}

TEST_F(ComposedLayers, RotaryEmbeddingTakesPositionsAsItsFourthInput) {
  auto* layer =
      network->addRotaryEmbedding(input("x", {2, 4, -1, 8}), input("c", {100, 4}), input("s", {100, 4}), true, 0);
  EXPECT_TRUE(layer->getInterleaved());
  layer->setInput(3, input("at", {2, -1}, nv::DataType::kINT64));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 4, -1, 8}));
  EXPECT_FALSE(layer->setRotaryEmbeddingDim(3));
  expectError("the rotary embedding dimension is 3; expected an even number");
  EXPECT_TRUE(layer->setRotaryEmbeddingDim(4));
  layer->getOutput(0)->getDimensions();
  expectError("the caches have 4 and 4 columns; expected half of the 4 columns that are turned");
}

}  // namespace
}  // namespace tenon::api
