// Every setter of every layer with 0, -1, huge and null values, and then a build: a plan or an error, never a crash.
#include "scenes.h"

namespace setters {
namespace {

#define WALK(Class, setter, make) walk<nv::Class>(#Class "::" #setter, &nv::Class::setter, make)

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

TEST(Setters, OfLoops) {
  WALK(IIteratorLayer, setAxis, iterator);
  WALK(IIteratorLayer, setReverse, iterator);
  WALK(ILoopOutputLayer, setAxis, loopOutput);
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

TEST(Setters, OfLayersOfLanguageModels) {
  WALK(IDynamicQuantizeLayer, setToType, dynamicQuantize);
  WALK(IDynamicQuantizeLayer, setScaleType, dynamicQuantize);
  WALK(IDynamicQuantizeLayer, setBlockShape, dynamicQuantize);
  WALK(IDynamicQuantizeLayer, setAxis, dynamicQuantize);
  WALK(IDynamicQuantizeLayer, setBlockSize, dynamicQuantize);
  WALK(IKVCacheUpdateLayer, setCacheMode, cacheUpdate);
  WALK(IMoELayer, setActivationType, experts);
  WALK(IMoELayer, setQuantizationToType, experts);
  WALK(IMoELayer, setQuantizationBlockShape, experts);
  WALK(IMoELayer, setDynQOutputScaleType, experts);
  WALK(IMoELayer, setSwigluParams, experts);
  WALK(IMoELayer, setSwigluParamLimit, experts);
  WALK(IMoELayer, setSwigluParamAlpha, experts);
  WALK(IMoELayer, setSwigluParamBeta, experts);
  WALK(IAssertionLayer, setMessage, assertion);
  WALK(IAttention, setNormalizationOperation, attention);
  WALK(IAttention, setCausal, attention);
  WALK(IAttention, setDecomposable, attention);
  WALK(IAttention, setName, attention);
  WALK(IAttention, setMetadata, attention);
  WALK(IAttention, setNormalizationQuantizeToType, attention);
  WALK(IAttention, setNbRanks, attention);
}

TEST(Setters, OfLayersThatChoose) {
  WALK(IEinsumLayer, setEquation, einsum);
  WALK(IGridSampleLayer, setInterpolationMode, gridSample);
  WALK(IGridSampleLayer, setAlignCorners, gridSample);
  WALK(IGridSampleLayer, setSampleMode, gridSample);
  WALK(INMSLayer, setBoundingBoxFormat, suppression);
  WALK(INMSLayer, setTopKBoxLimit, suppression);
  WALK(INMSLayer, setIndicesType, suppression);
  WALK(INonZeroLayer, setIndicesType, nonZero);
  WALK(IOneHotLayer, setAxis, oneHot);
  WALK(IReverseSequenceLayer, setBatchAxis, reverseSequence);
  WALK(IReverseSequenceLayer, setSequenceAxis, reverseSequence);
  WALK(IRotaryEmbeddingLayer, setInterleaved, rotaryEmbedding);
  WALK(IRotaryEmbeddingLayer, setRotaryEmbeddingDim, rotaryEmbedding);
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
