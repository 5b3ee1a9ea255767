// Every setter of every layer with 0, -1, huge and null values, and then a build: a plan or an error, never a crash.
#include "setters.h"

namespace setters {
namespace {

#define WALK(Class, setter, make) walk<nv::Class>(#Class "::" #setter, &nv::Class::setter, make)

template <typename Layer>
Layer* done(Scene& scene, Layer* layer) {
  if (layer != nullptr) scene.output(*layer);
  return layer;
}

nv::ITensor& image(Scene& s) { return s.input("x", {1, 4, 6, 6}); }

nv::IConvolutionLayer* convolution(Scene& s) {
  return done(s, s.network->addConvolutionNd(image(s), 4, dims({3, 3}), Scene::floats(144), Scene::floats(4)));
}
nv::IDeconvolutionLayer* deconvolution(Scene& s) {
  return done(s, s.network->addDeconvolutionNd(image(s), 4, dims({3, 3}), Scene::floats(144), Scene::floats(4)));
}
nv::IPoolingLayer* pooling(Scene& s) {
  return done(s, s.network->addPoolingNd(image(s), nv::PoolingType::kAVERAGE, dims({2, 2})));
}
nv::IPaddingLayer* padding(Scene& s) { return done(s, s.network->addPaddingNd(image(s), dims({1, 1}), dims({0, 1}))); }
nv::ILRNLayer* lrn(Scene& s) { return done(s, s.network->addLRN(image(s), 3, 1, 0.75F, 1)); }
nv::IResizeLayer* resize(Scene& s) {
  auto* layer = s.network->addResize(image(s));
  layer->setOutputDimensions(dims({1, 4, 3, 9}));
  return done(s, layer);
}
nv::IResizeLayer* cubic(Scene& s) {
  auto* layer = resize(s);
  layer->setResizeMode(nv::InterpolationMode::kCUBIC);
  return layer;
}
nv::IScaleLayer* scale(Scene& s) {
  return done(
      s, s.network->addScale(image(s), nv::ScaleMode::kCHANNEL, Scene::floats(4), Scene::floats(4), Scene::floats(4)));
}
nv::ISliceLayer* slice(Scene& s) {
  return done(s, s.network->addSlice(image(s), dims({0, 0, 1, 1}), dims({1, 4, 2, 2}), dims({1, 1, 2, 2})));
}
nv::ISliceLayer* clampedSlice(Scene& s) {
  auto* layer = slice(s);
  layer->setMode(nv::SampleMode::kCLAMP);
  return layer;
}
nv::IShuffleLayer* shuffle(Scene& s) { return done(s, s.network->addShuffle(image(s))); }
nv::ISoftMaxLayer* softmax(Scene& s) { return done(s, s.network->addSoftMax(image(s))); }
nv::IReduceLayer* reduce(Scene& s) {
  return done(s, s.network->addReduce(image(s), nv::ReduceOperation::kSUM, 4, true));
}
nv::ITopKLayer* topk(Scene& s) { return done(s, s.network->addTopK(image(s), nv::TopKOperation::kMAX, 2, 4)); }
nv::IActivationLayer* activation(Scene& s) {
  return done(s, s.network->addActivation(image(s), nv::ActivationType::kCLIP));
}
nv::IUnaryLayer* unary(Scene& s) { return done(s, s.network->addUnary(image(s), nv::UnaryOperation::kABS)); }
nv::ILayer* anyLayer(Scene& s) { return unary(s); }
nv::ICastLayer* cast(Scene& s) { return done(s, s.network->addCast(image(s), nv::DataType::kINT32)); }
nv::IElementWiseLayer* elementwise(Scene& s) {
  auto& x = image(s);
  return done(s, s.network->addElementWise(x, x, nv::ElementWiseOperation::kSUM));
}
nv::IConcatenationLayer* concatenation(Scene& s) {
  nv::ITensor* parts[] = {&image(s), s.network->getInput(0)};
  return done(s, s.network->addConcatenation(parts, 2));
}
nv::IConstantLayer* constant(Scene& s) { return done(s, s.network->addConstant(dims({2, 3}), Scene::floats(6))); }
nv::ICumulativeLayer* cumulative(Scene& s) {
  static int64_t axis = 1;
  auto* where = s.network->addConstant(dims({}), {nv::DataType::kINT64, &axis, 1});
  return done(s, s.network->addCumulative(image(s), *where->getOutput(0), nv::CumulativeOperation::kSUM, false, false));
}
nv::IFillLayer* fill(Scene& s) {
  auto* layer = s.network->addFill(dims({6}), nv::FillOperation::kLINSPACE, nv::DataType::kFLOAT);
  layer->setAlpha(1);
  layer->setBeta(2);
  return done(s, layer);
}
nv::IGatherLayer* gather(Scene& s) { return done(s, s.network->addGather(image(s), s.ints({1, 0}), 1)); }
nv::IMatrixMultiplyLayer* product(Scene& s) {
  auto& x = image(s);
  return done(s, s.network->addMatrixMultiply(x, nv::MatrixOperation::kNONE, x, nv::MatrixOperation::kTRANSPOSE));
}
nv::INormalizationLayer* normalization(Scene& s) {
  auto* ones = s.network->addConstant(dims({1, 4, 1, 1}), Scene::floats(4));
  return done(s, s.network->addNormalization(image(s), *ones->getOutput(0), *ones->getOutput(0), 12));
}
nv::ITensor& oneScale(Scene& s) { return *s.network->addConstant(dims({}), Scene::floats(1))->getOutput(0); }
nv::IQuantizeLayer* quantize(Scene& s) {
  return done(s, s.network->addQuantize(image(s), oneScale(s), nv::DataType::kINT8));
}
nv::IDequantizeLayer* dequantize(Scene& s) {
  auto* layer = s.network->addQuantize(image(s), oneScale(s), nv::DataType::kINT8);
  return done(s, s.network->addDequantize(*layer->getOutput(0), oneScale(s), nv::DataType::kFLOAT));
}
nv::IScatterLayer* scatter(Scene& s) {
  static std::vector<int64_t> zeros(144, 0);
  auto* where = s.network->addConstant(dims({1, 4, 6, 6}), {nv::DataType::kINT64, zeros.data(), 144});
  auto& x = image(s);
  return done(s, s.network->addScatter(x, *where->getOutput(0), x, nv::ScatterMode::kELEMENT));
}

TEST(Setters, OfAnyLayer) {
  WALK(ILayer, setName, anyLayer);
  WALK(ILayer, setMetadata, anyLayer);
  WALK(ILayer, setPrecision, anyLayer);
  WALK(ILayer, setOutputType, anyLayer);
  WALK(ILayer, resetOutputType, anyLayer);
  WALK(ILayer, setNbRanks, anyLayer);
  eachValue<int32_t>("ILayer::setInput", [](int32_t index) {
    Scene scene;
    anyLayer(scene)->setInput(index, *scene.network->getInput(0));
    return build(scene);
  });
}

TEST(Setters, OfConvolution) {
  WALK(IConvolutionLayer, setNbOutputMaps, convolution);
  WALK(IConvolutionLayer, setNbGroups, convolution);
  WALK(IConvolutionLayer, setKernelWeights, convolution);
  WALK(IConvolutionLayer, setBiasWeights, convolution);
  WALK(IConvolutionLayer, setPrePadding, convolution);
  WALK(IConvolutionLayer, setPostPadding, convolution);
  WALK(IConvolutionLayer, setPaddingMode, convolution);
  WALK(IConvolutionLayer, setKernelSizeNd, convolution);
  WALK(IConvolutionLayer, setStrideNd, convolution);
  WALK(IConvolutionLayer, setPaddingNd, convolution);
  WALK(IConvolutionLayer, setDilationNd, convolution);
}

TEST(Setters, OfDeconvolution) {
  WALK(IDeconvolutionLayer, setNbOutputMaps, deconvolution);
  WALK(IDeconvolutionLayer, setNbGroups, deconvolution);
  WALK(IDeconvolutionLayer, setKernelWeights, deconvolution);
  WALK(IDeconvolutionLayer, setBiasWeights, deconvolution);
  WALK(IDeconvolutionLayer, setPrePadding, deconvolution);
  WALK(IDeconvolutionLayer, setPostPadding, deconvolution);
  WALK(IDeconvolutionLayer, setPaddingMode, deconvolution);
  WALK(IDeconvolutionLayer, setKernelSizeNd, deconvolution);
  WALK(IDeconvolutionLayer, setStrideNd, deconvolution);
  WALK(IDeconvolutionLayer, setPaddingNd, deconvolution);
  WALK(IDeconvolutionLayer, setDilationNd, deconvolution);
}

TEST(Setters, OfWindows) {
  WALK(IPoolingLayer, setPoolingType, pooling);
  WALK(IPoolingLayer, setBlendFactor, pooling);
  WALK(IPoolingLayer, setAverageCountExcludesPadding, pooling);
  WALK(IPoolingLayer, setPrePadding, pooling);
  WALK(IPoolingLayer, setPostPadding, pooling);
  WALK(IPoolingLayer, setPaddingMode, pooling);
  WALK(IPoolingLayer, setWindowSizeNd, pooling);
  WALK(IPoolingLayer, setStrideNd, pooling);
  WALK(IPoolingLayer, setPaddingNd, pooling);
  WALK(IPaddingLayer, setPrePaddingNd, padding);
  WALK(IPaddingLayer, setPostPaddingNd, padding);
  WALK(ILRNLayer, setWindowSize, lrn);
  WALK(ILRNLayer, setAlpha, lrn);
  WALK(ILRNLayer, setBeta, lrn);
  WALK(ILRNLayer, setK, lrn);
}

TEST(Setters, OfResize) {
  WALK(IResizeLayer, setOutputDimensions, resize);
  WALK(IResizeLayer, setScales, resize);
  WALK(IResizeLayer, setResizeMode, resize);
  WALK(IResizeLayer, setCoordinateTransformation, resize);
  WALK(IResizeLayer, setSelectorForSinglePixel, resize);
  WALK(IResizeLayer, setNearestRounding, resize);
  WALK(IResizeLayer, setCubicCoeff, cubic);
  WALK(IResizeLayer, setExcludeOutside, cubic);
  for (const float value :
       {0.F, -1.F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e-30F}) {
    const auto outcome = inChild([&] {
      Scene scene;
      const std::vector<float> scales(4, value);
      resize(scene)->setScales(scales.data(), 4);
      return build(scene);
    });
    EXPECT_EQ(outcome, "") << "IResizeLayer::setScales: 4 of " << value;
  }
}

TEST(Setters, OfSlices) {
  WALK(ISliceLayer, setStart, slice);
  WALK(ISliceLayer, setSize, slice);
  WALK(ISliceLayer, setStride, slice);
  WALK(ISliceLayer, setMode, slice);
  WALK(ISliceLayer, setAxes, slice);
  WALK(ISliceLayer, setStart, clampedSlice);
  WALK(ISliceLayer, setStride, clampedSlice);
}

TEST(Setters, OfShuffles) {
  WALK(IShuffleLayer, setFirstTranspose, shuffle);
  WALK(IShuffleLayer, setReshapeDimensions, shuffle);
  WALK(IShuffleLayer, setSecondTranspose, shuffle);
  WALK(IShuffleLayer, setZeroIsPlaceholder, shuffle);
}

TEST(Setters, OfLayersThatReduce) {
  WALK(ISoftMaxLayer, setAxes, softmax);
  WALK(IReduceLayer, setOperation, reduce);
  WALK(IReduceLayer, setReduceAxes, reduce);
  WALK(IReduceLayer, setKeepDimensions, reduce);
  WALK(ITopKLayer, setOperation, topk);
  WALK(ITopKLayer, setK, topk);
  WALK(ITopKLayer, setReduceAxes, topk);
  WALK(ITopKLayer, setIndicesType, topk);
  WALK(INormalizationLayer, setEpsilon, normalization);
  WALK(INormalizationLayer, setAxes, normalization);
  WALK(INormalizationLayer, setNbGroups, normalization);
  WALK(INormalizationLayer, setComputePrecision, normalization);
  WALK(ICumulativeLayer, setOperation, cumulative);
  WALK(ICumulativeLayer, setExclusive, cumulative);
  WALK(ICumulativeLayer, setReverse, cumulative);
  WALK(IMatrixMultiplyLayer, setOperation, product);
}

TEST(Setters, OfPointwiseLayers) {
  WALK(IActivationLayer, setActivationType, activation);
  WALK(IActivationLayer, setAlpha, activation);
  WALK(IActivationLayer, setBeta, activation);
  WALK(IUnaryLayer, setOperation, unary);
  WALK(ICastLayer, setToType, cast);
  WALK(IElementWiseLayer, setOperation, elementwise);
  WALK(IScaleLayer, setMode, scale);
  WALK(IScaleLayer, setShift, scale);
  WALK(IScaleLayer, setScale, scale);
  WALK(IScaleLayer, setPower, scale);
  WALK(IScaleLayer, setChannelAxis, scale);
  WALK(IQuantizeLayer, setAxis, quantize);
  WALK(IQuantizeLayer, setBlockShape, quantize);
  WALK(IQuantizeLayer, setToType, quantize);
  WALK(IDequantizeLayer, setAxis, dequantize);
  WALK(IDequantizeLayer, setBlockShape, dequantize);
  WALK(IDequantizeLayer, setToType, dequantize);
}

TEST(Setters, OfLayersThatMakeAndMoveData) {
  WALK(IConcatenationLayer, setAxis, concatenation);
  WALK(IConstantLayer, setWeights, constant);
  WALK(IConstantLayer, setDimensions, constant);
  WALK(IFillLayer, setDimensions, fill);
  WALK(IFillLayer, setOperation, fill);
  WALK(IFillLayer, setAlpha, fill);
  WALK(IFillLayer, setBeta, fill);
  WALK(IFillLayer, setAlphaInt64, fill);
  WALK(IFillLayer, setBetaInt64, fill);
  WALK(IFillLayer, setToType, fill);
  WALK(IGatherLayer, setGatherAxis, gather);
  WALK(IGatherLayer, setNbElementWiseDims, gather);
  WALK(IGatherLayer, setMode, gather);
  WALK(IScatterLayer, setMode, scatter);
  WALK(IScatterLayer, setAxis, scatter);
}

}  // namespace
}  // namespace setters
