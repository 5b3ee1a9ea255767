// Every layer type: extents after each call, setters in any order, and the operators that it becomes.
#include "fixture.h"

namespace tenon::api {
namespace {

using Extents = std::vector<int64_t>;
using nv::ActivationType;
using nv::DataType;
using nv::ElementWiseOperation;
using nv::MatrixOperation;

class Layers : public NetworkTest {};

TEST_F(Layers, ConvolutionFollowsItsSettersInAnyOrder) {
  auto& x = input("x", {1, 3, 11, 13});
  auto* layer = network->addConvolutionNd(x, 4, dims({3, 5}), floats(4 * 3 * 15), floats(4));
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 4, 9, 9}));
  layer->setStrideNd(dims({2, 3}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 4, 5, 3}));
  layer->setPaddingNd(dims({1, 2}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 4, 6, 5}));
  layer->setPaddingMode(nv::PaddingMode::kEXPLICIT_ROUND_UP);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 4, 6, 5}));
  layer->setPaddingMode(nv::PaddingMode::kSAME_UPPER);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 4, 6, 5}));
  layer->setPaddingMode(nv::PaddingMode::kEXPLICIT_ROUND_DOWN);
  layer->setDilationNd(dims({2, 2}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 4, 5, 3}));
  EXPECT_TRUE(layer->getPaddingNd() == (Extents{1, 2}));
  EXPECT_EQ(operators(layer->getOutput(0)),
            "convolution{strides=[2,3] dilations=[2,2] prePadding=[1,2] postPadding=[1,2] hasBias=true}");
}

TEST_F(Layers, ConvolutionRoundsUpByPaddingBehind) {
  auto& x = input("x", {1, 1, 8, 8});
  auto* layer = network->addConvolutionNd(x, 1, dims({3, 3}), floats(9), nv::Weights{});
  layer->setStrideNd(dims({2, 2}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 1, 3, 3}));
  layer->setPaddingMode(nv::PaddingMode::kEXPLICIT_ROUND_UP);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 1, 4, 4}));
  layer->setPaddingMode(nv::PaddingMode::kSAME_LOWER);
  EXPECT_EQ(operators(layer->getOutput(0)), "convolution{strides=[2,2] prePadding=[1,1]}");
}

TEST_F(Layers, ConvolutionTakesKernelAndBiasAsTensors) {
  auto& x = input("x", {2, 4, 6, 6});
  auto& w = input("w", {8, 2, 3, 3});
  auto& b = input("b", {8});
  auto* layer = network->addConvolutionNd(x, 8, dims({3, 3}), nv::Weights{}, nv::Weights{});
  layer->setInput(1, w);
  layer->setInput(2, b);
  layer->setNbGroups(2);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 8, 4, 4}));
  EXPECT_EQ(operators(layer->getOutput(0)), "convolution{groups=2 hasBias=true}");
}

TEST_F(Layers, ConvolutionRefusesWeightsOfAnotherSize) {
  auto& x = input("x", {1, 3, 5, 5});
  auto* layer = network->addConvolutionNd(x, 2, dims({3, 3}), floats(10), nv::Weights{});
  ASSERT_NE(layer, nullptr);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  expectError("count is 10; expected 54");
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);  // said once
  layer->setKernelWeights(floats(54));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 2, 3, 3}));
}

TEST_F(Layers, Deconvolution) {
  auto& x = input("x", {1, 4, 5, 7});
  auto* layer = network->addDeconvolutionNd(x, 6, dims({3, 3}), floats(4 * 6 * 9), nv::Weights{});
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 6, 7, 9}));
  layer->setStrideNd(dims({2, 2}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 6, 11, 15}));
  layer->setPrePadding(dims({1, 1}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 6, 10, 14}));
  layer->setPaddingMode(nv::PaddingMode::kSAME_UPPER);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 6, 10, 14}));
  EXPECT_EQ(operators(layer->getOutput(0)), "deconvolution{strides=[2,2] postPadding=[1,1]}");
}

TEST_F(Layers, Pooling) {
  auto& x = input("x", {1, 2, 7, 8});
  auto* layer = network->addPoolingNd(x, nv::PoolingType::kMAX, dims({3, 3}));
  layer->setStrideNd(dims({2, 2}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 2, 3, 3}));
  layer->setPaddingMode(nv::PaddingMode::kEXPLICIT_ROUND_UP);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 2, 3, 4}));
  layer->setPoolingType(nv::PoolingType::kAVERAGE);
  layer->setAverageCountExcludesPadding(false);
  EXPECT_EQ(operators(layer->getOutput(0)),
            "pooling{type=average window=[3,3] strides=[2,2] exclusive=false ceilMode=true}");
}

TEST_F(Layers, ActivationsCarryTheirNumbers) {
  auto& x = input("x", {3});
  auto* layer = network->addActivation(x, ActivationType::kCLIP);
  layer->setBeta(6);
  layer->setAlpha(-1);
  EXPECT_EQ(operators(layer->getOutput(0)), R"#(pointwise{expr="clip(x0,-1,6)"})#");
  EXPECT_EQ(layer->getAlpha(), -1);
}

TEST_F(Layers, ScaledTanhIsThreeSteps) {
  auto* layer = network->addActivation(input("x", {3}), ActivationType::kSCALED_TANH);
  layer->setAlpha(2);
  layer->setBeta(0.5F);
  EXPECT_EQ(operators(layer->getOutput(0)), R"#(pointwise{expr="mul(x0,0.5);tanh(t0);mul(t1,2)"})#");
}

TEST_F(Layers, EveryActivationBecomesAnExpression) {
  auto& x = input("x", {3});
  for (int32_t i = 0; i < nv::EnumMax<ActivationType>(); ++i) {
    auto* layer = network->addActivation(x, static_cast<ActivationType>(i));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(extents(layer->getOutput(0)), Extents{3}) << i;
  }
  EXPECT_EQ(network->addActivation(x, static_cast<ActivationType>(99)), nullptr);
  expectError("activation type 99 is out of range");
  EXPECT_EQ(network->getNbLayers(), nv::EnumMax<ActivationType>());
}

TEST_F(Layers, EveryElementWiseOperation) {
  auto& a = input("a", {2, 1, 3});
  auto& b = input("b", {1, 4, 3});
  auto& p = input("p", {2}, DataType::kBOOL);
  for (int32_t i = 0; i < nv::EnumMax<ElementWiseOperation>(); ++i) {
    const auto op = static_cast<ElementWiseOperation>(i);
    const bool logical =
        op == ElementWiseOperation::kAND || op == ElementWiseOperation::kOR || op == ElementWiseOperation::kXOR;
    auto* layer = logical ? network->addElementWise(p, p, op) : network->addElementWise(a, b, op);
    EXPECT_EQ(extents(layer->getOutput(0)), (logical ? Extents{2} : Extents{2, 4, 3})) << i;
    const bool comparison = i >= static_cast<int32_t>(ElementWiseOperation::kAND);
    EXPECT_EQ(layer->getOutput(0)->getType(), comparison ? DataType::kBOOL : DataType::kFLOAT) << i;
  }
}

TEST_F(Layers, ElementWiseNeedsEqualRanks) {
  auto* layer = network->addElementWise(input("a", {2, 3}), input("b", {3}), ElementWiseOperation::kSUM);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  expectError("different numbers of dimensions");
}

TEST_F(Layers, EveryUnaryOperation) {
  auto& x = input("x", {5});
  auto& p = input("p", {5}, DataType::kBOOL);
  for (int32_t i = 0; i < nv::EnumMax<nv::UnaryOperation>(); ++i) {
    const auto op = static_cast<nv::UnaryOperation>(i);
    auto* layer = network->addUnary(op == nv::UnaryOperation::kNOT ? p : x, op);
    EXPECT_EQ(extents(layer->getOutput(0)), Extents{5}) << i;
  }
}

TEST_F(Layers, ScaleByModes) {
  auto& x = input("x", {2, 3, 4, 5});
  auto* channel = network->addScale(x, nv::ScaleMode::kCHANNEL, floats(3), floats(3), nv::Weights{});
  EXPECT_EQ(extents(channel->getOutput(0)), (Extents{2, 3, 4, 5}));
  auto* element = network->addScale(x, nv::ScaleMode::kELEMENTWISE, floats(60), nv::Weights{}, floats(60));
  EXPECT_EQ(extents(element->getOutput(0)), (Extents{2, 3, 4, 5}));
  auto* uniform = network->addScaleNd(x, nv::ScaleMode::kUNIFORM, nv::Weights{}, floats(1), nv::Weights{}, 0);
  EXPECT_EQ(operators(uniform->getOutput(0)), R"#(pointwise{expr="mul(x0,x1)"})#");
}

TEST_F(Layers, MatrixMultiply) {
  auto& a = input("a", {5, 2, 3});
  auto& b = input("b", {1, 4, 3});
  auto* layer = network->addMatrixMultiply(a, MatrixOperation::kNONE, b, MatrixOperation::kTRANSPOSE);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{5, 2, 4}));
  auto& v = input("v", {5, 3});
  auto* vector = network->addMatrixMultiply(a, MatrixOperation::kNONE, v, MatrixOperation::kVECTOR);
  EXPECT_EQ(extents(vector->getOutput(0)), (Extents{5, 2}));
  auto* dot = network->addMatrixMultiply(v, MatrixOperation::kVECTOR, v, MatrixOperation::kVECTOR);
  EXPECT_EQ(extents(dot->getOutput(0)), (Extents{5}));
  EXPECT_EQ(operators(layer->getOutput(0)), "matmul{transposeB=true}");
}

TEST_F(Layers, SoftMaxAxisDefaultsToTheThirdFromTheEnd) {
  auto* layer = network->addSoftMax(input("x", {2, 3, 4, 5}));
  EXPECT_EQ(layer->getAxes(), 2U);
  auto* flat = network->addSoftMax(input("z", {2, 7}));
  EXPECT_EQ(flat->getAxes(), 1U);
  flat->setAxes(3);
  EXPECT_EQ(flat->getOutput(0)->getDimensions().nbDims, -1);
  expectError("exactly one of the");
  EXPECT_EQ(operators(layer->getOutput(0)), "softmax{axis=1}");
}

TEST_F(Layers, Concatenation) {
  nv::ITensor* tensors[] = {&input("a", {2, 3, 4, 5}), &input("b", {2, 6, 4, 5})};
  auto* layer = network->addConcatenation(tensors, 2);
  EXPECT_EQ(layer->getAxis(), 1);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 9, 4, 5}));
  layer->setAxis(0);
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  log.errors.clear();
  EXPECT_EQ(network->addConcatenation(nullptr, 2), nullptr);
  expectError("at least one input");
  layer->setAxis(1);
  EXPECT_EQ(operators(layer->getOutput(0)), "concat{axis=1}");
}

TEST_F(Layers, ShuffleResolvesCopiesAndTheRest) {
  auto& x = input("x", {2, 3, 4});
  auto* layer = network->addShuffle(x);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 3, 4}));
  layer->setReshapeDimensions(dims({0, -1}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 12}));
  layer->setFirstTranspose(nv::Permutation{{2, 0, 1}});
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{4, 6}));
  layer->setSecondTranspose(nv::Permutation{{1, 0}});
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{6, 4}));
  layer->setReshapeDimensions(dims({5, -1}));
  EXPECT_EQ(layer->getOutput(0)->getDimensions().nbDims, -1);
  expectError("cannot be reshaped");
  layer->setReshapeDimensions(dims({8, 3}));
  EXPECT_EQ(operators(layer->getOutput(0)),
            "transpose{permutation=[2,0,1]}\nreshape{shape=[8,3]}\ntranspose{permutation=[1,0]}");
}

TEST_F(Layers, ShuffleFollowsDynamicExtents) {
  auto& x = input("x", {-1, 3, 4});
  auto* layer = network->addShuffle(x);
  layer->setReshapeDimensions(dims({-1, 12}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{-1, 12}));
  EXPECT_EQ(operators(layer->getOutput(0)), "reshape{shape=[x.0,12]}");
}

TEST_F(Layers, ShuffleByATensor) {
  auto& x = input("x", {-1, 6});
  auto& like = input("like", {3, -1});
  auto* layer = network->addShuffle(x);
  layer->setInput(1, *network->addShape(like)->getOutput(0));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{3, -1}));
}

TEST_F(Layers, SliceWithAxesAndTensors) {
  auto& x = input("x", {10, 20});
  auto* layer = network->addSlice(x, dims({1, 2}), dims({3, 4}), dims({2, 3}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{3, 4}));
  layer->setInput(2, ints({5, 6}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{5, 6}));
  auto* partial = network->addSlice(x, dims({3}), dims({5}), dims({1}));
  partial->setAxes(dims({-1}));
  EXPECT_EQ(operators(partial->getOutput(0)), "slice{start=[0,3] size=[10,5]}");
}

TEST_F(Layers, PaddingBecomesASlice) {
  auto* layer = network->addPaddingNd(input("x", {1, 2, 5, 6}), dims({1, -1}), dims({2, 0}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 2, 8, 5}));
  EXPECT_EQ(operators(layer->getOutput(0)), "slice{start=[0,0,-1,1] size=[1,2,8,5] mode=fill}");
}

TEST_F(Layers, ReduceAndTopK) {
  auto& x = input("x", {2, 3, 4});
  auto* reduce = network->addReduce(x, nv::ReduceOperation::kAVG, 6, true);
  EXPECT_EQ(extents(reduce->getOutput(0)), (Extents{2, 1, 1}));
  reduce->setKeepDimensions(false);
  EXPECT_EQ(extents(reduce->getOutput(0)), (Extents{2}));
  auto* top = network->addTopK(x, nv::TopKOperation::kMAX, 2, 4);
  ASSERT_EQ(top->getNbOutputs(), 2);
  EXPECT_EQ(extents(top->getOutput(1)), (Extents{2, 3, 2}));
  EXPECT_EQ(top->getOutput(1)->getType(), DataType::kINT32);
  EXPECT_TRUE(top->setIndicesType(DataType::kINT64));
  EXPECT_EQ(top->getOutput(1)->getType(), DataType::kINT64);
  EXPECT_EQ(operators(reduce->getOutput(0)), "reduce{op=avg axes=[1,2]}");
}

TEST_F(Layers, Gather) {
  auto& x = input("x", {2, 5, 4});
  auto* layer = network->addGather(x, input("i", {3, 3}, DataType::kINT32), 1);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2, 3, 3, 4}));
  auto* nd = network->addGatherV2(x, input("j", {7, 2}, DataType::kINT32), nv::GatherMode::kND);
  EXPECT_EQ(extents(nd->getOutput(0)), (Extents{7, 4}));
  EXPECT_EQ(operators(layer->getOutput(0)), "gather{axis=1}");
}

TEST_F(Layers, ShapeIsInt64) {
  auto* layer = network->addShape(input("x", {-1, 7}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{2}));
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kINT64);
}

TEST_F(Layers, SqueezeAndUnsqueeze) {
  auto& x = input("x", {2, 1, 3});
  auto* squeeze = network->addSqueeze(x, ints({-2}));
  EXPECT_EQ(extents(squeeze->getOutput(0)), (Extents{2, 3}));
  auto* unsqueeze = network->addUnsqueeze(x, ints({0, -1}));
  EXPECT_EQ(extents(unsqueeze->getOutput(0)), (Extents{1, 2, 1, 3, 1}));
  EXPECT_EQ(operators(squeeze->getOutput(0)), "reshape{shape=[2,3]}");
}

TEST_F(Layers, ResizeByScalesAndSizes) {
  auto* layer = network->addResize(input("x", {1, 2, 5, 6}));
  layer->setOutputDimensions(dims({1, 2, 10, 3}));
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 2, 10, 3}));
  const float scales[] = {1, 1, 1.5F, 2};
  layer->setScales(scales, 4);
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{1, 2, 7, 12}));
  EXPECT_EQ(layer->getScales(0, nullptr), 4);
  auto* dynamic = network->addResize(input("z", {1, 2, -1, 6}));
  dynamic->setScales(scales, 4);
  dynamic->setResizeMode(nv::InterpolationMode::kLINEAR);
  EXPECT_EQ(operators(dynamic->getOutput(0)),
            "resize{mode=linear shape=[1,2,floordiv(3*z.2,2),12] scales=[1,1,1.5,2]}");
}

TEST_F(Layers, FillIsLinear) {
  auto* layer = network->addFillV2(dims({4}), nv::FillOperation::kLINSPACE, DataType::kINT64);
  layer->setAlphaInt64(3);
  layer->setBetaInt64(-2);
  EXPECT_TRUE(layer->isAlphaBetaInt64());
  EXPECT_EQ(extents(layer->getOutput(0)), (Extents{4}));
  EXPECT_EQ(layer->getOutput(0)->getType(), DataType::kINT64);
  EXPECT_EQ(operators(layer->getOutput(0)), "fill{shape=[4] type=i64 start=3 deltas=[-2]}");
}

TEST_F(Layers, QuantizeAndBack) {
  auto& x = input("x", {2, 3});
  auto& scale = *network->addConstant(dims({}), floats(1))->getOutput(0);
  auto* quantize = network->addQuantize(x, scale);
  EXPECT_EQ(quantize->getOutput(0)->getType(), DataType::kINT8);
  auto* back = network->addDequantize(*quantize->getOutput(0), scale);
  EXPECT_EQ(back->getOutput(0)->getType(), DataType::kFLOAT);
  EXPECT_EQ(operators(back->getOutput(0)), "quantize\ndequantize");
}

TEST_F(Layers, Normalization) {
  auto& x = input("x", {2, 6, 4, 4});
  auto& scale = input("s", {1, 6, 1, 1});
  auto* layer = network->addNormalization(x, scale, scale, 12);
  EXPECT_FALSE(layer->isV2());
  EXPECT_TRUE(network->addNormalizationV2(x, scale, scale, 12)->isV2());
  layer->setEpsilon(0.5F);
  EXPECT_EQ(operators(layer->getOutput(0)), "normalization{axes=[2,3] epsilon=0.5}");
}

TEST_F(Layers, SmallOnes) {
  auto& x = input("x", {2, 3});
  EXPECT_EQ(extents(network->addLRN(input("z", {1, 5, 2, 2}), 3, 0.1F, 0.5F, 2)->getOutput(0)), (Extents{1, 5, 2, 2}));
  EXPECT_EQ(extents(network->addParametricReLU(x, input("slope", {1, 3}))->getOutput(0)), (Extents{2, 3}));
  EXPECT_EQ(extents(network->addIdentity(x)->getOutput(0)), (Extents{2, 3}));
  auto& condition = input("c", {2, 1}, DataType::kBOOL);
  EXPECT_EQ(extents(network->addSelect(condition, x, x)->getOutput(0)), (Extents{2, 3}));
  auto* cast = network->addCast(x, DataType::kHALF);
  EXPECT_EQ(cast->getOutput(0)->getType(), DataType::kHALF);
  EXPECT_EQ(operators(cast->getOutput(0)), R"#(pointwise{expr="cast.f16(x0)"})#");
}

}  // namespace
}  // namespace tenon::api
