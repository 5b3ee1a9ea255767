// Every setter of every layer changes the engine, is refused, or is on the page of what changes nothing.
#include "effects.h"

namespace setters {
namespace {

nv::Dims all(int64_t extent) { return dims({extent, extent}); }

nv::IPoolingLayer* padded(Scene& s) {
  auto* layer = pooling(s);
  layer->setPaddingNd(all(1));
  return layer;
}
nv::IPoolingLayer* blended(Scene& s) {
  auto* layer = pooling(s);
  layer->setPoolingType(nv::PoolingType::kMAX_AVERAGE_BLEND);
  return layer;
}
nv::IResizeLayer* toOnePixel(Scene& s) {
  auto* layer = s.network->addResize(image(s));
  layer->setOutputDimensions(dims({1, 4, 1, 1}));
  return done(s, layer);
}
nv::IQuantizeLayer* quantizePerChannel(Scene& s) {
  auto& scales = *s.network->addConstant(dims({4}), Scene::floats(4))->getOutput(0);
  return done(s, s.network->addQuantize(s.input("x", {4, 4}), scales, nv::DataType::kINT8));
}
nv::IDequantizeLayer* dequantizePerChannel(Scene& s) {
  auto& scales = *s.network->addConstant(dims({4}), Scene::floats(4))->getOutput(0);
  return done(s, s.network->addDequantize(s.input("x", {4, 4}, nv::DataType::kINT8), scales, nv::DataType::kFLOAT));
}
nv::IScaleLayer* perChannel(Scene& s) {
  return done(s, s.network->addScaleNd(s.input("x", {4, 4, 6}), nv::ScaleMode::kCHANNEL, Scene::floats(4),
                                       Scene::floats(4), Scene::floats(4), 1));
}
nv::INormalizationLayer* plainNormalization(Scene& s) {
  auto* ones = s.network->addConstant(dims({1, 1, 1, 1}), Scene::floats(1));
  return done(s, s.network->addNormalization(image(s), *ones->getOutput(0), *ones->getOutput(0), 12));
}
nv::INormalizationLayer* channelNormalization(Scene& s) {
  auto* ones = s.network->addConstant(dims({1, 2, 1, 1}), Scene::floats(2));
  auto* layer = s.network->addNormalization(image(s), *ones->getOutput(0), *ones->getOutput(0), 12);
  layer->setNbGroups(2);
  return done(s, layer);
}
nv::IGatherLayer* pairs(Scene& s) {
  return done(s, s.network->addGather(s.input("x", {2, 2, 2}), s.input("i", {2, 2}, nv::DataType::kINT32), 1));
}
nv::IScatterLayer* scatterRows(Scene& s) {
  auto* where = s.network->addConstant(dims({1, 1, 1, 1}), {nv::DataType::kINT32, someFloats + 10, 1});
  auto& x = s.input("x", {2, 2, 2, 2});
  return done(s, s.network->addScatter(x, *where->getOutput(0), s.input("u", {1, 1, 1, 1}), nv::ScatterMode::kELEMENT));
}
nv::IConvolutionLayer* smallConvolution(Scene& s) {
  return done(s, s.network->addConvolutionNd(image(s), 4, dims({1, 1}), Scene::floats(16), {}));
}
nv::IDeconvolutionLayer* smallDeconvolution(Scene& s) {
  return done(s, s.network->addDeconvolutionNd(image(s), 4, dims({1, 1}), Scene::floats(16), {}));
}
nv::ISliceLayer* beyond(Scene& s) {
  auto* layer = s.network->addSlice(image(s), dims({0, 0, 1, 1}), dims({1, 4, 8, 8}), dims({1, 1, 1, 1}));
  layer->setMode(nv::SampleMode::kCLAMP);
  return done(s, layer);
}
nv::IFillLayer* longFill(Scene& s) {
  auto* layer = fill(s);
  layer->setToType(nv::DataType::kINT64);
  return layer;
}
nv::IMatrixMultiplyLayer* square(Scene& s) {
  auto& x = s.input("x", {4, 4});
  return done(s, s.network->addMatrixMultiply(x, nv::MatrixOperation::kNONE, x, nv::MatrixOperation::kNONE));
}
nv::ITopKLayer* largest(Scene& s) {
  auto* layer = topk(s);
  layer->getOutput(1)->setName("i");
  s.network->markOutput(*layer->getOutput(1));
  return layer;
}
nv::ILayer* layerWithPrecision(Scene& s) {
  auto* layer = unary(s);
  layer->setPrecision(nv::DataType::kHALF);
  return layer;
}

TEST(Effects, OfAnyLayer) {
  CHANGES(ILayer, setName, anyLayer, "another");
  CHANGES(ILayer, setMetadata, anyLayer, "from somewhere");
  CHANGES(ILayer, setOutputType, anyLayer, 0, nv::DataType::kINT32);
  REFUSED(ILayer, setNbRanks, anyLayer, "ILayer::setNbRanks is not supported yet", 2);
  IDLE(ILayer, setPrecision, anyLayer, "ILayer::setPrecision", nv::DataType::kFLOAT);
  REFUSED(ILayer, setPrecision, anyLayer, "fp16 precision has been set for a layer or layer output, but fp16 is not",
          nv::DataType::kHALF);
  REFUSED(ILayer, setOutputType, anyLayer, "bf16 precision has been set for a layer or layer output, but bf16 is not",
          0, nv::DataType::kBF16);
  SEEN(ILayer, resetPrecision);
  EXPECT_EQ(after(&nv::ILayer::resetPrecision, &layerWithPrecision).warnings, std::vector<std::string>{});
  SEEN(ILayer, resetOutputType);
  const auto plain = after(&nv::ILayer::resetOutputType, &anyLayer, 0).plan;
  Scene scene;
  auto* layer = anyLayer(scene);
  layer->setOutputType(0, nv::DataType::kHALF);
  layer->resetOutputType(0);
  EXPECT_EQ(outcomeOf(scene).plan, plain);
  SEEN(ILayer, setInput);
  Scene twice;
  auto* sum = elementwise(twice);
  auto& other = twice.input("other", {1, 4, 6, 6});
  sum->setInput(1, other);
  const auto changed = outcomeOf(twice).plan;
  EXPECT_NE(changed.find("other"), std::string::npos);
}

TEST(Effects, OfConvolution) {
  REFUSED(IConvolutionLayer, setNbOutputMaps, smallConvolution, "count is 16; expected 8", 2);
  REFUSED(IConvolutionLayer, setNbGroups, smallConvolution, "count is 16; expected 8", 2);
  CHANGES(IConvolutionLayer, setKernelWeights, convolution, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 144});
  CHANGES(IConvolutionLayer, setBiasWeights, convolution, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 4});
  CHANGES(IConvolutionLayer, setPrePadding, convolution, all(1));
  CHANGES(IConvolutionLayer, setPostPadding, convolution, all(1));
  CHANGES(IConvolutionLayer, setPaddingMode, convolution, nv::PaddingMode::kSAME_UPPER);
  REFUSED(IConvolutionLayer, setKernelSizeNd, smallConvolution, "count is 16; expected 64", all(2));
  CHANGES(IConvolutionLayer, setStrideNd, convolution, all(2));
  CHANGES(IConvolutionLayer, setPaddingNd, convolution, all(1));
  CHANGES(IConvolutionLayer, setDilationNd, convolution, all(2));
  REFUSED(IDeconvolutionLayer, setNbOutputMaps, smallDeconvolution, "count is 16; expected 8", 2);
  REFUSED(IDeconvolutionLayer, setNbGroups, smallDeconvolution, "count is 16; expected 8", 2);
  CHANGES(IDeconvolutionLayer, setKernelWeights, deconvolution, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 144});
  CHANGES(IDeconvolutionLayer, setBiasWeights, deconvolution, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 4});
  CHANGES(IDeconvolutionLayer, setPrePadding, deconvolution, all(1));
  CHANGES(IDeconvolutionLayer, setPostPadding, deconvolution, all(1));
  CHANGES(IDeconvolutionLayer, setPaddingMode, deconvolution, nv::PaddingMode::kSAME_UPPER);
  REFUSED(IDeconvolutionLayer, setKernelSizeNd, smallDeconvolution, "count is 16; expected 64", all(2));
  CHANGES(IDeconvolutionLayer, setStrideNd, deconvolution, all(2));
  CHANGES(IDeconvolutionLayer, setPaddingNd, deconvolution, all(1));
  CHANGES(IDeconvolutionLayer, setDilationNd, deconvolution, all(2));
}

TEST(Effects, OfWindows) {
  CHANGES(IPoolingLayer, setPoolingType, pooling, nv::PoolingType::kMAX);
  CHANGES(IPoolingLayer, setBlendFactor, blended, 0.5F);
  CHANGES(IPoolingLayer, setAverageCountExcludesPadding, padded, false);
  CHANGES(IPoolingLayer, setPrePadding, pooling, all(1));
  CHANGES(IPoolingLayer, setPostPadding, pooling, all(1));
  CHANGES(IPoolingLayer, setPaddingMode, pooling, nv::PaddingMode::kSAME_UPPER);
  CHANGES(IPoolingLayer, setWindowSizeNd, pooling, all(3));
  CHANGES(IPoolingLayer, setStrideNd, pooling, all(2));
  CHANGES(IPoolingLayer, setPaddingNd, pooling, all(1));
  CHANGES(IPaddingLayer, setPrePaddingNd, padding, all(2));
  CHANGES(IPaddingLayer, setPostPaddingNd, padding, all(2));
  CHANGES(ILRNLayer, setWindowSize, lrn, 5);
  CHANGES(ILRNLayer, setAlpha, lrn, 0.5F);
  CHANGES(ILRNLayer, setBeta, lrn, 0.5F);
  CHANGES(ILRNLayer, setK, lrn, 2.F);
}

TEST(Effects, OfResize) {
  CHANGES(IResizeLayer, setOutputDimensions, resize, dims({1, 4, 2, 2}));
  SEEN(IResizeLayer, setScales);
  const float scales[] = {1, 1, 2, 2};
  EXPECT_NE(after(&nv::IResizeLayer::setScales, &resize, scales, 4).plan,
            after(&nv::IResizeLayer::setScales, &resize, scales, 0).plan);
  CHANGES(IResizeLayer, setResizeMode, resize, nv::InterpolationMode::kLINEAR);
  CHANGES(IResizeLayer, setCoordinateTransformation, resize, nv::ResizeCoordinateTransformation::kALIGN_CORNERS);
  CHANGES(IResizeLayer, setSelectorForSinglePixel, toOnePixel, nv::ResizeSelector::kUPPER);
  CHANGES(IResizeLayer, setNearestRounding, resize, nv::ResizeRoundMode::kCEIL);
  CHANGES(IResizeLayer, setCubicCoeff, cubic, -0.5F);
  CHANGES(IResizeLayer, setExcludeOutside, cubic, true);
}

TEST(Effects, OfSlicesAndShuffles) {
  CHANGES(ISliceLayer, setStart, slice, dims({0, 0, 2, 2}));
  CHANGES(ISliceLayer, setSize, slice, dims({1, 2, 2, 2}));
  CHANGES(ISliceLayer, setStride, slice, dims({1, 1, 1, 1}));
  CHANGES(ISliceLayer, setMode, beyond, nv::SampleMode::kREFLECT);
  SEEN(ISliceLayer, setAxes);
  Scene scene;
  auto* layer = done(scene, scene.network->addSlice(image(scene), dims({1, 1}), dims({2, 2}), dims({1, 1})));
  layer->setAxes(dims({2, 3}));
  EXPECT_FALSE(outcomeOf(scene).plan.empty());
  CHANGES(IShuffleLayer, setFirstTranspose, shuffle, nv::Permutation{{0, 2, 1, 3}});
  CHANGES(IShuffleLayer, setReshapeDimensions, shuffle, dims({4, 36}));
  CHANGES(IShuffleLayer, setSecondTranspose, shuffle, nv::Permutation{{0, 2, 1, 3}});
  SEEN(IShuffleLayer, setZeroIsPlaceholder);
  const auto reshaped = [](bool zeroCopies) {
    Scene s;
    auto* to = shuffle(s);
    to->setReshapeDimensions(dims({0, 4, 36}));
    to->setZeroIsPlaceholder(zeroCopies);
    return outcomeOf(s).plan.empty();
  };
  EXPECT_FALSE(reshaped(true));
  EXPECT_TRUE(reshaped(false));
}

TEST(Effects, OfLayersThatReduce) {
  CHANGES(ISoftMaxLayer, setAxes, softmax, 8U);
  CHANGES(IReduceLayer, setOperation, reduce, nv::ReduceOperation::kMAX);
  CHANGES(IReduceLayer, setReduceAxes, reduce, 8U);
  CHANGES(IReduceLayer, setKeepDimensions, reduce, false);
  CHANGES(ITopKLayer, setOperation, topk, nv::TopKOperation::kMIN);
  CHANGES(ITopKLayer, setK, topk, 3);
  CHANGES(ITopKLayer, setReduceAxes, topk, 8U);
  CHANGES(ITopKLayer, setIndicesType, largest, nv::DataType::kINT64);
  CHANGES(INormalizationLayer, setEpsilon, normalization, 0.5F);
  CHANGES(INormalizationLayer, setAxes, plainNormalization, 8U);
  SEEN(INormalizationLayer, setNbGroups);
  EXPECT_FALSE(after(&nv::INormalizationLayer::setNbGroups, &channelNormalization, 2).plan.empty());
  EXPECT_TRUE(after(&nv::INormalizationLayer::setNbGroups, &channelNormalization, 3).plan.empty());
  IDLE(INormalizationLayer, setComputePrecision, normalization, "INormalizationLayer::setComputePrecision",
       nv::DataType::kHALF);
  SEEN(ICumulativeLayer, setOperation);  // there is one operation
  REFUSED(ICumulativeLayer, setOperation, cumulative, "operation", static_cast<nv::CumulativeOperation>(1));
  CHANGES(ICumulativeLayer, setExclusive, cumulative, true);
  CHANGES(ICumulativeLayer, setReverse, cumulative, true);
  CHANGES(IIteratorLayer, setAxis, iterator, 3);
  CHANGES(IIteratorLayer, setReverse, iterator, true);
  CHANGES(ILoopOutputLayer, setAxis, loopOutput, 2);
  CHANGES(IMatrixMultiplyLayer, setOperation, square, 0, nv::MatrixOperation::kTRANSPOSE);
}

TEST(Effects, OfPointwiseLayers) {
  CHANGES(IActivationLayer, setActivationType, activation, nv::ActivationType::kTANH);
  CHANGES(IActivationLayer, setAlpha, activation, -2.F);
  CHANGES(IActivationLayer, setBeta, activation, 2.F);
  CHANGES(IUnaryLayer, setOperation, unary, nv::UnaryOperation::kNEG);
  CHANGES(ICastLayer, setToType, cast, nv::DataType::kINT64);
  CHANGES(IElementWiseLayer, setOperation, elementwise, nv::ElementWiseOperation::kPROD);
  CHANGES(IScaleLayer, setShift, scale, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 4});
  CHANGES(IScaleLayer, setScale, scale, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 4});
  CHANGES(IScaleLayer, setPower, scale, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 4});
  CHANGES(IScaleLayer, setChannelAxis, perChannel, 0);
  REFUSED(IScaleLayer, setMode, scale, "expected 1 for", nv::ScaleMode::kUNIFORM);
  CHANGES(IQuantizeLayer, setToType, quantize, nv::DataType::kFP8);
  CHANGES(IDequantizeLayer, setToType, dequantize, nv::DataType::kHALF);
  SEEN(IQuantizeLayer, setAxis);
  EXPECT_NE(after(&nv::IQuantizeLayer::setAxis, &quantizePerChannel, 0).plan,
            after(&nv::IQuantizeLayer::setAxis, &quantizePerChannel, 1).plan);
  SEEN(IDequantizeLayer, setAxis);
  EXPECT_NE(after(&nv::IDequantizeLayer::setAxis, &dequantizePerChannel, 0).plan,
            after(&nv::IDequantizeLayer::setAxis, &dequantizePerChannel, 1).plan);
  // It repeats what the extents of the scale say.
  REFUSED(IQuantizeLayer, setBlockShape, quantize, "different numbers of dimensions", dims({2, 2}));
  REFUSED(IDequantizeLayer, setBlockShape, dequantize, "different numbers of dimensions", dims({2, 2}));
}

TEST(Effects, OfLayersThatMakeAndMoveData) {
  CHANGES(IConcatenationLayer, setAxis, concatenation, 2);
  CHANGES(IConstantLayer, setWeights, constant, nv::Weights{nv::DataType::kFLOAT, someFloats + 1, 6});
  CHANGES(IConstantLayer, setDimensions, constant, dims({3, 2}));
  CHANGES(IFillLayer, setDimensions, fill, dims({7}));
  CHANGES(IFillLayer, setOperation, fill, nv::FillOperation::kRANDOM_UNIFORM);
  CHANGES(IFillLayer, setAlpha, fill, 3.0);
  CHANGES(IFillLayer, setBeta, fill, 3.0);
  CHANGES(IFillLayer, setAlphaInt64, longFill, int64_t{1} << 60);
  CHANGES(IFillLayer, setBetaInt64, longFill, int64_t{5});
  CHANGES(IFillLayer, setToType, fill, nv::DataType::kINT32);
  CHANGES(IGatherLayer, setGatherAxis, gather, 2);
  CHANGES(IGatherLayer, setNbElementWiseDims, pairs, 1);
  CHANGES(IGatherLayer, setMode, pairs, nv::GatherMode::kND);
  CHANGES(IScatterLayer, setAxis, scatterRows, 1);
  REFUSED(IScatterLayer, setMode, scatter, "axes", nv::ScatterMode::kND);
}

}  // namespace
}  // namespace setters
