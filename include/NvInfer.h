// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! Building engines: the network definition and its layers, the builder and its configuration, timing cache and
//! calibration.
#pragma once

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"

// The headers themselves may name what is deprecated; only its use elsewhere shall be warned about.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1 {

//! An edge of a network: an input, or the output of a layer. It belongs to the network.
class ITensor : public INoCopy {
 public:
  //! Sets the name, which the network copies; names of inputs and outputs must differ from each other.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mImpl->getName(); }

  //! Sets the shape of a network input, -1 for extents that vary.
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }

  //! The shape, -1 for extents that vary; nbDims is -1 if it cannot be computed because of an error.
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

  //! Sets the element type of a network input or output, or what another tensor shall be.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED void setType(DataType type) noexcept { mImpl->setType(type); }

  //! The element type.
  DataType getType() const noexcept { return mImpl->getType(); }

  //! Sets the range of real numbers that int8 stands for. Returns false for an empty range.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED bool setDynamicRange(float min, float max) noexcept { return mImpl->setDynamicRange(min, max); }

  //! Whether the tensor is an input of the network.
  bool isNetworkInput() const noexcept { return mImpl->isNetworkInput(); }

  //! Whether the tensor is an output of the network.
  bool isNetworkOutput() const noexcept { return mImpl->isNetworkOutput(); }

  //! Has no effect: the batch is an extent like the others.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept {
    mImpl->setBroadcastAcrossBatch(broadcastAcrossBatch);
  }

  //! Always false.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED bool getBroadcastAcrossBatch() const noexcept { return mImpl->getBroadcastAcrossBatch(); }

  //! The value given to setLocation(), or its default.
  TensorLocation getLocation() const noexcept { return mImpl->getLocation(); }

  //! Sets where the memory of an input or output is. Shape tensors are on the host anyway.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED void setLocation(TensorLocation location) noexcept { mImpl->setLocation(location); }

  //! Whether a range was set.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED bool dynamicRangeIsSet() const noexcept { return mImpl->dynamicRangeIsSet(); }

  //! Forgets the range.
  void resetDynamicRange() noexcept { mImpl->resetDynamicRange(); }

  //! The lower end of the range; not a number if none was set.
  float getDynamicRangeMin() const noexcept { return mImpl->getDynamicRangeMin(); }

  //! The upper end of the range; not a number if none was set.
  float getDynamicRangeMax() const noexcept { return mImpl->getDynamicRangeMax(); }

  //! Sets which formats an input or output may have, bit n for the format n; all by default.
  void setAllowedFormats(TensorFormats formats) noexcept { mImpl->setAllowedFormats(formats); }

  //! The value given to setAllowedFormats(), or its default.
  TensorFormats getAllowedFormats() const noexcept { return mImpl->getAllowedFormats(); }

  //! Whether the values of the tensor serve as a shape, so that they are computed on the host. Known when the
  //! network is complete.
  bool isShapeTensor() const noexcept { return mImpl->isShapeTensor(); }

  //! Whether the tensor is computed on the device.
  bool isExecutionTensor() const noexcept { return mImpl->isExecutionTensor(); }

  //! Names an axis of an input; extents with the same name are equal at run time. nullptr takes the name away.
  void setDimensionName(int32_t index, const char* name) noexcept { mImpl->setDimensionName(index, name); }

  //! The name of an axis; nullptr if it has none.
  const char* getDimensionName(int32_t index) const noexcept { return mImpl->getDimensionName(index); }

 protected:
  virtual ~ITensor() noexcept = default;
  apiv::VTensor* mImpl;
};

//! Which layer an ILayer is.
enum class LayerType : int32_t {
  kCONVOLUTION = 0,          //!< IConvolutionLayer.
  kCAST = 1,                 //!< ICastLayer.
  kACTIVATION = 2,           //!< IActivationLayer.
  kPOOLING = 3,              //!< IPoolingLayer.
  kLRN = 4,                  //!< ILRNLayer.
  kSCALE = 5,                //!< IScaleLayer.
  kSOFTMAX = 6,              //!< ISoftMaxLayer.
  kDECONVOLUTION = 7,        //!< IDeconvolutionLayer.
  kCONCATENATION = 8,        //!< IConcatenationLayer.
  kELEMENTWISE = 9,          //!< IElementWiseLayer.
  kPLUGIN = 10,              //!< A plugin of the first interface; no network makes it any more.
  kUNARY = 11,               //!< IUnaryLayer.
  kPADDING = 12,             //!< IPaddingLayer.
  kSHUFFLE = 13,             //!< IShuffleLayer.
  kREDUCE = 14,              //!< IReduceLayer.
  kTOPK = 15,                //!< ITopKLayer.
  kGATHER = 16,              //!< IGatherLayer.
  kMATRIX_MULTIPLY = 17,     //!< IMatrixMultiplyLayer.
  kRAGGED_SOFTMAX = 18,      //!< IRaggedSoftMaxLayer.
  kCONSTANT = 19,            //!< IConstantLayer.
  kIDENTITY = 20,            //!< IIdentityLayer.
  kPLUGIN_V2 = 21,           //!< IPluginV2Layer.
  kSLICE = 22,               //!< ISliceLayer.
  kSHAPE = 23,               //!< IShapeLayer.
  kPARAMETRIC_RELU = 24,     //!< IParametricReLULayer.
  kRESIZE = 25,              //!< IResizeLayer.
  kTRIP_LIMIT = 26,          //!< ITripLimitLayer.
  kRECURRENCE = 27,          //!< IRecurrenceLayer.
  kITERATOR = 28,            //!< IIteratorLayer.
  kLOOP_OUTPUT = 29,         //!< ILoopOutputLayer.
  kSELECT = 30,              //!< ISelectLayer.
  kFILL = 31,                //!< IFillLayer.
  kQUANTIZE = 32,            //!< IQuantizeLayer.
  kDEQUANTIZE = 33,          //!< IDequantizeLayer.
  kCONDITION = 34,           //!< IConditionLayer.
  kCONDITIONAL_INPUT = 35,   //!< IIfConditionalInputLayer.
  kCONDITIONAL_OUTPUT = 36,  //!< IIfConditionalOutputLayer.
  kSCATTER = 37,             //!< IScatterLayer.
  kEINSUM = 38,              //!< IEinsumLayer.
  kASSERTION = 39,           //!< IAssertionLayer.
  kONE_HOT = 40,             //!< IOneHotLayer.
  kNON_ZERO = 41,            //!< INonZeroLayer.
  kGRID_SAMPLE = 42,         //!< IGridSampleLayer.
  kNMS = 43,                 //!< INMSLayer.
  kREVERSE_SEQUENCE = 44,    //!< IReverseSequenceLayer.
  kNORMALIZATION = 45,       //!< INormalizationLayer.
  kPLUGIN_V3 = 46,           //!< IPluginV3Layer.
  kSQUEEZE = 47,             //!< ISqueezeLayer.
  kUNSQUEEZE = 48,           //!< IUnsqueezeLayer.
  kCUMULATIVE = 49,          //!< ICumulativeLayer.
  kDYNAMIC_QUANTIZE = 50,    //!< IDynamicQuantizeLayer.
  kATTENTION_INPUT = 51,     //!< IAttentionInputLayer.
  kATTENTION_OUTPUT = 52,    //!< IAttentionOutputLayer.
  kROTARY_EMBEDDING = 53,    //!< IRotaryEmbeddingLayer.
  kKVCACHE_UPDATE = 54,      //!< IKVCacheUpdateLayer.
  kMOE = 55,                 //!< IMoELayer.
  kDIST_COLLECTIVE = 56,     //!< IDistCollectiveLayer.
};

template <>
struct impl::EnumMaxImpl<LayerType> {
  static constexpr int32_t kVALUE = 57;
};

//! A node of a network: an operation with inputs and outputs. It belongs to the network.
class ILayer : public INoCopy {
 public:
  //! Which layer it is; tells what it may be cast to.
  LayerType getType() const noexcept { return mLayer->getType(); }

  //! Sets the name, which the network copies.
  void setName(const char* name) noexcept { mLayer->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mLayer->getName(); }

  //! How many inputs the layer has.
  int32_t getNbInputs() const noexcept { return mLayer->getNbInputs(); }

  //! The input with the index; nullptr if it is beyond the end or not set.
  ITensor* getInput(int32_t index) const noexcept { return mLayer->getInput(index); }

  //! How many outputs the layer has.
  int32_t getNbOutputs() const noexcept { return mLayer->getNbOutputs(); }

  //! The output with the index; nullptr beyond the end.
  ITensor* getOutput(int32_t index) const noexcept { return mLayer->getOutput(index); }

  //! Replaces the input with the index. Layers with inputs that may be left out say which index adds them.
  void setInput(int32_t index, ITensor& tensor) noexcept { mLayer->setInput(index, tensor); }

  //! Asks for a type of computation. Whether that binds depends on the builder flags for precision constraints; not
  //! for strongly typed networks.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED void setPrecision(DataType dataType) noexcept { mLayer->setPrecision(dataType); }

  //! The value given to setPrecision(), or its default.
  DataType getPrecision() const noexcept { return mLayer->getPrecision(); }

  //! Whether a type of computation was asked for.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED bool precisionIsSet() const noexcept { return mLayer->precisionIsSet(); }

  //! Takes the request for a type of computation back.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED void resetPrecision() noexcept { mLayer->resetPrecision(); }

  //! Asks for the element type of output `index`. Whether that binds depends on the builder flags for precision
  //! constraints; not for strongly typed networks.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED void setOutputType(int32_t index, DataType dataType) noexcept {
    mLayer->setOutputType(index, dataType);
  }

  //! The element type of output `index`: that asked for, else kFLOAT.
  DataType getOutputType(int32_t index) const noexcept { return mLayer->getOutputType(index); }

  //! Whether a type was asked for.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED bool outputTypeIsSet(int32_t index) const noexcept { return mLayer->outputTypeIsSet(index); }

  //! Takes the request for a type back.
  //! \deprecated Since 10.12.
  TRT_DEPRECATED void resetOutputType(int32_t index) noexcept { mLayer->resetOutputType(index); }

  //! Sets text that the inspector shows for the layer; copied.
  void setMetadata(const char* metadata) noexcept { mLayer->setMetadata(metadata); }

  //! The value given to setMetadata(), or its default.
  const char* getMetadata() const noexcept { return mLayer->getMetadata(); }

  //! Sets how many devices share the layer; 1 by default.
  bool setNbRanks(int32_t nbRanks) noexcept { return mLayer->setNbRanks(nbRanks); }

  //! The value given to setNbRanks(), or its default.
  int32_t getNbRanks() const noexcept { return mLayer->getNbRanks(); }

 protected:
  virtual ~ILayer() noexcept = default;
  apiv::VLayer* mLayer;
};

//! How the extent of an output follows from that of the input, a window, strides and padding.
enum class PaddingMode : int32_t {
  kEXPLICIT_ROUND_DOWN = 0,  //!< From the padding given; what does not fill a window is dropped.
  kEXPLICIT_ROUND_UP = 1,    //!< From the padding given; what does not fill a window makes one more output.
  kSAME_UPPER = 2,           //!< Input over stride, rounded up; an odd padding has its larger half at the end.
  kSAME_LOWER = 3,           //!< Input over stride, rounded up; an odd padding has its larger half at the start.
};

template <>
struct impl::EnumMaxImpl<PaddingMode> {
  static constexpr int32_t kVALUE = 4;
};

//! Correlates the spatial axes, the last two or three, with kernels. Input [N, C, spatial...]; output [N, maps,
//! spatial...].
class IConvolutionLayer : public ILayer {
 public:
  //! Sets how many maps the output has.
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept { mImpl->setNbOutputMaps(nbOutputMaps); }

  //! The value given to setNbOutputMaps(), or its default.
  int64_t getNbOutputMaps() const noexcept { return mImpl->getNbOutputMaps(); }

  //! Sets into how many groups the channels are cut, each with kernels of its own; 1 by default.
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }

  //! The value given to setNbGroups(), or its default.
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }

  //! Sets the kernels: [maps, C / groups, window...]. An input 1 takes their place.
  void setKernelWeights(Weights weights) noexcept { mImpl->setKernelWeights(weights); }

  //! The value given to setKernelWeights(), or its default.
  Weights getKernelWeights() const noexcept { return mImpl->getKernelWeights(); }

  //! Sets a number added to each map, or none if empty. An input 2 takes their place.
  void setBiasWeights(Weights weights) noexcept { mImpl->setBiasWeights(weights); }

  //! The value given to setBiasWeights(), or its default.
  Weights getBiasWeights() const noexcept { return mImpl->getBiasWeights(); }

  //! Sets how many zeros stand before each spatial axis; 0 by default.
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }

  //! The value given to setPrePadding(), or its default.
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }

  //! Sets how many zeros stand after each spatial axis; 0 by default.
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }

  //! The value given to setPostPadding(), or its default.
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }

  //! Sets how output extents are computed; kEXPLICIT_ROUND_DOWN by default.
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }

  //! The value given to setPaddingMode(), or its default.
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }

  //! Sets the window: two or three extents.
  void setKernelSizeNd(const Dims& kernelSize) noexcept { mImpl->setKernelSizeNd(kernelSize); }

  //! The value given to setKernelSizeNd(), or its default.
  Dims getKernelSizeNd() const noexcept { return mImpl->getKernelSizeNd(); }

  //! Sets the step of the window; 1 by default.
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }

  //! The value given to setStrideNd(), or its default.
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }

  //! Sets the padding before and after alike; 0 by default.
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }

  //! The padding, where that before and after are equal.
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

  //! Sets the distance of the elements that one window reads; 1 by default.
  void setDilationNd(const Dims& dilation) noexcept { mImpl->setDilationNd(dilation); }

  //! The value given to setDilationNd(), or its default.
  Dims getDilationNd() const noexcept { return mImpl->getDilationNd(); }

  using ILayer::setInput;

 protected:
  virtual ~IConvolutionLayer() noexcept = default;
  apiv::VConvolutionLayer* mImpl;
};

//! Functions of a single number x, with parameters a and b.
enum class ActivationType : int32_t {
  kRELU = 0,               //!< max(x, 0)
  kSIGMOID = 1,            //!< 1 / (1 + exp(-x))
  kTANH = 2,               //!< tanh(x)
  kLEAKY_RELU = 3,         //!< x if x >= 0, else a * x.
  kELU = 4,                //!< x if x >= 0, else a * (exp(x) - 1).
  kSELU = 5,               //!< b * x if x > 0, else b * a * (exp(x) - 1).
  kSOFTSIGN = 6,           //!< x / (1 + |x|)
  kSOFTPLUS = 7,           //!< a * log(exp(b * x) + 1)
  kCLIP = 8,               //!< max(a, min(b, x))
  kHARD_SIGMOID = 9,       //!< max(0, min(1, a * x + b))
  kSCALED_TANH = 10,       //!< a * tanh(b * x)
  kTHRESHOLDED_RELU = 11,  //!< x if x > a, else 0.
  kGELU_ERF = 12,          //!< x * (1 + erf(x / sqrt(2))) / 2
  kGELU_TANH = 13,         //!< x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
};

template <>
struct impl::EnumMaxImpl<ActivationType> {
  static constexpr int32_t kVALUE = 14;
};

//! Applies a function to each element.
class IActivationLayer : public ILayer {
 public:
  //! Sets the function.
  void setActivationType(ActivationType type) noexcept { mImpl->setActivationType(type); }

  //! The value given to setActivationType(), or its default.
  ActivationType getActivationType() const noexcept { return mImpl->getActivationType(); }

  //! Sets the parameter a; 0 by default.
  void setAlpha(float alpha) noexcept { mImpl->setAlpha(alpha); }

  //! Sets the parameter b; 0 by default.
  void setBeta(float beta) noexcept { mImpl->setBeta(beta); }

  //! The value given to setAlpha(), or its default.
  float getAlpha() const noexcept { return mImpl->getAlpha(); }

  //! The value given to setBeta(), or its default.
  float getBeta() const noexcept { return mImpl->getBeta(); }

 protected:
  virtual ~IActivationLayer() noexcept = default;
  apiv::VActivationLayer* mImpl;
};

//! What one window yields.
enum class PoolingType : int32_t {
  kMAX = 0,                //!< The largest element.
  kAVERAGE = 1,            //!< The mean.
  kMAX_AVERAGE_BLEND = 2,  //!< (1 - blend) * largest + blend * mean.
};

template <>
struct impl::EnumMaxImpl<PoolingType> {
  static constexpr int32_t kVALUE = 3;
};

//! Reduces windows over the spatial axes, the last two or three.
class IPoolingLayer : public ILayer {
 public:
  //! Sets what a window yields.
  void setPoolingType(PoolingType type) noexcept { mImpl->setPoolingType(type); }

  //! The value given to setPoolingType(), or its default.
  PoolingType getPoolingType() const noexcept { return mImpl->getPoolingType(); }

  //! Sets the share of the mean in kMAX_AVERAGE_BLEND, from 0 to 1; 0 by default.
  void setBlendFactor(float blendFactor) noexcept { mImpl->setBlendFactor(blendFactor); }

  //! The value given to setBlendFactor(), or its default.
  float getBlendFactor() const noexcept { return mImpl->getBlendFactor(); }

  //! Sets whether the mean leaves padding out of the count; true by default.
  void setAverageCountExcludesPadding(bool exclusive) noexcept { mImpl->setAverageCountExcludesPadding(exclusive); }

  //! The value given to setAverageCountExcludesPadding(), or its default.
  bool getAverageCountExcludesPadding() const noexcept { return mImpl->getAverageCountExcludesPadding(); }

  //! Sets the padding before each spatial axis; 0 by default.
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }

  //! The value given to setPrePadding(), or its default.
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }

  //! Sets the padding after each spatial axis; 0 by default.
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }

  //! The value given to setPostPadding(), or its default.
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }

  //! Sets how output extents are computed; kEXPLICIT_ROUND_DOWN by default.
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }

  //! The value given to setPaddingMode(), or its default.
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }

  //! Sets the window: two or three extents.
  void setWindowSizeNd(const Dims& windowSize) noexcept { mImpl->setWindowSizeNd(windowSize); }

  //! The value given to setWindowSizeNd(), or its default.
  Dims getWindowSizeNd() const noexcept { return mImpl->getWindowSizeNd(); }

  //! Sets the step of the window; 1 by default.
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }

  //! The value given to setStrideNd(), or its default.
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }

  //! Sets the padding before and after alike; 0 by default.
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }

  //! The padding, where that before and after are equal.
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

 protected:
  virtual ~IPoolingLayer() noexcept = default;
  apiv::VPoolingLayer* mImpl;
};

//! Divides each element by (k + alpha / n * sum of squares)^beta over the n nearest channels.
class ILRNLayer : public ILayer {
 public:
  //! Sets n, an odd number from 1 to 15.
  void setWindowSize(int64_t windowSize) noexcept { mImpl->setWindowSize(windowSize); }

  //! The value given to setWindowSize(), or its default.
  int64_t getWindowSize() const noexcept { return mImpl->getWindowSize(); }

  //! Sets alpha, at most 1e20 in size.
  void setAlpha(float alpha) noexcept { mImpl->setAlpha(alpha); }

  //! The value given to setAlpha(), or its default.
  float getAlpha() const noexcept { return mImpl->getAlpha(); }

  //! Sets beta, from 0.01 to 1e5.
  void setBeta(float beta) noexcept { mImpl->setBeta(beta); }

  //! The value given to setBeta(), or its default.
  float getBeta() const noexcept { return mImpl->getBeta(); }

  //! Sets k, from 1e-5 to 1e10.
  void setK(float k) noexcept { mImpl->setK(k); }

  //! The value given to setK(), or its default.
  float getK() const noexcept { return mImpl->getK(); }

 protected:
  virtual ~ILRNLayer() noexcept = default;
  apiv::VLRNLayer* mImpl;
};

//! For which elements a scale layer has numbers of their own.
enum class ScaleMode : int32_t {
  kUNIFORM = 0,      //!< One for all.
  kCHANNEL = 1,      //!< One for each index of the channel axis.
  kELEMENTWISE = 2,  //!< One for each element of a sample.
};

template <>
struct impl::EnumMaxImpl<ScaleMode> {
  static constexpr int32_t kVALUE = 3;
};

//! (x * scale + shift)^power for each element; numbers left out are 1, 0 and 1.
class IScaleLayer : public ILayer {
 public:
  //! Sets for which elements there are numbers.
  void setMode(ScaleMode mode) noexcept { mImpl->setMode(mode); }

  //! The value given to setMode(), or its default.
  ScaleMode getMode() const noexcept { return mImpl->getMode(); }

  //! Sets what is added.
  void setShift(Weights shift) noexcept { mImpl->setShift(shift); }

  //! The value given to setShift(), or its default.
  Weights getShift() const noexcept { return mImpl->getShift(); }

  //! Sets the factor.
  void setScale(Weights scale) noexcept { mImpl->setScale(scale); }

  //! The value given to setScale(), or its default.
  Weights getScale() const noexcept { return mImpl->getScale(); }

  //! Sets the exponent.
  void setPower(Weights power) noexcept { mImpl->setPower(power); }

  //! The value given to setPower(), or its default.
  Weights getPower() const noexcept { return mImpl->getPower(); }

  //! The value given to setChannelAxis(), or its default.
  int32_t getChannelAxis() const noexcept { return mImpl->getChannelAxis(); }

  //! Sets which axis kCHANNEL goes by; 1 by default.
  void setChannelAxis(int32_t channelAxis) noexcept { mImpl->setChannelAxis(channelAxis); }

 protected:
  virtual ~IScaleLayer() noexcept = default;
  apiv::VScaleLayer* mImpl;
};

//! exp(x) over its sum along one axis.
class ISoftMaxLayer : public ILayer {
 public:
  //! Sets the axis, as a mask with a single bit. By default the third from the end, or the first of fewer axes.
  void setAxes(uint32_t axes) noexcept { mImpl->setAxes(axes); }

  //! The value given to setAxes(), or its default.
  uint32_t getAxes() const noexcept { return mImpl->getAxes(); }

 protected:
  virtual ~ISoftMaxLayer() noexcept = default;
  apiv::VSoftMaxLayer* mImpl;
};

//! Puts tensors one after the other along an axis; all other extents agree.
class IConcatenationLayer : public ILayer {
 public:
  //! Sets the axis; the third from the end by default, or the first of fewer.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  virtual ~IConcatenationLayer() noexcept = default;
  apiv::VConcatenationLayer* mImpl;
};

//! The transpose of a convolution: each element adds its multiple of a kernel to the output. Input [N, C,
//! spatial...]; output [N, maps, spatial...].
class IDeconvolutionLayer : public ILayer {
 public:
  //! Sets how many maps the output has.
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept { mImpl->setNbOutputMaps(nbOutputMaps); }

  //! The value given to setNbOutputMaps(), or its default.
  int64_t getNbOutputMaps() const noexcept { return mImpl->getNbOutputMaps(); }

  //! Sets into how many groups the channels are cut; 1 by default.
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }

  //! The value given to setNbGroups(), or its default.
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }

  //! Sets the kernels: [C, maps / groups, window...]. An input 1 takes their place.
  void setKernelWeights(Weights weights) noexcept { mImpl->setKernelWeights(weights); }

  //! The value given to setKernelWeights(), or its default.
  Weights getKernelWeights() const noexcept { return mImpl->getKernelWeights(); }

  //! Sets a number added to each map, or none if empty. An input 2 takes their place.
  void setBiasWeights(Weights weights) noexcept { mImpl->setBiasWeights(weights); }

  //! The value given to setBiasWeights(), or its default.
  Weights getBiasWeights() const noexcept { return mImpl->getBiasWeights(); }

  //! Sets how many elements are cut off before each spatial axis of the output; 0 by default.
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }

  //! The value given to setPrePadding(), or its default.
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }

  //! Sets how many elements are cut off after each spatial axis of the output; 0 by default.
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }

  //! The value given to setPostPadding(), or its default.
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }

  //! Sets how output extents are computed; kEXPLICIT_ROUND_DOWN by default.
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }

  //! The value given to setPaddingMode(), or its default.
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }

  //! Sets the window: two or three extents.
  void setKernelSizeNd(const Dims& kernelSize) noexcept { mImpl->setKernelSizeNd(kernelSize); }

  //! The value given to setKernelSizeNd(), or its default.
  Dims getKernelSizeNd() const noexcept { return mImpl->getKernelSizeNd(); }

  //! Sets the step of the window in the output; 1 by default.
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }

  //! The value given to setStrideNd(), or its default.
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }

  //! Sets the padding before and after alike; 0 by default.
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }

  //! The padding, where that before and after are equal.
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

  //! Sets the distance of the elements that one window writes; 1 by default.
  void setDilationNd(const Dims& dilation) noexcept { mImpl->setDilationNd(dilation); }

  //! The value given to setDilationNd(), or its default.
  Dims getDilationNd() const noexcept { return mImpl->getDilationNd(); }

  using ILayer::setInput;

 protected:
  virtual ~IDeconvolutionLayer() noexcept = default;
  apiv::VDeconvolutionLayer* mImpl;
};

//! Operations on two numbers a and b.
enum class ElementWiseOperation : int32_t {
  kSUM = 0,        //!< a + b
  kPROD = 1,       //!< a * b
  kMAX = 2,        //!< The larger one.
  kMIN = 3,        //!< The smaller one.
  kSUB = 4,        //!< a - b
  kDIV = 5,        //!< a / b; integers are cut towards zero.
  kPOW = 6,        //!< a^b
  kFLOOR_DIV = 7,  //!< a / b, rounded down.
  kAND = 8,        //!< Both, of bools.
  kOR = 9,         //!< Either, of bools.
  kXOR = 10,       //!< One but not both, of bools.
  kEQUAL = 11,     //!< a = b, as a bool.
  kGREATER = 12,   //!< a > b, as a bool.
  kLESS = 13,      //!< a < b, as a bool.
};

template <>
struct impl::EnumMaxImpl<ElementWiseOperation> {
  static constexpr int32_t kVALUE = 14;
};

//! Applies an operation to the elements of two tensors of equal rank; extents of 1 are repeated.
class IElementWiseLayer : public ILayer {
 public:
  //! Sets the operation.
  void setOperation(ElementWiseOperation op) noexcept { mImpl->setOperation(op); }

  //! The value given to setOperation(), or its default.
  ElementWiseOperation getOperation() const noexcept { return mImpl->getOperation(); }

 protected:
  virtual ~IElementWiseLayer() noexcept = default;
  apiv::VElementWiseLayer* mImpl;
};

//! How indices select.
enum class GatherMode : int32_t {
  kDEFAULT = 0,  //!< Each index selects a slice along the axis.
  kELEMENT = 1,  //!< Each index replaces one coordinate of its own place.
  kND = 2,       //!< The last axis of the indices holds coordinates of slices.
};

template <>
struct impl::EnumMaxImpl<GatherMode> {
  static constexpr int32_t kVALUE = 3;
};

//! Selects parts of a tensor by indices. Inputs: data, indices of int32 or int64.
class IGatherLayer : public ILayer {
 public:
  //! Sets the axis of the data that indices go along; not for kND.
  void setGatherAxis(int32_t axis) noexcept { mImpl->setGatherAxis(axis); }

  //! The value given to setGatherAxis(), or its default.
  int32_t getGatherAxis() const noexcept { return mImpl->getGatherAxis(); }

  //! Sets how many leading axes data and indices share; 0 by default.
  void setNbElementWiseDims(int32_t elementWiseDims) noexcept { mImpl->setNbElementWiseDims(elementWiseDims); }

  //! The value given to setNbElementWiseDims(), or its default.
  int32_t getNbElementWiseDims() const noexcept { return mImpl->getNbElementWiseDims(); }

  //! Sets how indices select.
  void setMode(GatherMode mode) noexcept { mImpl->setMode(mode); }

  //! The value given to setMode(), or its default.
  GatherMode getMode() const noexcept { return mImpl->getMode(); }

 protected:
  virtual ~IGatherLayer() noexcept = default;
  apiv::VGatherLayer* mImpl;
};

//! A plugin of the IPluginV2 family as a layer.
//! \deprecated Since 10.8; use IPluginV3Layer.
class TRT_DEPRECATED IPluginV2Layer : public ILayer {
 public:
  //! The copy of the plugin that belongs to the network.
  IPluginV2& getPlugin() noexcept { return mImpl->getPlugin(); }

 protected:
  virtual ~IPluginV2Layer() noexcept = default;
  apiv::VPluginV2Layer* mImpl;
};

//! A plugin as a layer.
class IPluginV3Layer : public ILayer {
 public:
  //! The copy of the plugin that belongs to the network.
  IPluginV3& getPlugin() noexcept { return mImpl->getPlugin(); }

 protected:
  virtual ~IPluginV3Layer() noexcept = default;
  apiv::VPluginV3Layer* mImpl;
};

//! Functions of a single number x.
enum class UnaryOperation : int32_t {
  kEXP = 0,     //!< exp(x)
  kLOG = 1,     //!< The natural logarithm.
  kSQRT = 2,    //!< The square root.
  kRECIP = 3,   //!< 1 / x
  kABS = 4,     //!< |x|
  kNEG = 5,     //!< -x
  kSIN = 6,     //!< The sine.
  kCOS = 7,     //!< The cosine.
  kTAN = 8,     //!< The tangent.
  kSINH = 9,    //!< The hyperbolic sine.
  kCOSH = 10,   //!< The hyperbolic cosine.
  kASIN = 11,   //!< The inverse sine.
  kACOS = 12,   //!< The inverse cosine.
  kATAN = 13,   //!< The inverse tangent.
  kASINH = 14,  //!< The inverse hyperbolic sine.
  kACOSH = 15,  //!< The inverse hyperbolic cosine.
  kATANH = 16,  //!< The inverse hyperbolic tangent.
  kCEIL = 17,   //!< Rounded up.
  kFLOOR = 18,  //!< Rounded down.
  kERF = 19,    //!< The error function.
  kNOT = 20,    //!< The opposite of a bool.
  kSIGN = 21,   //!< -1, 0 or 1.
  kROUND = 22,  //!< Rounded to the nearest integer, halves to the even one.
  kISINF = 23,  //!< Whether x is infinite, as a bool.
  kISNAN = 24,  //!< Whether x is not a number, as a bool.
};

template <>
struct impl::EnumMaxImpl<UnaryOperation> {
  static constexpr int32_t kVALUE = 25;
};

//! Applies a function to each element.
class IUnaryLayer : public ILayer {
 public:
  //! Sets the function.
  void setOperation(UnaryOperation op) noexcept { mImpl->setOperation(op); }

  //! The value given to setOperation(), or its default.
  UnaryOperation getOperation() const noexcept { return mImpl->getOperation(); }

 protected:
  virtual ~IUnaryLayer() noexcept = default;
  apiv::VUnaryLayer* mImpl;
};

//! What many numbers become.
enum class ReduceOperation : int32_t {
  kSUM = 0,   //!< Their sum.
  kPROD = 1,  //!< Their product.
  kMAX = 2,   //!< The largest.
  kMIN = 3,   //!< The smallest.
  kAVG = 4,   //!< Their mean.
  kNONE = 5,  //!< Nothing: for collectives that only move data.
};

template <>
struct impl::EnumMaxImpl<ReduceOperation> {
  static constexpr int32_t kVALUE = 6;
};

//! Reduces axes of a tensor.
class IReduceLayer : public ILayer {
 public:
  //! Sets what the elements become.
  void setOperation(ReduceOperation op) noexcept { mImpl->setOperation(op); }

  //! The value given to setOperation(), or its default.
  ReduceOperation getOperation() const noexcept { return mImpl->getOperation(); }

  //! Sets the axes, bit n for axis n.
  void setReduceAxes(uint32_t reduceAxes) noexcept { mImpl->setReduceAxes(reduceAxes); }

  //! The value given to setReduceAxes(), or its default.
  uint32_t getReduceAxes() const noexcept { return mImpl->getReduceAxes(); }

  //! Sets whether reduced axes stay, with extent 1.
  void setKeepDimensions(bool keepDimensions) noexcept { mImpl->setKeepDimensions(keepDimensions); }

  //! The value given to setKeepDimensions(), or its default.
  bool getKeepDimensions() const noexcept { return mImpl->getKeepDimensions(); }

 protected:
  virtual ~IReduceLayer() noexcept = default;
  apiv::VReduceLayer* mImpl;
};

//! Adds zeros around the last two axes, or cuts them.
class IPaddingLayer : public ILayer {
 public:
  //! Sets how many come before each axis; negative numbers cut.
  void setPrePaddingNd(const Dims& padding) noexcept { mImpl->setPrePaddingNd(padding); }

  //! The value given to setPrePaddingNd(), or its default.
  Dims getPrePaddingNd() const noexcept { return mImpl->getPrePaddingNd(); }

  //! Sets how many come after each axis; negative numbers cut.
  void setPostPaddingNd(const Dims& padding) noexcept { mImpl->setPostPaddingNd(padding); }

  //! The value given to setPostPaddingNd(), or its default.
  Dims getPostPaddingNd() const noexcept { return mImpl->getPostPaddingNd(); }

 protected:
  virtual ~IPaddingLayer() noexcept = default;
  apiv::VPaddingLayer* mImpl;
};

//! An order of axes.
struct Permutation {
  //! Which input axis becomes output axis n.
  int32_t order[8];
};

//! Transposes, reshapes, and transposes again; each step may be left out.
class IShuffleLayer : public ILayer {
 public:
  //! Sets the first order of axes; the identity by default.
  void setFirstTranspose(Permutation permutation) noexcept { mImpl->setFirstTranspose(permutation); }

  //! The value given to setFirstTranspose(), or its default.
  Permutation getFirstTranspose() const noexcept { return mImpl->getFirstTranspose(); }

  //! Sets the new shape: -1 for one extent that follows from the others, 0 as setZeroIsPlaceholder() says. An input
  //! 1 takes its place.
  void setReshapeDimensions(const Dims& dimensions) noexcept { mImpl->setReshapeDimensions(dimensions); }

  //! The value given to setReshapeDimensions(), or its default.
  Dims getReshapeDimensions() const noexcept { return mImpl->getReshapeDimensions(); }

  //! Sets the second order of axes; the identity by default.
  void setSecondTranspose(Permutation permutation) noexcept { mImpl->setSecondTranspose(permutation); }

  //! The value given to setSecondTranspose(), or its default.
  Permutation getSecondTranspose() const noexcept { return mImpl->getSecondTranspose(); }

  //! Sets what 0 in the new shape means: the extent of the input (true, the default), or 0.
  void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept { mImpl->setZeroIsPlaceholder(zeroIsPlaceholder); }

  //! The value given to setZeroIsPlaceholder(), or its default.
  bool getZeroIsPlaceholder() const noexcept { return mImpl->getZeroIsPlaceholder(); }

  using ILayer::setInput;

 protected:
  virtual ~IShuffleLayer() noexcept = default;
  apiv::VShuffleLayer* mImpl;
};

//! What places outside a tensor read.
enum class SampleMode : int32_t {
  kSTRICT_BOUNDS = 0,  //!< Nothing: reading there is an error.
  kWRAP = 1,           //!< The tensor repeated.
  kCLAMP = 2,          //!< The nearest element.
  kFILL = 3,           //!< A constant.
  kREFLECT = 4,        //!< The tensor mirrored at its last elements.
};

template <>
struct impl::EnumMaxImpl<SampleMode> {
  static constexpr int32_t kVALUE = 5;
};

//! Takes elements at regular distances. Inputs 1 to 3 replace start, size and stride; 4 is the constant of kFILL; 5
//! the axes.
class ISliceLayer : public ILayer {
 public:
  //! Sets the first index along each axis.
  void setStart(const Dims& start) noexcept { mImpl->setStart(start); }

  //! The value given to setStart(), or its default.
  Dims getStart() const noexcept { return mImpl->getStart(); }

  //! Sets the extents of the output.
  void setSize(const Dims& size) noexcept { mImpl->setSize(size); }

  //! The value given to setSize(), or its default.
  Dims getSize() const noexcept { return mImpl->getSize(); }

  //! Sets the distances, which may be negative or 0.
  void setStride(const Dims& stride) noexcept { mImpl->setStride(stride); }

  //! The value given to setStride(), or its default.
  Dims getStride() const noexcept { return mImpl->getStride(); }

  //! Sets what places outside read; kSTRICT_BOUNDS by default.
  void setMode(SampleMode mode) noexcept { mImpl->setMode(mode); }

  //! The value given to setMode(), or its default.
  SampleMode getMode() const noexcept { return mImpl->getMode(); }

  //! Sets which axes start, size and stride are about; all by default.
  void setAxes(const Dims& axes) noexcept { mImpl->setAxes(axes); }

  //! The value given to setAxes(), or its default.
  Dims getAxes() const noexcept { return mImpl->getAxes(); }

  using ILayer::setInput;

 protected:
  virtual ~ISliceLayer() noexcept = default;
  apiv::VSliceLayer* mImpl;
};

//! The shape of a tensor, as an int64 tensor of rank 1.
class IShapeLayer : public ILayer {
 protected:
  virtual ~IShapeLayer() noexcept = default;
  apiv::VShapeLayer* mImpl;
};

//! Which elements a TopK layer looks for.
enum class TopKOperation : int32_t {
  kMAX = 0,  //!< The largest.
  kMIN = 1,  //!< The smallest.
};

template <>
struct impl::EnumMaxImpl<TopKOperation> {
  static constexpr int32_t kVALUE = 2;
};

//! Finds the k first elements of an order along an axis. Outputs: values, and their indices. An input 1 replaces k.
class ITopKLayer : public ILayer {
 public:
  //! Sets which elements are looked for.
  void setOperation(TopKOperation op) noexcept { mImpl->setOperation(op); }

  //! The value given to setOperation(), or its default.
  TopKOperation getOperation() const noexcept { return mImpl->getOperation(); }

  //! Sets how many; at most 3840.
  void setK(int32_t k) noexcept { mImpl->setK(k); }

  //! The value given to setK(), or its default.
  int32_t getK() const noexcept { return mImpl->getK(); }

  //! Sets the axis, as a mask with a single bit.
  void setReduceAxes(uint32_t reduceAxes) noexcept { mImpl->setReduceAxes(reduceAxes); }

  //! The value given to setReduceAxes(), or its default.
  uint32_t getReduceAxes() const noexcept { return mImpl->getReduceAxes(); }

  //! Sets the type of the indices, kINT32 or kINT64. Returns false for others.
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }

  //! The value given to setIndicesType(), or its default.
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

  using ILayer::setInput;

 protected:
  virtual ~ITopKLayer() noexcept = default;
  apiv::VTopKLayer* mImpl;
};

//! How a matrix multiplication reads an operand.
enum class MatrixOperation : int32_t {
  kNONE = 0,       //!< As it is: the last two axes are a matrix.
  kTRANSPOSE = 1,  //!< With the last two axes exchanged.
  kVECTOR = 2,     //!< As vectors: the last axis is one.
};

template <>
struct impl::EnumMaxImpl<MatrixOperation> {
  static constexpr int32_t kVALUE = 3;
};

//! Multiplies matrices, the last two axes; extents of 1 before these are repeated.
class IMatrixMultiplyLayer : public ILayer {
 public:
  //! Sets how the operand with the index is read.
  void setOperation(int32_t index, MatrixOperation op) noexcept { mImpl->setOperation(index, op); }

  //! The value given to setOperation(), or its default.
  MatrixOperation getOperation(int32_t index) const noexcept { return mImpl->getOperation(index); }

 protected:
  virtual ~IMatrixMultiplyLayer() noexcept = default;
  apiv::VMatrixMultiplyLayer* mImpl;
};

//! The coordinates of all elements that are not zero: [rank, count]. The count is only known at run time.
class INonZeroLayer : public ILayer {
 public:
  //! Sets the type of the coordinates, kINT32 or kINT64. Returns false for others.
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }

  //! The value given to setIndicesType(), or its default.
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  virtual ~INonZeroLayer() noexcept = default;
  apiv::VNonZeroLayer* mImpl;
};

//! exp(x) over its sum along the last axis, of which only a first part counts. Inputs: data, lengths of these
//! parts.
class IRaggedSoftMaxLayer : public ILayer {
 protected:
  virtual ~IRaggedSoftMaxLayer() noexcept = default;
  apiv::VRaggedSoftMaxLayer* mImpl;
};

//! Copies a tensor, maybe to another type.
class IIdentityLayer : public ILayer {
 protected:
  virtual ~IIdentityLayer() noexcept = default;
  apiv::VIdentityLayer* mImpl;
};

//! Converts each element to another type.
class ICastLayer : public ILayer {
 public:
  //! Sets the type.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  //! The value given to setToType(), or its default.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  virtual ~ICastLayer() noexcept = default;
  apiv::VCastLayer* mImpl;
};

//! A tensor of given values.
class IConstantLayer : public ILayer {
 public:
  //! Sets the values.
  void setWeights(Weights weights) noexcept { mImpl->setWeights(weights); }

  //! The value given to setWeights(), or its default.
  Weights getWeights() const noexcept { return mImpl->getWeights(); }

  //! Sets the shape, whose volume is the count of the values.
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }

  //! The value given to setDimensions(), or its default.
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

 protected:
  virtual ~IConstantLayer() noexcept = default;
  apiv::VConstantLayer* mImpl;
};

//! x if x >= 0, else slope * x. Inputs: data, slopes, which are repeated over extents of 1.
class IParametricReLULayer : public ILayer {
 protected:
  virtual ~IParametricReLULayer() noexcept = default;
  apiv::VParametricReLULayer* mImpl;
};

//! How elements between others are found.
enum class InterpolationMode : int32_t {
  kNEAREST = 0,  //!< The nearest one.
  kLINEAR = 1,   //!< Linearly, along up to three axes.
  kCUBIC = 2,    //!< With cubic polynomials, along two axes.
};

template <>
struct impl::EnumMaxImpl<InterpolationMode> {
  static constexpr int32_t kVALUE = 3;
};

//! Where output place x lies in the input.
enum class ResizeCoordinateTransformation : int32_t {
  kALIGN_CORNERS = 0,  //!< x * (in - 1) / (out - 1): the corners agree.
  kASYMMETRIC = 1,     //!< x * in / out
  kHALF_PIXEL = 2,     //!< (x + 0.5) * in / out - 0.5: the areas agree.
};

template <>
struct impl::EnumMaxImpl<ResizeCoordinateTransformation> {
  static constexpr int32_t kVALUE = 3;
};

//! Where the only place of an output of extent 1 lies.
enum class ResizeSelector : int32_t {
  kFORMULA = 0,  //!< Where the transformation says.
  kUPPER = 1,    //!< At the first element.
};

template <>
struct impl::EnumMaxImpl<ResizeSelector> {
  static constexpr int32_t kVALUE = 2;
};

//! Which of two elements is the nearest.
enum class ResizeRoundMode : int32_t {
  kHALF_UP = 0,    //!< The nearer one, the later of equal ones.
  kHALF_DOWN = 1,  //!< The nearer one, the earlier of equal ones.
  kFLOOR = 2,      //!< The earlier one.
  kCEIL = 3,       //!< The later one.
};

template <>
struct impl::EnumMaxImpl<ResizeRoundMode> {
  static constexpr int32_t kVALUE = 4;
};

//! Makes a tensor larger or smaller by interpolation. An input 1 replaces the output shape, or the scales.
class IResizeLayer : public ILayer {
 public:
  //! Sets the shape of the output.
  void setOutputDimensions(const Dims& dimensions) noexcept { mImpl->setOutputDimensions(dimensions); }

  //! The value given to setOutputDimensions(), or its default.
  Dims getOutputDimensions() const noexcept { return mImpl->getOutputDimensions(); }

  //! Sets the factor of each extent, as many as there are axes; it replaces the output shape.
  void setScales(const float* scales, int32_t nbScales) noexcept { mImpl->setScales(scales, nbScales); }

  //! Writes up to `size` factors. Returns how many there are; -1 if none were set.
  int32_t getScales(int32_t size, float* scales) const noexcept { return mImpl->getScales(size, scales); }

  //! Input 1, a shape tensor with one element for each axis: of integers the shape of the output; of floats the factor
  //! of each extent, as setScales() gives it, which places take as it is (TensorRT knows integers only).
  using ILayer::setInput;

  //! Sets how elements are found; kNEAREST by default.
  void setResizeMode(InterpolationMode interpolationMode) noexcept { mImpl->setResizeMode(interpolationMode); }

  //! The value given to setResizeMode(), or its default.
  InterpolationMode getResizeMode() const noexcept { return mImpl->getResizeMode(); }

  //! Sets where output places lie in the input; kASYMMETRIC by default.
  void setCoordinateTransformation(ResizeCoordinateTransformation coordTransform) noexcept {
    mImpl->setCoordinateTransformation(coordTransform);
  }

  //! The value given to setCoordinateTransformation(), or its default.
  ResizeCoordinateTransformation getCoordinateTransformation() const noexcept {
    return mImpl->getCoordinateTransformation();
  }

  //! Sets where the place of extents of 1 lies; kFORMULA by default.
  void setSelectorForSinglePixel(ResizeSelector selector) noexcept { mImpl->setSelectorForSinglePixel(selector); }

  //! The value given to setSelectorForSinglePixel(), or its default.
  ResizeSelector getSelectorForSinglePixel() const noexcept { return mImpl->getSelectorForSinglePixel(); }

  //! Sets which element is the nearest; kFLOOR by default.
  void setNearestRounding(ResizeRoundMode value) noexcept { mImpl->setNearestRounding(value); }

  //! The value given to setNearestRounding(), or its default.
  ResizeRoundMode getNearestRounding() const noexcept { return mImpl->getNearestRounding(); }

  //! Sets the coefficient of the cubic polynomials; -0.75 by default.
  void setCubicCoeff(float A) noexcept { mImpl->setCubicCoeff(A); }

  //! The value given to setCubicCoeff(), or its default.
  float getCubicCoeff() const noexcept { return mImpl->getCubicCoeff(); }

  //! Sets whether weights of places outside are 0 and the others scaled up; false by default.
  void setExcludeOutside(bool excludeFlag) noexcept { mImpl->setExcludeOutside(excludeFlag); }

  //! The value given to setExcludeOutside(), or its default.
  bool getExcludeOutside() const noexcept { return mImpl->getExcludeOutside(); }

 protected:
  virtual ~IResizeLayer() noexcept = default;
  apiv::VResizeLayer* mImpl;
};

//! The root of the layers at the boundary of a loop.
class ILoopBoundaryLayer : public ILayer {
 public:
  //! The loop.
  ILoop* getLoop() const noexcept { return mBoundary->getLoop(); }

 protected:
  virtual ~ILoopBoundaryLayer() noexcept = default;
  apiv::VLoopBoundaryLayer* mBoundary;
};

//! The root of the layers at the boundary of a conditional.
class IIfConditionalBoundaryLayer : public ILayer {
 public:
  //! The conditional.
  IIfConditional* getConditional() const noexcept { return mBoundary->getConditional(); }

 protected:
  virtual ~IIfConditionalBoundaryLayer() noexcept = default;
  apiv::VConditionalBoundaryLayer* mBoundary;
};

//! Takes the condition into a conditional: a bool scalar.
class IConditionLayer : public IIfConditionalBoundaryLayer {
 protected:
  virtual ~IConditionLayer() noexcept = default;
  apiv::VConditionLayer* mImpl;
};

//! Takes the result of the branch that was run out of a conditional. Inputs: that of the true branch, that of the
//! false branch.
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
 protected:
  virtual ~IIfConditionalOutputLayer() noexcept = default;
  apiv::VConditionalOutputLayer* mImpl;
};

//! Takes a tensor into a conditional.
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 protected:
  virtual ~IIfConditionalInputLayer() noexcept = default;
  apiv::VConditionalInputLayer* mImpl;
};

//! Computes one of two branches, as a bool says. It belongs to the network.
class IIfConditional : public INoCopy {
 public:
  //! Sets the condition, a bool scalar; to be called once.
  IConditionLayer* setCondition(ITensor& condition) noexcept { return mImpl->setCondition(condition); }

  //! Adds an output, which is one of two tensors of the same shape.
  IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept {
    return mImpl->addOutput(trueSubgraphOutput, falseSubgraphOutput);
  }

  //! Adds an input that the branches may use.
  IIfConditionalInputLayer* addInput(ITensor& input) noexcept { return mImpl->addInput(input); }

  //! Sets the name, which the network copies.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mImpl->getName(); }

 protected:
  virtual ~IIfConditional() noexcept = default;
  apiv::VIfConditional* mImpl;
};

//! A value that is carried from one iteration of a loop to the next. Inputs: the first value, and the next one, set
//! with setInput(1, ...).
class IRecurrenceLayer : public ILoopBoundaryLayer {
 public:
  using ILayer::setInput;

 protected:
  virtual ~IRecurrenceLayer() noexcept = default;
  apiv::VRecurrenceLayer* mImpl;
};

//! What a loop yields of a tensor.
enum class LoopOutput : int32_t {
  kLAST_VALUE = 0,   //!< Its last value.
  kCONCATENATE = 1,  //!< Its values, stacked in order.
  kREVERSE = 2,      //!< Its values, stacked in the opposite order.
};

template <>
struct impl::EnumMaxImpl<LoopOutput> {
  static constexpr int32_t kVALUE = 3;
};

//! Takes a tensor out of a loop. Inputs: the tensor, and for stacked values their number.
class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  //! What the loop yields.
  LoopOutput getLoopOutput() const noexcept { return mImpl->getLoopOutput(); }

  //! Sets the axis along which values are stacked; 0 by default.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  using ILayer::setInput;

 protected:
  virtual ~ILoopOutputLayer() noexcept = default;
  apiv::VLoopOutputLayer* mImpl;
};

//! What ends a loop.
enum class TripLimit : int32_t {
  kCOUNT = 0,  //!< A number of iterations, an int32 or int64 scalar.
  kWHILE = 1,  //!< A bool scalar that is computed anew before each iteration.
};

template <>
struct impl::EnumMaxImpl<TripLimit> {
  static constexpr int32_t kVALUE = 2;
};

//! Says when a loop ends.
class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  //! What ends the loop.
  TripLimit getTripLimit() const noexcept { return mImpl->getTripLimit(); }

 protected:
  virtual ~ITripLimitLayer() noexcept = default;
  apiv::VTripLimitLayer* mImpl;
};

//! The slice of a tensor that belongs to the current iteration.
class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  //! Sets the axis that is iterated over; 0 by default.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  //! Sets whether it goes from the end to the start; false by default.
  void setReverse(bool reverse) noexcept { mImpl->setReverse(reverse); }

  //! The value given to setReverse(), or its default.
  bool getReverse() const noexcept { return mImpl->getReverse(); }

 protected:
  virtual ~IIteratorLayer() noexcept = default;
  apiv::VIteratorLayer* mImpl;
};

//! Computes layers again and again. It belongs to the network.
class ILoop : public INoCopy {
 public:
  //! Adds a value that is carried to the next iteration, starting with `initialValue`.
  IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept { return mImpl->addRecurrence(initialValue); }

  //! Adds what ends the loop.
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept {
    return mImpl->addTripLimit(tensor, limit);
  }

  //! Adds an iteration over a tensor from outside the loop.
  IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept {
    return mImpl->addIterator(tensor, axis, reverse);
  }

  //! Adds an output that comes from inside the loop. `axis` only counts for stacked values.
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind, int32_t axis = 0) noexcept {
    return mImpl->addLoopOutput(tensor, outputKind, axis);
  }

  //! Sets the name, which the network copies.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mImpl->getName(); }

 protected:
  virtual ~ILoop() noexcept = default;
  apiv::VLoop* mImpl;
};

//! Takes each element from one of two tensors. Inputs: bools, the tensor for true, the tensor for false; extents of
//! 1 are repeated.
class ISelectLayer : public ILayer {
 protected:
  virtual ~ISelectLayer() noexcept = default;
  apiv::VSelectLayer* mImpl;
};

//! Fails with a message if one of its bools is false, while building if that is known, else when it runs.
class IAssertionLayer : public ILayer {
 public:
  //! Sets the message, which the network copies.
  void setMessage(const char* message) noexcept { mImpl->setMessage(message); }

  //! The value given to setMessage(), or its default.
  const char* getMessage() const noexcept { return mImpl->getMessage(); }

 protected:
  virtual ~IAssertionLayer() noexcept = default;
  apiv::VAssertionLayer* mImpl;
};

//! What a fill layer makes.
enum class FillOperation : int32_t {
  kLINSPACE = 0,        //!< alpha + beta * index, with a beta for each axis.
  kRANDOM_UNIFORM = 1,  //!< Random numbers, equally likely from alpha to beta.
  kRANDOM_NORMAL = 2,   //!< Random numbers, normally distributed with mean alpha and deviation beta.
};

template <>
struct impl::EnumMaxImpl<FillOperation> {
  static constexpr int32_t kVALUE = 3;
};

//! Makes a tensor. Inputs, which may be left out: 0 the shape, 1 alpha, 2 beta.
class IFillLayer : public ILayer {
 public:
  //! Sets the shape.
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }

  //! The value given to setDimensions(), or its default.
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

  //! Sets what is made.
  void setOperation(FillOperation op) noexcept { mImpl->setOperation(op); }

  //! The value given to setOperation(), or its default.
  FillOperation getOperation() const noexcept { return mImpl->getOperation(); }

  //! Sets alpha.
  void setAlpha(double alpha) noexcept { mImpl->setAlpha(alpha); }

  //! The value given to setAlpha(), or its default.
  double getAlpha() const noexcept { return mImpl->getAlpha(); }

  //! Sets beta.
  void setBeta(double beta) noexcept { mImpl->setBeta(beta); }

  //! The value given to setBeta(), or its default.
  double getBeta() const noexcept { return mImpl->getBeta(); }

  //! Sets alpha as an integer.
  void setAlphaInt64(int64_t alpha) noexcept { mImpl->setAlphaInt64(alpha); }

  //! The value given to setAlphaInt64(), or its default.
  int64_t getAlphaInt64() const noexcept { return mImpl->getAlphaInt64(); }

  //! Sets beta as an integer.
  void setBetaInt64(int64_t beta) noexcept { mImpl->setBetaInt64(beta); }

  //! The value given to setBetaInt64(), or its default.
  int64_t getBetaInt64() const noexcept { return mImpl->getBetaInt64(); }

  //! Whether alpha and beta were set as integers.
  bool isAlphaBetaInt64() const noexcept { return mImpl->isAlphaBetaInt64(); }

  //! Sets the type of the tensor.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  //! The value given to setToType(), or its default.
  DataType getToType() const noexcept { return mImpl->getToType(); }

  using ILayer::setInput;

 protected:
  virtual ~IFillLayer() noexcept = default;
  apiv::VFillLayer* mImpl;
};

//! Divides by a scale, rounds to the nearest integer or small float, halves to the even one, and saturates. Inputs:
//! data, scale, and a zero point that is zero.
class IQuantizeLayer : public ILayer {
 public:
  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  //! Sets the axis whose indices have scales of their own; -1 for one scale in all.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! Sets the shape of the blocks that have scales of their own.
  bool setBlockShape(const Dims& blockShape) noexcept { return mImpl->setBlockShape(blockShape); }

  //! The value given to setBlockShape(), or its default.
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

  //! Sets the type of the output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  //! The value given to setToType(), or its default.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  virtual ~IQuantizeLayer() noexcept = default;
  apiv::VQuantizeLayer* mImpl;
};

//! Multiplies with a scale. Inputs: data, scale, and a zero point that is zero.
class IDequantizeLayer : public ILayer {
 public:
  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  //! Sets the axis whose indices have scales of their own; -1 for one scale in all.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! Sets the shape of the blocks that have scales of their own.
  bool setBlockShape(const Dims& blockShape) noexcept { return mImpl->setBlockShape(blockShape); }

  //! The value given to setBlockShape(), or its default.
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

  //! Sets the type of the output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  //! The value given to setToType(), or its default.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  virtual ~IDequantizeLayer() noexcept = default;
  apiv::VDequantizeLayer* mImpl;
};

//! Quantizes in blocks with scales that it computes. Inputs: data, and for a scale of the scales a second one.
//! Outputs: data, scales.
class IDynamicQuantizeLayer : public ILayer {
 public:
  //! Sets the type of the data output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  //! The value given to setToType(), or its default.
  DataType getToType() const noexcept { return mImpl->getToType(); }

  //! Sets the type of the scales.
  void setScaleType(DataType scaleType) noexcept { mImpl->setScaleType(scaleType); }

  //! The value given to setScaleType(), or its default.
  DataType getScaleType() const noexcept { return mImpl->getScaleType(); }

  //! Sets the axis along which elements form blocks.
  TRT_DEPRECATED void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! The value given to setAxis(), or its default.
  TRT_DEPRECATED int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  //! Sets how many elements form a block.
  TRT_DEPRECATED void setBlockSize(int32_t size) noexcept { mImpl->setBlockSize(size); }

  //! The value given to setBlockSize(), or its default.
  TRT_DEPRECATED int32_t getBlockSize() const noexcept { return mImpl->getBlockSize(); }

  //! Sets the shape of a block.
  void setBlockShape(const Dims& blockShape) noexcept { mImpl->setBlockShape(blockShape); }

  //! The value given to setBlockShape(), or its default.
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

  using ILayer::setInput;

 protected:
  virtual ~IDynamicQuantizeLayer() noexcept = default;
  apiv::VDynamicQuantizeLayer* mImpl;
};

//! Sums products over indices, as an equation like "ij,jk->ik" says.
class IEinsumLayer : public ILayer {
 public:
  //! Sets the equation, lower-case letters for indices. Returns false if it is not one.
  bool setEquation(const char* equation) noexcept { return mImpl->setEquation(equation); }

  //! The value given to setEquation(), or its default.
  const char* getEquation() const noexcept { return mImpl->getEquation(); }

 protected:
  virtual ~IEinsumLayer() noexcept = default;
  apiv::VEinsumLayer* mImpl;
};

//! How indices select.
enum class ScatterMode : int32_t {
  kELEMENT = 0,  //!< Each index replaces one coordinate of its own place.
  kND = 1,       //!< The last axis of the indices holds coordinates of slices.
};

template <>
struct impl::EnumMaxImpl<ScatterMode> {
  static constexpr int32_t kVALUE = 2;
};

//! Copies data and writes updates into the copy. Inputs: data, indices, updates. Which of several updates of one
//! place wins is not said.
class IScatterLayer : public ILayer {
 public:
  //! Sets how indices select.
  void setMode(ScatterMode mode) noexcept { mImpl->setMode(mode); }

  //! The value given to setMode(), or its default.
  ScatterMode getMode() const noexcept { return mImpl->getMode(); }

  //! Sets the axis that indices go along, for kELEMENT.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  virtual ~IScatterLayer() noexcept = default;
  apiv::VScatterLayer* mImpl;
};

//! Turns indices into rows with one value at the index and another elsewhere. Inputs: indices, [off, on], the
//! length of a row.
class IOneHotLayer : public ILayer {
 public:
  //! Sets which axis of the output is the row; negative ones count from the end.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  //! The value given to setAxis(), or its default.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  virtual ~IOneHotLayer() noexcept = default;
  apiv::VOneHotLayer* mImpl;
};

//! Reads an image at places that a grid gives. Inputs: image [N, C, H, W], grid [N, H', W', 2] of x and y from -1
//! to 1.
class IGridSampleLayer : public ILayer {
 public:
  //! Sets how elements between others are found; kLINEAR by default.
  void setInterpolationMode(InterpolationMode mode) noexcept { mImpl->setInterpolationMode(mode); }

  //! The value given to setInterpolationMode(), or its default.
  InterpolationMode getInterpolationMode() const noexcept { return mImpl->getInterpolationMode(); }

  //! Sets whether -1 and 1 are the centres of the border elements, or their outer edges; false, the edges, by
  //! default.
  void setAlignCorners(bool alignCorners) noexcept { mImpl->setAlignCorners(alignCorners); }

  //! The value given to setAlignCorners(), or its default.
  bool getAlignCorners() const noexcept { return mImpl->getAlignCorners(); }

  //! Sets what places outside read; kFILL, with 0, by default. Returns false for modes that do not apply.
  bool setSampleMode(SampleMode mode) noexcept { return mImpl->setSampleMode(mode); }

  //! The value given to setSampleMode(), or its default.
  SampleMode getSampleMode() const noexcept { return mImpl->getSampleMode(); }

 protected:
  virtual ~IGridSampleLayer() noexcept = default;
  apiv::VGridSampleLayer* mImpl;
};

//! How the four numbers of a box are meant.
enum class BoundingBoxFormat : int32_t {
  kCORNER_PAIRS = 0,  //!< Two corners: x1, y1, x2, y2.
  kCENTER_SIZES = 1,  //!< Centre and sides: x, y, width, height.
};

template <>
struct impl::EnumMaxImpl<BoundingBoxFormat> {
  static constexpr int32_t kVALUE = 2;
};

//! Keeps the best of overlapping boxes. Inputs: boxes, scores, the most boxes per class; and, if set, the overlap
//! (3) and the score (4) to cut at. Outputs: indices [count, 3] of batch, class and box; the count.
class INMSLayer : public ILayer {
 public:
  //! Sets how boxes are meant; kCORNER_PAIRS by default.
  void setBoundingBoxFormat(BoundingBoxFormat fmt) noexcept { mImpl->setBoundingBoxFormat(fmt); }

  //! The value given to setBoundingBoxFormat(), or its default.
  BoundingBoxFormat getBoundingBoxFormat() const noexcept { return mImpl->getBoundingBoxFormat(); }

  //! Sets how many boxes per class are looked at, by score.
  void setTopKBoxLimit(int32_t limit) noexcept { mImpl->setTopKBoxLimit(limit); }

  //! The value given to setTopKBoxLimit(), or its default.
  int32_t getTopKBoxLimit() const noexcept { return mImpl->getTopKBoxLimit(); }

  //! Sets the type of the indices, kINT32 or kINT64. Returns false for others.
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }

  //! The value given to setIndicesType(), or its default.
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

  using ILayer::setInput;

 protected:
  virtual ~INMSLayer() noexcept = default;
  apiv::VNMSLayer* mImpl;
};

//! Reverses the first part of each sequence. Inputs: data, the lengths of these parts.
class IReverseSequenceLayer : public ILayer {
 public:
  //! Sets the axis of the sequences; 1 by default.
  void setBatchAxis(int32_t batchAxis) noexcept { mImpl->setBatchAxis(batchAxis); }

  //! The value given to setBatchAxis(), or its default.
  int32_t getBatchAxis() const noexcept { return mImpl->getBatchAxis(); }

  //! Sets the axis of their elements; 0 by default.
  void setSequenceAxis(int32_t sequenceAxis) noexcept { mImpl->setSequenceAxis(sequenceAxis); }

  //! The value given to setSequenceAxis(), or its default.
  int32_t getSequenceAxis() const noexcept { return mImpl->getSequenceAxis(); }

 protected:
  virtual ~IReverseSequenceLayer() noexcept = default;
  apiv::VReverseSequenceLayer* mImpl;
};

//! (x - mean) / sqrt(variance + epsilon) * scale + bias over some axes. Inputs: data, scale, bias.
class INormalizationLayer : public ILayer {
 public:
  //! Sets epsilon; 1e-5 by default.
  void setEpsilon(float eps) noexcept { mImpl->setEpsilon(eps); }

  //! The value given to setEpsilon(), or its default.
  float getEpsilon() const noexcept { return mImpl->getEpsilon(); }

  //! Sets the axes that mean and variance are taken over, bit n for axis n.
  void setAxes(uint32_t axesMask) noexcept { mImpl->setAxes(axesMask); }

  //! The value given to setAxes(), or its default.
  uint32_t getAxes() const noexcept { return mImpl->getAxes(); }

  //! Sets into how many groups the channels are cut, each with its own mean and variance; 1 by default.
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }

  //! The value given to setNbGroups(), or its default.
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }

  //! Sets the type of the computation, kFLOAT or kHALF; kFLOAT by default.
  //! \deprecated Since 10.16.
  TRT_DEPRECATED void setComputePrecision(DataType type) noexcept { mImpl->setComputePrecision(type); }

  //! The value given to setComputePrecision(), or its default.
  //! \deprecated Since 10.16.
  TRT_DEPRECATED DataType getComputePrecision() const noexcept { return mImpl->getComputePrecision(); }

  //! Whether the layer was made by addNormalizationV2().
  bool isV2() const noexcept { return mImpl->isV2(); }

 protected:
  virtual ~INormalizationLayer() noexcept = default;
  apiv::VNormalizationLayer* mImpl;
};

//! Removes axes of extent 1. Inputs: data, the axes.
class ISqueezeLayer : public ILayer {
 public:
  using ILayer::setInput;

 protected:
  virtual ~ISqueezeLayer() noexcept = default;
  apiv::VSqueezeLayer* mImpl;
};

//! Inserts axes of extent 1. Inputs: data, the axes, counted in the output.
class IUnsqueezeLayer : public ILayer {
 public:
  using ILayer::setInput;

 protected:
  virtual ~IUnsqueezeLayer() noexcept = default;
  apiv::VUnsqueezeLayer* mImpl;
};

//! What is accumulated.
enum class CumulativeOperation : int32_t {
  kSUM = 0,  //!< The sum.
};

template <>
struct impl::EnumMaxImpl<CumulativeOperation> {
  static constexpr int32_t kVALUE = 1;
};

//! Accumulates along an axis. Inputs: data, the axis as a constant.
class ICumulativeLayer : public ILayer {
 public:
  //! Sets what is accumulated. Returns false for what is no such operation.
  bool setOperation(CumulativeOperation op) noexcept { return mImpl->setOperation(op); }

  //! The value given to setOperation(), or its default.
  CumulativeOperation getOperation() const noexcept { return mImpl->getOperation(); }

  //! Sets whether each element leaves itself out.
  void setExclusive(bool exclusive) noexcept { mImpl->setExclusive(exclusive); }

  //! The value given to setExclusive(), or its default.
  bool getExclusive() const noexcept { return mImpl->getExclusive(); }

  //! Sets whether it goes from the end to the start.
  void setReverse(bool reverse) noexcept { mImpl->setReverse(reverse); }

  //! The value given to setReverse(), or its default.
  bool getReverse() const noexcept { return mImpl->getReverse(); }

 protected:
  virtual ~ICumulativeLayer() noexcept = default;
  apiv::VCumulativeLayer* mImpl;
};

//! The root of the layers at the boundary of an attention.
class IAttentionBoundaryLayer : public ILayer {
 public:
  //! The attention.
  IAttention* getAttention() const noexcept { return mBoundary->getAttention(); }

 protected:
  virtual ~IAttentionBoundaryLayer() noexcept = default;
  apiv::VAttentionBoundaryLayer* mBoundary;
};

//! Takes tensors into an attention.
class IAttentionInputLayer : public IAttentionBoundaryLayer {
 public:
  using ILayer::setInput;

 protected:
  virtual ~IAttentionInputLayer() noexcept = default;
  apiv::VAttentionInputLayer* mImpl;
};

//! Takes the result out of an attention.
class IAttentionOutputLayer : public IAttentionBoundaryLayer {
 protected:
  virtual ~IAttentionOutputLayer() noexcept = default;
  apiv::VAttentionOutputLayer* mImpl;
};

//! What is applied to the products of query and key.
enum class AttentionNormalizationOp : int32_t {
  kNONE = 0,     //!< Nothing.
  kSOFTMAX = 1,  //!< A softmax along the last axis.
};

template <>
struct impl::EnumMaxImpl<AttentionNormalizationOp> {
  static constexpr int32_t kVALUE = 2;
};

//! normalize(query * key^T) * value, with tensors of [N, heads, length, width]; key and value may have fewer heads.
//! It is computed as one, so that the products are never stored. It belongs to the network.
class IAttention : public INoCopy {
 public:
  //! Sets what is applied to the products. Returns false for what is no such operation.
  bool setNormalizationOperation(AttentionNormalizationOp op) noexcept { return mImpl->setNormalizationOperation(op); }

  //! The value given to setNormalizationOperation(), or its default.
  AttentionNormalizationOp getNormalizationOperation() const noexcept { return mImpl->getNormalizationOperation(); }

  //! Sets a mask: bools, false leaving a product out, or numbers added to the products. Not together with
  //! setCausal().
  bool setMask(ITensor& mask) noexcept { return mImpl->setMask(mask); }

  //! The value given to setMask(), or its default.
  ITensor* getMask() noexcept { return mImpl->getMask(); }

  //! Sets whether a place only sees those before it.
  bool setCausal(bool isCausal) noexcept { return mImpl->setCausal(isCausal); }

  //! The value given to setCausal(), or its default.
  bool getCausal() const noexcept { return mImpl->getCausal(); }

  //! Sets whether it may be computed in steps where it cannot be computed as one; false by default.
  bool setDecomposable(bool decomposable) noexcept { return mImpl->setDecomposable(decomposable); }

  //! The value given to setDecomposable(), or its default.
  bool getDecomposable() const noexcept { return mImpl->getDecomposable(); }

  //! Replaces an input: 0 query, 1 key, 2 value. Returns false beyond the end.
  bool setInput(int32_t index, ITensor& input) noexcept { return mImpl->setInput(index, input); }

  //! How many inputs there are.
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }

  //! The input with the index; nullptr beyond the end.
  ITensor* getInput(int32_t index) const noexcept { return mImpl->getInput(index); }

  //! How many outputs there are: 1.
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

  //! The output with the index; nullptr beyond the end.
  ITensor* getOutput(int32_t index) const noexcept { return mImpl->getOutput(index); }

  //! Sets the name, which the network copies.
  bool setName(const char* name) noexcept { return mImpl->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mImpl->getName(); }

  //! Sets a scale to quantize the normalized products with.
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept { return mImpl->setNormalizationQuantizeScale(tensor); }

  //! The value given to setNormalizationQuantizeScale(), or its default.
  ITensor* getNormalizationQuantizeScale() const noexcept { return mImpl->getNormalizationQuantizeScale(); }

  //! Sets the type they are quantized to, kFP8 or kINT8.
  bool setNormalizationQuantizeToType(DataType type) noexcept { return mImpl->setNormalizationQuantizeToType(type); }

  //! The value given to setNormalizationQuantizeToType(), or its default.
  DataType getNormalizationQuantizeToType() const noexcept { return mImpl->getNormalizationQuantizeToType(); }

  //! Sets text that the inspector shows; copied.
  bool setMetadata(const char* metadata) noexcept { return mImpl->setMetadata(metadata); }

  //! The value given to setMetadata(), or its default.
  const char* getMetadata() const noexcept { return mImpl->getMetadata(); }

  //! Sets how many devices share the attention; 1 by default.
  bool setNbRanks(int32_t nbRanks) noexcept { return mImpl->setNbRanks(nbRanks); }

  //! The value given to setNbRanks(), or its default.
  int32_t getNbRanks() const noexcept { return mImpl->getNbRanks(); }

 protected:
  virtual ~IAttention() noexcept = default;
  apiv::VAttention* mImpl;
};

//! Rotates pairs of elements by angles that depend on the position. Inputs: data [N, heads, length, width],
//! cosines, sines, and, if set as input 3, the positions.
class IRotaryEmbeddingLayer : public ILayer {
 public:
  //! Sets whether a pair is two neighbours, or one element of each half.
  void setInterleaved(bool interleaved) noexcept { mImpl->setInterleaved(interleaved); }

  //! The value given to setInterleaved(), or its default.
  bool getInterleaved() const noexcept { return mImpl->getInterleaved(); }

  //! Sets how many elements of the last axis are rotated; 0 for all. Returns false for a negative number.
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept {
    return mImpl->setRotaryEmbeddingDim(rotaryEmbeddingDim);
  }

  //! The value given to setRotaryEmbeddingDim(), or its default.
  int32_t getRotaryEmbeddingDim() const noexcept { return mImpl->getRotaryEmbeddingDim(); }

  using ILayer::setInput;

 protected:
  virtual ~IRotaryEmbeddingLayer() noexcept = default;
  apiv::VRotaryEmbeddingLayer* mImpl;
};

//! How a cache of keys or values is filled.
enum class KVCacheMode : int32_t {
  kLINEAR = 0,  //!< One place after the other.
};

template <>
struct impl::EnumMaxImpl<KVCacheMode> {
  static constexpr int32_t kVALUE = 1;
};

//! Writes new keys or values into a cache, in place. Inputs: cache [N, heads, capacity, width], update [N, heads,
//! length, width], where to start writing in each sample.
class IKVCacheUpdateLayer : public ILayer {
 public:
  //! Sets how the cache is filled. Returns false for what is no such mode.
  bool setCacheMode(KVCacheMode cacheMode) noexcept { return mImpl->setCacheMode(cacheMode); }

  //! The value given to setCacheMode(), or its default.
  KVCacheMode getCacheMode() const noexcept { return mImpl->getCacheMode(); }

  using ILayer::setInput;

 protected:
  virtual ~IKVCacheUpdateLayer() noexcept = default;
  apiv::VKVCacheUpdateLayer* mImpl;
};

//! The activation in an expert.
enum class MoEActType : int32_t {
  kNONE = 0,  //!< None.
  kSILU = 1,  //!< x / (1 + exp(-x))
};

template <>
struct impl::EnumMaxImpl<MoEActType> {
  static constexpr int32_t kVALUE = 2;
};

//! A mixture of experts: each token goes through a few of many small networks, whose results are added by score.
//! Inputs: hidden states, the experts of each token, their scores.
class IMoELayer : public ILayer {
 public:
  //! Sets the matrices of all experts: down(act(gate(x)) * up(x)).
  void setGatedWeights(ITensor& fcGateWeights, ITensor& fcUpWeights, ITensor& fcDownWeights,
                       MoEActType activationType) noexcept {
    mImpl->setGatedWeights(fcGateWeights, fcUpWeights, fcDownWeights, activationType);
  }

  //! Sets what is added after each matrix.
  void setGatedBiases(ITensor& fcGateBiases, ITensor& fcUpBiases, ITensor& fcDownBiases) noexcept {
    mImpl->setGatedBiases(fcGateBiases, fcUpBiases, fcDownBiases);
  }

  //! Sets the activation.
  void setActivationType(MoEActType activationType) noexcept { mImpl->setActivationType(activationType); }

  //! The value given to setActivationType(), or its default.
  MoEActType getActivationType() const noexcept { return mImpl->getActivationType(); }

  //! Sets that the input of the last matrix is quantized with a given scale.
  void setQuantizationStatic(ITensor& fcDownActivationScale, DataType dataType) noexcept {
    mImpl->setQuantizationStatic(fcDownActivationScale, dataType);
  }

  //! Sets that the input of the last matrix is quantized in blocks with computed scales, which are quantized with a
  //! given scale.
  void setQuantizationDynamicDblQ(ITensor& fcDownActivationDblQScale, DataType dataType, const Dims& blockShape,
                                  DataType dynQOutputScaleType) noexcept {
    mImpl->setQuantizationDynamicDblQ(fcDownActivationDblQScale, dataType, blockShape, dynQOutputScaleType);
  }

  //! Sets the type it is quantized to.
  void setQuantizationToType(DataType type) noexcept { mImpl->setQuantizationToType(type); }

  //! The value given to setQuantizationToType(), or its default.
  DataType getQuantizationToType() const noexcept { return mImpl->getQuantizationToType(); }

  //! Sets the shape of the blocks.
  void setQuantizationBlockShape(const Dims& blockShape) noexcept { mImpl->setQuantizationBlockShape(blockShape); }

  //! The value given to setQuantizationBlockShape(), or its default.
  Dims getQuantizationBlockShape() const noexcept { return mImpl->getQuantizationBlockShape(); }

  //! Sets the type of the computed scales.
  void setDynQOutputScaleType(DataType type) noexcept { mImpl->setDynQOutputScaleType(type); }

  //! The value given to setDynQOutputScaleType(), or its default.
  DataType getDynQOutputScaleType() const noexcept { return mImpl->getDynQOutputScaleType(); }

  //! Sets the three numbers below at once.
  void setSwigluParams(float limit, float alpha, float beta) noexcept { mImpl->setSwigluParams(limit, alpha, beta); }

  //! Sets the bound that gate and up values are clipped to; infinity by default.
  void setSwigluParamLimit(float limit) noexcept { mImpl->setSwigluParamLimit(limit); }

  //! The value given to setSwigluParamLimit(), or its default.
  float getSwigluParamLimit() const noexcept { return mImpl->getSwigluParamLimit(); }

  //! Sets the factor inside the sigmoid; 1 by default.
  void setSwigluParamAlpha(float alpha) noexcept { mImpl->setSwigluParamAlpha(alpha); }

  //! The value given to setSwigluParamAlpha(), or its default.
  float getSwigluParamAlpha() const noexcept { return mImpl->getSwigluParamAlpha(); }

  //! Sets what is added to the up values; 0 by default.
  void setSwigluParamBeta(float beta) noexcept { mImpl->setSwigluParamBeta(beta); }

  //! The value given to setSwigluParamBeta(), or its default.
  float getSwigluParamBeta() const noexcept { return mImpl->getSwigluParamBeta(); }

  //! Replaces the input with the index.
  void setInput(int32_t index, ITensor& tensor) noexcept { mImpl->setInput(index, tensor); }

  using ILayer::setInput;

 protected:
  virtual ~IMoELayer() noexcept = default;
  apiv::VMoELayer* mImpl;
};

//! Exchanges data between devices.
class IDistCollectiveLayer : public ILayer {
 protected:
  virtual ~IDistCollectiveLayer() noexcept = default;
  apiv::VDistCollectiveLayer* mImpl;
};

//! How several devices exchange data.
enum class CollectiveOperation : int32_t {
  kALL_REDUCE = 0,      //!< All get the reduction of all.
  kALL_GATHER = 1,      //!< All get what each has, one after the other.
  kBROADCAST = 2,       //!< All get what the root has.
  kREDUCE = 3,          //!< The root gets the reduction of all.
  kREDUCE_SCATTER = 4,  //!< Each gets its part of the reduction of all.
};

template <>
struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = 5;
};

//! How a network is made.
enum class NetworkDefinitionCreationFlag : int32_t {
  kEXPLICIT_BATCH TRT_DEPRECATED_ENUM = 0,  //!< Has no effect: the batch is always an extent like the others.
  kSTRONGLY_TYPED =
      1,  //!< Types follow from the inputs and the layers alone; precision flags and requests do not count.
  kPREFER_JIT_PYTHON_PLUGINS = 2,  //!< Python plugins are compiled when they run, if they can be.
  kPREFER_AOT_PYTHON_PLUGINS = 3,  //!< Python plugins are compiled when the engine is built, if they can be.
};

template <>
struct impl::EnumMaxImpl<NetworkDefinitionCreationFlag> {
  static constexpr int32_t kVALUE = 4;
};

//! A graph of layers and tensors that a builder turns into an engine. Functions that add something return nullptr
//! if an argument is invalid; the reason goes to the error recorder or the logger. Release it with delete.
class INetworkDefinition : public INoCopy {
 public:
  virtual ~INetworkDefinition() noexcept = default;

  //! Adds an input with a name, a type and a shape, -1 for extents that vary.
  ITensor* addInput(const char* name, DataType type, const Dims& dimensions) noexcept {
    return mImpl->addInput(name, type, dimensions);
  }

  //! Makes a tensor an output.
  void markOutput(ITensor& tensor) noexcept { mImpl->markOutput(tensor); }

  //! Makes a tensor visible to a debug listener. Returns false if it is already.
  bool markDebug(ITensor& tensor) noexcept { return mImpl->markDebug(tensor); }

  //! Takes markDebug() back. Returns false if it was not marked.
  bool unmarkDebug(ITensor& tensor) noexcept { return mImpl->unmarkDebug(tensor); }

  //! Whether a tensor is marked for debugging.
  bool isDebugTensor(const ITensor& tensor) const noexcept { return mImpl->isDebugTensor(tensor); }

  //! Makes all tensors visible to a debug listener that fusion leaves over.
  bool markUnfusedTensorsAsDebugTensors() noexcept { return mImpl->markUnfusedTensorsAsDebugTensors(); }

  //! Takes markUnfusedTensorsAsDebugTensors() back.
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept { return mImpl->unmarkUnfusedTensorsAsDebugTensors(); }

  //! Adds a function of each element.
  IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept {
    return mImpl->addActivation(input, type);
  }

  //! Adds a local response normalization; see ILRNLayer for the numbers.
  ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept {
    return mImpl->addLRN(input, window, alpha, beta, k);
  }

  //! Adds a scale layer for tensors of [N, C, H, W].
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power) noexcept {
    return mImpl->addScale(input, mode, shift, scale, power);
  }

  //! Adds a softmax.
  ISoftMaxLayer* addSoftMax(ITensor& input) noexcept { return mImpl->addSoftMax(input); }

  //! Adds a concatenation of `nbInputs` tensors.
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept {
    return mImpl->addConcatenation(inputs, nbInputs);
  }

  //! Adds an operation on two tensors.
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2, ElementWiseOperation op) noexcept {
    return mImpl->addElementWise(input1, input2, op);
  }

  //! Adds a function of each element.
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept { return mImpl->addUnary(input, operation); }

  //! Adds a transposition and reshape.
  IShuffleLayer* addShuffle(ITensor& input) noexcept { return mImpl->addShuffle(input); }

  //! Adds a one-hot encoding: the row has the length `depth`, with values[1] at the index and values[0] elsewhere.
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth, int32_t axis) noexcept {
    return mImpl->addOneHot(indices, values, depth, axis);
  }

  //! How many layers there are.
  int32_t getNbLayers() const noexcept { return mImpl->getNbLayers(); }

  //! The layer with the index, in the order of adding; nullptr beyond the end.
  ILayer* getLayer(int32_t index) const noexcept { return mImpl->getLayer(index); }

  //! How many inputs there are.
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }

  //! The input with the index; nullptr beyond the end.
  ITensor* getInput(int32_t index) const noexcept { return mImpl->getInput(index); }

  //! How many outputs there are, with those for shapes.
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

  //! The output with the index; nullptr beyond the end.
  ITensor* getOutput(int32_t index) const noexcept { return mImpl->getOutput(index); }

  //! Adds a reduction over axes, bit n for axis n.
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                          bool keepDimensions) noexcept {
    return mImpl->addReduce(input, operation, reduceAxes, keepDimensions);
  }

  //! Adds a search for the k first elements along an axis.
  //! \deprecated Since 10.14; use the overload with more arguments.
  TRT_DEPRECATED ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes) noexcept {
    return mImpl->addTopK(input, op, k, reduceAxes);
  }

  //! The same with a type of the indices.
  ITopKLayer* addTopK(ITensor& input, TopKOperation op, int32_t k, uint32_t reduceAxes, DataType indicesType) noexcept {
    return mImpl->addTopKV2(input, op, k, reduceAxes, indicesType);
  }

  //! Adds a gather in the mode kDEFAULT.
  IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept {
    return mImpl->addGather(data, indices, axis);
  }

  //! Adds a gather.
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept {
    return mImpl->addGatherV2(data, indices, mode);
  }

  //! Adds a softmax over rows of different lengths.
  IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept {
    return mImpl->addRaggedSoftMax(input, bounds);
  }

  //! Adds a matrix multiplication.
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation op0, ITensor& input1,
                                          MatrixOperation op1) noexcept {
    return mImpl->addMatrixMultiply(input0, op0, input1, op1);
  }

  //! Adds a search for elements that are not zero.
  //! \deprecated Since 10.14; use the overload with more arguments.
  TRT_DEPRECATED INonZeroLayer* addNonZero(ITensor& input) noexcept { return mImpl->addNonZero(input); }

  //! The same with a type of the indices.
  INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept {
    return mImpl->addNonZeroV2(input, indicesType);
  }

  //! Adds a tensor of given values, which must stay alive until the engine is built.
  IConstantLayer* addConstant(const Dims& dimensions, Weights weights) noexcept {
    return mImpl->addConstant(dimensions, weights);
  }

  //! Adds a copy.
  IIdentityLayer* addIdentity(ITensor& input) noexcept { return mImpl->addIdentity(input); }

  //! Adds a conversion to another type.
  ICastLayer* addCast(ITensor& input, DataType toType) noexcept { return mImpl->addCast(input, toType); }

  //! Removes a tensor from the network, if it is no input of a layer.
  void removeTensor(ITensor& tensor) noexcept { mImpl->removeTensor(tensor); }

  //! Takes markOutput() back.
  void unmarkOutput(ITensor& tensor) noexcept { mImpl->unmarkOutput(tensor); }

  //! Adds a plugin of the IPluginV2 family; the network makes a copy.
  //! \deprecated Since 10.8; use addPluginV3().
  TRT_DEPRECATED IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs, IPluginV2& plugin) noexcept {
    return mImpl->addPluginV2(inputs, nbInputs, plugin);
  }

  //! Adds a plugin with inputs and shape inputs; the network makes a copy.
  IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                              int32_t nbShapeInputs, IPluginV3& plugin) noexcept {
    return mImpl->addPluginV3(inputs, nbInputs, shapeInputs, nbShapeInputs, plugin);
  }

  //! Adds a slice.
  ISliceLayer* addSlice(ITensor& input, const Dims& start, const Dims& size, const Dims& stride) noexcept {
    return mImpl->addSlice(input, start, size, stride);
  }

  //! Sets the name of the network, which the engine gets too; copied, at most 4096 bytes.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mImpl->getName(); }

  //! Adds the shape of a tensor as a tensor.
  IShapeLayer* addShape(ITensor& input) noexcept { return mImpl->addShape(input); }

  //! Always false: the batch is an extent like the others.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept { return mImpl->hasImplicitBatchDimension(); }

  //! The flags that the network was made with, bit n for the flag n.
  NetworkDefinitionCreationFlags getFlags() const noexcept { return mImpl->getFlags(); }

  //! Whether the network was made with a flag.
  bool getFlag(NetworkDefinitionCreationFlag networkDefinitionCreationFlag) const noexcept {
    return mImpl->getFlag(networkDefinitionCreationFlag);
  }

  //! Makes the values of a shape tensor an output on the host. Returns false if it cannot be one.
  bool markOutputForShapes(ITensor& tensor) noexcept { return mImpl->markOutputForShapes(tensor); }

  //! Takes markOutputForShapes() back.
  bool unmarkOutputForShapes(ITensor& tensor) noexcept { return mImpl->unmarkOutputForShapes(tensor); }

  //! Adds a leaky ReLU with slopes from a tensor.
  IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept {
    return mImpl->addParametricReLU(input, slope);
  }

  //! Adds a convolution with a window of two or three extents.
  IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, const Dims& kernelSize,
                                      Weights kernelWeights, Weights biasWeights) noexcept {
    return mImpl->addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
  }

  //! Adds a pooling with a window of two or three extents.
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, const Dims& windowSize) noexcept {
    return mImpl->addPoolingNd(input, type, windowSize);
  }

  //! Adds a deconvolution with a window of two or three extents.
  IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims kernelSize, Weights kernelWeights,
                                          Weights biasWeights) noexcept {
    return mImpl->addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
  }

  //! Adds a scale layer with a channel axis.
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale, Weights power,
                          int32_t channelAxis) noexcept {
    return mImpl->addScaleNd(input, mode, shift, scale, power, channelAxis);
  }

  //! Adds a resize.
  IResizeLayer* addResize(ITensor& input) noexcept { return mImpl->addResize(input); }

  //! Adds a loop.
  ILoop* addLoop() noexcept { return mImpl->addLoop(); }

  //! Adds a conditional.
  IIfConditional* addIfConditional() noexcept { return mImpl->addIfConditional(); }

  //! Adds a choice between two tensors for each element.
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept {
    return mImpl->addSelect(condition, thenInput, elseInput);
  }

  //! Adds a check of bools, with the message for a failure.
  IAssertionLayer* addAssertion(ITensor& condition, const char* message) noexcept {
    return mImpl->addAssertion(condition, message);
  }

  //! Adds a tensor of regular or random numbers of type kFLOAT.
  //! \deprecated Since 9.0; use the overload with more arguments.
  TRT_DEPRECATED IFillLayer* addFill(const Dims& dimensions, FillOperation op) noexcept {
    return mImpl->addFill(dimensions, op);
  }

  //! The same with a type.
  IFillLayer* addFill(const Dims& dimensions, FillOperation op, DataType outputType) noexcept {
    return mImpl->addFillV2(dimensions, op, outputType);
  }

  //! Adds zeros around the last two axes.
  IPaddingLayer* addPaddingNd(ITensor& input, const Dims& prePadding, const Dims& postPadding) noexcept {
    return mImpl->addPaddingNd(input, prePadding, postPadding);
  }

  //! Names weights of a layer, so that a refit can find them. The name is copied. Returns false if no layer has
  //! these weights.
  bool setWeightsName(Weights weights, const char* name) noexcept { return mImpl->setWeightsName(weights, name); }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  //! Adds a dequantization to kFLOAT.
  //! \deprecated Since 9.0; use the overload with more arguments.
  TRT_DEPRECATED IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept {
    return mImpl->addDequantize(input, scale);
  }

  //! The same with a type.
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept {
    return mImpl->addDequantizeV2(input, scale, outputType);
  }

  //! Adds a scatter.
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates, ScatterMode mode) noexcept {
    return mImpl->addScatter(data, indices, updates, mode);
  }

  //! Adds a quantization to kINT8.
  //! \deprecated Since 9.0; use the overload with more arguments.
  TRT_DEPRECATED IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept {
    return mImpl->addQuantize(input, scale);
  }

  //! The same with a type.
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept {
    return mImpl->addQuantizeV2(input, scale, outputType);
  }

  //! Adds a quantization in blocks along an axis, with computed scales.
  TRT_DEPRECATED IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                                           DataType outputType, DataType scaleType) noexcept {
    return mImpl->addDynamicQuantize(input, axis, blockSize, outputType, scaleType);
  }

  //! Adds a quantization in blocks, with computed scales.
  IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, const Dims& blockShape, DataType outputType,
                                              DataType scaleType) noexcept {
    return mImpl->addDynamicQuantizeV2(input, blockShape, outputType, scaleType);
  }

  //! Adds a sum of products over indices.
  IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept {
    return mImpl->addEinsum(inputs, nbInputs, equation);
  }

  //! Adds a reading of an image at places that a grid gives.
  IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept { return mImpl->addGridSample(input, grid); }

  //! Adds a suppression of overlapping boxes.
  //! \deprecated Since 10.14; use the overload with more arguments.
  TRT_DEPRECATED INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept {
    return mImpl->addNMS(boxes, scores, maxOutputBoxesPerClass);
  }

  //! The same with a type of the indices.
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass, DataType indicesType) noexcept {
    return mImpl->addNMSV2(boxes, scores, maxOutputBoxesPerClass, indicesType);
  }

  //! Adds a reversal of sequences.
  IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLens) noexcept {
    return mImpl->addReverseSequence(input, sequenceLens);
  }

  //! Adds a normalization whose scale and bias may be repeated over the axes it normalizes.
  //! \deprecated Since 10.15; use addNormalizationV2().
  TRT_DEPRECATED INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                                       uint32_t axesMask) noexcept {
    return mImpl->addNormalization(input, scale, bias, axesMask);
  }

  //! Adds an accumulation along an axis.
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation, bool exclusive,
                                  bool reverse) noexcept {
    return mImpl->addCumulative(input, axis, operation, exclusive, reverse);
  }

  //! Adds an attention.
  IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value, AttentionNormalizationOp normOp,
                           bool causal) noexcept {
    return mImpl->addAttention(query, key, value, normOp, causal);
  }

  //! Adds a rotary embedding.
  IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache, bool interleaved,
                                            int32_t rotaryEmbeddingDim) noexcept {
    return mImpl->addRotaryEmbedding(input, cosCache, sinCache, interleaved, rotaryEmbeddingDim);
  }

  //! Adds an update of a cache of keys or values.
  IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                        KVCacheMode cacheMode) noexcept {
    return mImpl->addKVCacheUpdate(cache, update, writeIndices, cacheMode);
  }

  //! Adds a mixture of experts.
  IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExpertsForTokens,
                    ITensor& scoresForSelectedExperts) noexcept {
    return mImpl->addMoE(hiddenStates, selectedExpertsForTokens, scoresForSelectedExperts);
  }

  //! Adds an exchange between devices. `root` is -1 where no device is special; `groups` lists the ranks that take
  //! part, nullptr for all.
  IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
                                          ReduceOperation reduceOp, int64_t root, int64_t* groups,
                                          int64_t groupSize) noexcept {
    return mImpl->addDistCollective(input, distCollectiveOp, reduceOp, root, groups, groupSize);
  }

  //! The builder that made the network.
  virtual IBuilder& getBuilder() const noexcept { return mImpl->getBuilder(); }

  //! Lets a refit change the weights with the name, for BuilderFlag::kREFIT_INDIVIDUAL. Returns false if there are
  //! none.
  bool markWeightsRefittable(const char* name) noexcept { return mImpl->markWeightsRefittable(name); }

  //! Takes markWeightsRefittable() back.
  bool unmarkWeightsRefittable(const char* name) noexcept { return mImpl->unmarkWeightsRefittable(name); }

  //! Whether the weights with the name were marked.
  bool areWeightsMarkedRefittable(const char* name) const noexcept { return mImpl->areWeightsMarkedRefittable(name); }

  //! Adds a removal of axes.
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept { return mImpl->addSqueeze(input, axes); }

  //! Adds an insertion of axes.
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept { return mImpl->addUnsqueeze(input, axes); }

  //! Adds a normalization whose scale and bias have the extents that the definitions in common use give them.
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias, uint32_t axesMask) noexcept {
    return mImpl->addNormalizationV2(input, scale, bias, axesMask);
  }

 protected:
  apiv::VNetworkDefinition* mImpl;
};

//! How ranges are found from samples.
enum class CalibrationAlgoType : int32_t {
  kLEGACY_CALIBRATION TRT_DEPRECATED_ENUM = 0,     //!< From quantiles and a regression that the calibrator chooses.
  kENTROPY_CALIBRATION TRT_DEPRECATED_ENUM = 1,    //!< By least loss of information.
  kENTROPY_CALIBRATION_2 TRT_DEPRECATED_ENUM = 2,  //!< The same, after fusion.
  kMINMAX_CALIBRATION TRT_DEPRECATED_ENUM = 3,     //!< From the smallest and the largest value.
};

template <>
struct impl::EnumMaxImpl<CalibrationAlgoType> {
  static constexpr int32_t kVALUE = 4;
};

//! Provides samples from which the ranges of int8 tensors are found; implemented by programs.
//! \deprecated Since 10.1.
class TRT_DEPRECATED IInt8Calibrator : public IVersionedInterface {
 public:
  //! How many samples one batch has.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED virtual int32_t getBatchSize() const noexcept = 0;

  //! Writes to `bindings` where, in device memory, the next batch of the inputs `names` is. Returns false after the
  //! last one.
  virtual bool getBatch(void* bindings[], const char* names[], int32_t nbBindings) noexcept = 0;

  //! The result of an earlier calibration and its length; nullptr to calibrate anew.
  virtual const void* readCalibrationCache(std::size_t& length) noexcept = 0;

  //! Is given the result of a calibration.
  virtual void writeCalibrationCache(const void* ptr, std::size_t length) noexcept = 0;

  //! How ranges are found.
  virtual CalibrationAlgoType getAlgorithm() noexcept = 0;

  ~IInt8Calibrator() noexcept override = default;
};

namespace v_1_0 {

//! Finds ranges by least loss of information.
class TRT_DEPRECATED IInt8EntropyCalibrator : public IInt8Calibrator {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IInt8EntropyCalibrator", 1, 0}; }

  //! The way of this class of calibrators.
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kENTROPY_CALIBRATION; }

  ~IInt8EntropyCalibrator() noexcept override = default;
};

//! Finds ranges by least loss of information, after fusion.
class TRT_DEPRECATED IInt8EntropyCalibrator2 : public IInt8Calibrator {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IInt8EntropyCalibrator2", 1, 0}; }

  //! The way of this class of calibrators.
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kENTROPY_CALIBRATION_2; }

  ~IInt8EntropyCalibrator2() noexcept override = default;
};

//! Finds ranges from the smallest and the largest value.
class TRT_DEPRECATED IInt8MinMaxCalibrator : public IInt8Calibrator {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IInt8MinMaxCalibrator", 1, 0}; }

  //! The way of this class of calibrators.
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kMINMAX_CALIBRATION; }

  ~IInt8MinMaxCalibrator() noexcept override = default;
};

//! Finds ranges from quantiles and a regression.
class TRT_DEPRECATED IInt8LegacyCalibrator : public IInt8Calibrator {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IInt8Calibrator", 1, 0}; }

  //! The way of this class of calibrators.
  CalibrationAlgoType getAlgorithm() noexcept override { return CalibrationAlgoType::kLEGACY_CALIBRATION; }

  //! The share of values that the range covers, from 0 to 1.
  virtual double getQuantile() const noexcept = 0;

  //! The share of the largest value below which the regression stops, from 0 to 1.
  virtual double getRegressionCutoff() const noexcept = 0;

  //! Histograms of an earlier calibration and their length; nullptr to make them anew.
  virtual const void* readHistogramCache(std::size_t& length) noexcept = 0;

  //! Is given the histograms of a calibration.
  virtual void writeHistogramCache(const void* ptr, std::size_t length) noexcept = 0;

  ~IInt8LegacyCalibrator() noexcept override = default;
};

}  // namespace v_1_0

using IInt8EntropyCalibrator = v_1_0::IInt8EntropyCalibrator;
using IInt8EntropyCalibrator2 = v_1_0::IInt8EntropyCalibrator2;
using IInt8MinMaxCalibrator = v_1_0::IInt8MinMaxCalibrator;
using IInt8LegacyCalibrator = v_1_0::IInt8LegacyCalibrator;

//! The form of an input or output of an implementation.
//! \deprecated Since 10.8.
class TRT_DEPRECATED IAlgorithmIOInfo : public INoCopy {
 public:
  //! The element type.
  DataType getDataType() const noexcept { return mImpl->getDataType(); }

  //! The strides in elements, or in vectors for vectorized formats.
  Dims getStrides() const noexcept { return mImpl->getStrides(); }

  //! The axis whose elements lie side by side; -1 if there is none.
  int64_t getVectorizedDim() const noexcept { return mImpl->getVectorizedDim(); }

  //! How many elements lie side by side; 1 if the format is not vectorized.
  int64_t getComponentsPerElement() const noexcept { return mImpl->getComponentsPerElement(); }

 protected:
  virtual ~IAlgorithmIOInfo() noexcept = default;
  apiv::VAlgorithmIOInfo* mImpl;
};

//! The identity of an implementation, the same in every build on the same device.
//! \deprecated Since 10.8.
class TRT_DEPRECATED IAlgorithmVariant : public INoCopy {
 public:
  //! The number of the implementation.
  int64_t getImplementation() const noexcept { return mImpl->getImplementation(); }

  //! The number of the variant of it.
  int64_t getTactic() const noexcept { return mImpl->getTactic(); }

 protected:
  virtual ~IAlgorithmVariant() noexcept = default;
  apiv::VAlgorithmVariant* mImpl;
};

//! The layer or fused layers that an implementation is chosen for.
//! \deprecated Since 10.8.
class TRT_DEPRECATED IAlgorithmContext : public INoCopy {
 public:
  //! The name of the layer.
  const char* getName() const noexcept { return mImpl->getName(); }

  //! A shape of the input or output with the index, inputs first.
  Dims getDimensions(int32_t index, OptProfileSelector select) const noexcept {
    return mImpl->getDimensions(index, select);
  }

  //! How many inputs there are.
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }

  //! How many outputs there are.
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

 protected:
  virtual ~IAlgorithmContext() noexcept = default;
  apiv::VAlgorithmContext* mImpl;
};

//! An implementation that can be chosen.
//! \deprecated Since 10.8.
class TRT_DEPRECATED IAlgorithm : public INoCopy {
 public:
  //! Its identity.
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept { return mImpl->getAlgorithmVariant(); }

  //! The milliseconds it was measured at; 0 if it was not measured.
  float getTimingMSec() const noexcept { return mImpl->getTimingMSec(); }

  //! The bytes of scratch memory it needs.
  std::size_t getWorkspaceSize() const noexcept { return mImpl->getWorkspaceSize(); }

  //! The form of the input or output with the index, inputs first; nullptr beyond the end.
  const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept {
    return mImpl->getAlgorithmIOInfoByIndex(index);
  }

 protected:
  virtual ~IAlgorithm() noexcept = default;
  apiv::VAlgorithm* mImpl;
};

namespace v_1_0 {

//! Chooses which implementations are tried; implemented by programs.
class TRT_DEPRECATED IAlgorithmSelector : public IVersionedInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IAlgorithmSelector", 1, 0}; }

  //! Writes the indices of the choices to be tried to `selection`. Returns how many; 0 leaves none, a negative
  //! number is an error.
  virtual int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                                   int32_t nbChoices, int32_t* selection) noexcept = 0;

  //! Tells which implementations were taken.
  virtual void reportAlgorithms(const IAlgorithmContext* const* algoContexts, const IAlgorithm* const* algoChoices,
                                int32_t nbAlgorithms) noexcept = 0;

  virtual ~IAlgorithmSelector() noexcept = default;
};

//! The identity of a question that the timing cache answers.
struct TimingCacheKey {
  //! The bytes of it.
  uint8_t data[16];
};

//! An answer of the timing cache.
struct TimingCacheValue {
  //! Stands for no tactic.
  static constexpr uint64_t kINVALID_TACTIC_HASH = UINT64_MAX;
  //! The identity of the best tactic.
  uint64_t tacticHash;
  //! The milliseconds it took.
  float timingMSec;
};

}  // namespace v_1_0

using IAlgorithmSelector = v_1_0::IAlgorithmSelector;
using TimingCacheKey = v_1_0::TimingCacheKey;
using TimingCacheValue = v_1_0::TimingCacheValue;

//! Measured times of implementations, kept between builds. Release it with delete.
class ITimingCache : public INoCopy {
 public:
  virtual ~ITimingCache() noexcept = default;

  //! The cache as bytes, which the caller releases; nullptr on failure.
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }

  //! Adds the entries of another cache. Returns false if it comes from another device or version and
  //! `ignoreMismatch` is false.
  bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept {
    return mImpl->combine(inputCache, ignoreMismatch);
  }

  //! Removes all entries.
  bool reset() noexcept { return mImpl->reset(); }

  //! Writes up to `capacity` keys. Returns how many entries there are; -1 on error.
  int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept {
    return mImpl->queryKeys(keyBuffer, capacity);
  }

  //! The entry of a key; its tactic is kINVALID_TACTIC_HASH if there is none.
  TimingCacheValue query(const TimingCacheKey& key) const noexcept { return mImpl->query(key); }

  //! Changes the entry of a key; needs BuilderFlag::kEDITABLE_TIMING_CACHE. Returns false if that is not possible.
  bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept { return mImpl->update(key, value); }

 protected:
  apiv::VTimingCache* mImpl;
};

namespace v_1_0 {

//! Is told how far a build is, and may stop it; implemented by programs. May be called from several threads.
class IProgressMonitor : public IVersionedInterface {
 public:
  IProgressMonitor() = default;
  virtual ~IProgressMonitor() noexcept = default;

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IProgressMonitor", 1, 0}; }

  //! A phase with so many steps begins, inside another phase or, with nullptr, at the top.
  virtual void phaseStart(const char* phaseName, const char* parentPhase, int32_t nbSteps) noexcept = 0;

  //! A step of a phase is done. Returns false to stop the build.
  virtual bool stepComplete(const char* phaseName, int32_t step) noexcept = 0;

  //! A phase is over, maybe before its last step.
  virtual void phaseFinish(const char* phaseName) noexcept = 0;
};

}  // namespace v_1_0

using IProgressMonitor = v_1_0::IProgressMonitor;

//! How int8 is brought in.
enum class QuantizationFlag : int32_t {
  kCALIBRATE_BEFORE_FUSION TRT_DEPRECATED_ENUM =
      0,  //!< Ranges are found on the layers of the network, not on the fused ones.
};

template <>
struct impl::EnumMaxImpl<QuantizationFlag> {
  static constexpr int32_t kVALUE = 1;
};

//! Where an engine shall run.
enum class RuntimePlatform : int32_t {
  kSAME_AS_BUILD = 0,  //!< On the platform it is built on.
  kWINDOWS_AMD64 = 1,  //!< On 64-bit Windows, while built on Linux.
};

template <>
struct impl::EnumMaxImpl<RuntimePlatform> {
  static constexpr int32_t kVALUE = 2;
};

//! Switches of a build; only kTF32 is on by default.
enum class BuilderFlag : int32_t {
  kFP16 TRT_DEPRECATED_ENUM = 0,                        //!< Layers may be computed in kHALF.
  kINT8 TRT_DEPRECATED_ENUM = 1,                        //!< Layers may be computed in kINT8.
  kDEBUG = 2,                                           //!< Waits and checks after each layer.
  kGPU_FALLBACK = 3,                                    //!< Layers that DLA does not support run on the GPU.
  kREFIT = 4,                                           //!< All weights can be refitted.
  kDISABLE_TIMING_CACHE = 5,                            //!< Measured times are not reused, not even within the build.
  kTF32 = 6,                                            //!< kFLOAT may be rounded to 10 mantissa bits inside products.
  kSPARSE_WEIGHTS = 7,                                  //!< Weights with two zeros in each four may use faster kernels.
  kSAFETY_SCOPE TRT_DEPRECATED_ENUM = 8,                //!< Only what the safe runtime supports.
  kOBEY_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 9,  //!< Types asked for are kept, or the build fails.
  kPREFER_PRECISION_CONSTRAINTS TRT_DEPRECATED_ENUM = 10,  //!< Types asked for are kept, or a warning says why not.
  kDIRECT_IO TRT_DEPRECATED_ENUM = 11,  //!< Inputs and outputs are used in the given format, or the build fails.
  kREJECT_EMPTY_ALGORITHMS TRT_DEPRECATED_ENUM = 12,  //!< The build fails if an algorithm selector leaves nothing.
  kVERSION_COMPATIBLE = 13,                           //!< Later versions can load the engine.
  kEXCLUDE_LEAN_RUNTIME = 14,                         //!< An engine for later versions does not carry its runtime.
  kFP8 TRT_DEPRECATED_ENUM = 15,                      //!< Layers may be computed in kFP8.
  kERROR_ON_TIMING_CACHE_MISS = 16,                   //!< The build fails where it would have to measure.
  kBF16 TRT_DEPRECATED_ENUM = 17,                     //!< Layers may be computed in kBF16.
  kDISABLE_COMPILATION_CACHE = 18,                    //!< Compiled code is not put into the timing cache.
  kSTRIP_PLAN = 19,                                   //!< Weights that can be refitted are left out of the engine.
  kWEIGHTLESS TRT_DEPRECATED_ENUM = 19,               //!< The older name of kSTRIP_PLAN.
  kREFIT_IDENTICAL = 20,           //!< All weights can be refitted, and will be with the same values.
  kWEIGHT_STREAMING = 21,          //!< Weights may stay on the host; for strongly typed networks.
  kINT4 TRT_DEPRECATED_ENUM = 22,  //!< Weights may be kINT4.
  kREFIT_INDIVIDUAL = 23,          //!< Weights that are marked can be refitted.
  kSTRICT_NANS = 24,               //!< Nothing is simplified that would lose a not-a-number.
  kMONITOR_MEMORY = 25,            //!< Tells how much memory the build uses.
  kFP4 TRT_DEPRECATED_ENUM = 26,   //!< Layers may be computed in kFP4.
  kEDITABLE_TIMING_CACHE = 27,     //!< The timing cache tells its entries and lets them be changed.
  kDISTRIBUTIVE_INDEPENDENCE =
      28,  //!< Layers with equal attributes and extents give equal results wherever they stand along the batch.
};

template <>
struct impl::EnumMaxImpl<BuilderFlag> {
  static constexpr int32_t kVALUE = 29;
};

//! Kinds of memory with a limit.
enum class MemoryPoolType : int32_t {
  kWORKSPACE = 0,             //!< Scratch memory of single layers.
  kDLA_MANAGED_SRAM = 1,      //!< Fast memory of DLA for one loadable.
  kDLA_LOCAL_DRAM = 2,        //!< Memory for intermediate tensors of DLA.
  kDLA_GLOBAL_DRAM = 3,       //!< Memory for weights of DLA.
  kTACTIC_DRAM = 4,           //!< Device memory while implementations are measured.
  kTACTIC_SHARED_MEMORY = 5,  //!< Shared memory of a kernel.
};

template <>
struct impl::EnumMaxImpl<MemoryPoolType> {
  static constexpr int32_t kVALUE = 6;
};

//! Features that may still change.
enum class PreviewFeature : int32_t {
  kPROFILE_SHARING_0806 TRT_DEPRECATED_ENUM = 0,  //!< Contexts may share a profile; always on.
  kALIASED_PLUGIN_IO_10_03 = 1,                   //!< Plugins may write to their inputs.
  kRUNTIME_ACTIVATION_RESIZE_10_10 = 2,           //!< Contexts may need less memory for smaller shapes.
  kMULTIDEVICE_RUNTIME_10_16 = 3,                 //!< Engines may span several devices.
};

template <>
struct impl::EnumMaxImpl<PreviewFeature> {
  static constexpr int32_t kVALUE = 4;
};

//! On which devices an engine runs.
enum class HardwareCompatibilityLevel : int32_t {
  kNONE = 0,                     //!< On those like the one it was built on.
  kAMPERE_PLUS = 1,              //!< On Ampere and later.
  kSAME_COMPUTE_CAPABILITY = 2,  //!< On those of the same compute capability.
};

template <>
struct impl::EnumMaxImpl<HardwareCompatibilityLevel> {
  static constexpr int32_t kVALUE = 3;
};

//! How long the build looks for ways to keep tensors in the cache.
enum class TilingOptimizationLevel : int32_t {
  kNONE = 0,      //!< Not at all.
  kFAST = 1,      //!< For a short time.
  kMODERATE = 2,  //!< For longer.
  kFULL = 3,      //!< Until all ways were tried.
};

template <>
struct impl::EnumMaxImpl<TilingOptimizationLevel> {
  static constexpr int32_t kVALUE = 4;
};

//! How an engine is built. Release it with delete.
class IBuilderConfig : public INoCopy {
 public:
  virtual ~IBuilderConfig() noexcept = default;

  //! Sets over how many runs a measured time is averaged; 1 by default.
  virtual void setAvgTimingIterations(int32_t avgTiming) noexcept { mImpl->setAvgTimingIterations(avgTiming); }

  //! The value given to setAvgTimingIterations(), or its default.
  int32_t getAvgTimingIterations() const noexcept { return mImpl->getAvgTimingIterations(); }

  //! Sets what the engine is for; kSTANDARD by default.
  void setEngineCapability(EngineCapability capability) noexcept { mImpl->setEngineCapability(capability); }

  //! The value given to setEngineCapability(), or its default.
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }

  //! Sets who provides samples for int8; nullptr for nobody.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED void setInt8Calibrator(IInt8Calibrator* calibrator) noexcept { mImpl->setInt8Calibrator(calibrator); }

  //! The value given to setInt8Calibrator(), or its default.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED IInt8Calibrator* getInt8Calibrator() const noexcept { return mImpl->getInt8Calibrator(); }

  //! Sets all switches at once, bit n for the flag n.
  void setFlags(BuilderFlags builderFlags) noexcept { mImpl->setFlags(builderFlags); }

  //! The value given to setFlags(), or its default.
  BuilderFlags getFlags() const noexcept { return mImpl->getFlags(); }

  //! Turns a switch off.
  void clearFlag(BuilderFlag builderFlag) noexcept { mImpl->clearFlag(builderFlag); }

  //! Turns a switch on.
  void setFlag(BuilderFlag builderFlag) noexcept { mImpl->setFlag(builderFlag); }

  //! Whether a switch is on.
  bool getFlag(BuilderFlag builderFlag) const noexcept { return mImpl->getFlag(builderFlag); }

  //! Sets where a layer runs; the default device type otherwise.
  void setDeviceType(const ILayer* layer, DeviceType deviceType) noexcept { mImpl->setDeviceType(layer, deviceType); }

  //! The value given to setDeviceType(), or its default.
  DeviceType getDeviceType(const ILayer* layer) const noexcept { return mImpl->getDeviceType(layer); }

  //! Whether setDeviceType() was called for a layer.
  bool isDeviceTypeSet(const ILayer* layer) const noexcept { return mImpl->isDeviceTypeSet(layer); }

  //! Takes setDeviceType() back.
  void resetDeviceType(const ILayer* layer) noexcept { mImpl->resetDeviceType(layer); }

  //! Whether DLA supports a layer.
  bool canRunOnDLA(const ILayer* layer) const noexcept { return mImpl->canRunOnDLA(layer); }

  //! Sets the DLA core to build for; -1, none, by default.
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }

  //! The value given to setDLACore(), or its default.
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }

  //! Sets where layers run that are not told.
  void setDefaultDeviceType(DeviceType deviceType) noexcept { mImpl->setDefaultDeviceType(deviceType); }

  //! The value given to setDefaultDeviceType(), or its default.
  DeviceType getDefaultDeviceType() const noexcept { return mImpl->getDefaultDeviceType(); }

  //! Brings all settings back to their defaults.
  void reset() noexcept { mImpl->reset(); }

  //! Sets the stream that measurements run on.
  void setProfileStream(const cudaStream_t stream) noexcept { mImpl->setProfileStream(stream); }

  //! The value given to setProfileStream(), or its default.
  cudaStream_t getProfileStream() const noexcept { return mImpl->getProfileStream(); }

  //! Adds a profile. Returns its index; -1 if it is not valid.
  int32_t addOptimizationProfile(const IOptimizationProfile* profile) noexcept {
    return mImpl->addOptimizationProfile(profile);
  }

  //! How many profiles were added.
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }

  //! Sets how much the engine tells about its layers; kLAYER_NAMES_ONLY by default.
  void setProfilingVerbosity(ProfilingVerbosity verbosity) noexcept { mImpl->setProfilingVerbosity(verbosity); }

  //! The value given to setProfilingVerbosity(), or its default.
  ProfilingVerbosity getProfilingVerbosity() const noexcept { return mImpl->getProfilingVerbosity(); }

  //! Sets who chooses which implementations are tried; nullptr for nobody.
  //! \deprecated Since 10.8.
  TRT_DEPRECATED void setAlgorithmSelector(IAlgorithmSelector* selector) noexcept {
    mImpl->setAlgorithmSelector(selector);
  }

  //! The value given to setAlgorithmSelector(), or its default.
  //! \deprecated Since 10.8.
  TRT_DEPRECATED IAlgorithmSelector* getAlgorithmSelector() const noexcept { return mImpl->getAlgorithmSelector(); }

  //! Sets the shapes of calibration. Returns false for an invalid profile.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED bool setCalibrationProfile(const IOptimizationProfile* profile) noexcept {
    return mImpl->setCalibrationProfile(profile);
  }

  //! The value given to setCalibrationProfile(), or its default.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED const IOptimizationProfile* getCalibrationProfile() noexcept { return mImpl->getCalibrationProfile(); }

  //! Sets all quantization flags at once, bit n for the flag n.
  //! \deprecated Since 10.10.
  TRT_DEPRECATED void setQuantizationFlags(QuantizationFlags flags) noexcept { mImpl->setQuantizationFlags(flags); }

  //! The value given to setQuantizationFlags(), or its default.
  //! \deprecated Since 10.10.
  TRT_DEPRECATED QuantizationFlags getQuantizationFlags() const noexcept { return mImpl->getQuantizationFlags(); }

  //! Turns a quantization flag off.
  //! \deprecated Since 10.10.
  TRT_DEPRECATED void clearQuantizationFlag(QuantizationFlag flag) noexcept { mImpl->clearQuantizationFlag(flag); }

  //! Turns a quantization flag on.
  //! \deprecated Since 10.10.
  TRT_DEPRECATED void setQuantizationFlag(QuantizationFlag flag) noexcept { mImpl->setQuantizationFlag(flag); }

  //! Whether a quantization flag is on.
  //! \deprecated Since 10.10.
  TRT_DEPRECATED bool getQuantizationFlag(QuantizationFlag flag) const noexcept {
    return mImpl->getQuantizationFlag(flag);
  }

  //! Sets where implementations may come from, bit n for the source n. Returns false for unknown bits.
  bool setTacticSources(TacticSources tacticSources) noexcept { return mImpl->setTacticSources(tacticSources); }

  //! The value given to setTacticSources(), or its default.
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }

  //! Makes a timing cache from serialized bytes; size 0 gives an empty one. The caller releases it; nullptr on
  //! failure.
  ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept {
    return mImpl->createTimingCache(blob, size);
  }

  //! Sets the timing cache to use; it must outlive the configuration's builds. Returns false if it comes from
  //! another device or version and `ignoreMismatch` is false.
  bool setTimingCache(const ITimingCache& cache, bool ignoreMismatch) noexcept {
    return mImpl->setTimingCache(cache, ignoreMismatch);
  }

  //! The timing cache in use; nullptr before the first build if none was set.
  const ITimingCache* getTimingCache() const noexcept { return mImpl->getTimingCache(); }

  //! Sets the most bytes of a kind of memory. Sizes that are not allowed are errors and change nothing.
  void setMemoryPoolLimit(MemoryPoolType pool, std::size_t poolSize) noexcept {
    mImpl->setMemoryPoolLimit(pool, poolSize);
  }

  //! The value given to setMemoryPoolLimit(), or its default.
  std::size_t getMemoryPoolLimit(MemoryPoolType pool) const noexcept { return mImpl->getMemoryPoolLimit(pool); }

  //! Turns a preview feature on or off.
  void setPreviewFeature(PreviewFeature feature, bool enable) noexcept { mImpl->setPreviewFeature(feature, enable); }

  //! The value given to setPreviewFeature(), or its default.
  bool getPreviewFeature(PreviewFeature feature) const noexcept { return mImpl->getPreviewFeature(feature); }

  //! Sets how long the build may look for fast implementations, from 0 to 5; 3 by default.
  void setBuilderOptimizationLevel(int32_t level) noexcept { mImpl->setBuilderOptimizationLevel(level); }

  //! The value given to setBuilderOptimizationLevel(), or its default.
  int32_t getBuilderOptimizationLevel() noexcept { return mImpl->getBuilderOptimizationLevel(); }

  //! Sets on which other devices the engine shall run; kNONE by default.
  void setHardwareCompatibilityLevel(HardwareCompatibilityLevel hardwareCompatibilityLevel) noexcept {
    mImpl->setHardwareCompatibilityLevel(hardwareCompatibilityLevel);
  }

  //! The value given to setHardwareCompatibilityLevel(), or its default.
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }

  //! Sets the plugin libraries that are put into the engine, by path.
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept {
    mImpl->setPluginsToSerialize(paths, nbPaths);
  }

  //! The path of the library with the index; nullptr beyond the end.
  const char* getPluginToSerialize(int32_t index) const noexcept { return mImpl->getPluginToSerialize(index); }

  //! How many libraries there are.
  int32_t getNbPluginsToSerialize() const noexcept { return mImpl->getNbPluginsToSerialize(); }

  //! Sets how many streams a context may use beside its own; the library chooses by default.
  void setMaxAuxStreams(int32_t nbStreams) noexcept { mImpl->setMaxAuxStreams(nbStreams); }

  //! The value given to setMaxAuxStreams(), or its default.
  int32_t getMaxAuxStreams() const noexcept { return mImpl->getMaxAuxStreams(); }

  //! Sets who is told how far the build is; nullptr for nobody.
  void setProgressMonitor(IProgressMonitor* monitor) noexcept { mImpl->setProgressMonitor(monitor); }

  //! The value given to setProgressMonitor(), or its default.
  IProgressMonitor* getProgressMonitor() const noexcept { return mImpl->getProgressMonitor(); }

  //! Sets where the engine shall run; kSAME_AS_BUILD by default.
  void setRuntimePlatform(RuntimePlatform runtimePlatform) noexcept { mImpl->setRuntimePlatform(runtimePlatform); }

  //! The value given to setRuntimePlatform(), or its default.
  RuntimePlatform getRuntimePlatform() const noexcept { return mImpl->getRuntimePlatform(); }

  //! Sets how many implementations of a layer are tried; -1, the library's choice, by default.
  void setMaxNbTactics(int32_t maxNbTactics) noexcept { mImpl->setMaxNbTactics(maxNbTactics); }

  //! The value given to setMaxNbTactics(), or its default.
  int32_t getMaxNbTactics() const noexcept { return mImpl->getMaxNbTactics(); }

  //! Sets how long the build looks for tilings. Returns false for what is no such level.
  bool setTilingOptimizationLevel(TilingOptimizationLevel level) noexcept {
    return mImpl->setTilingOptimizationLevel(level);
  }

  //! The value given to setTilingOptimizationLevel(), or its default.
  TilingOptimizationLevel getTilingOptimizationLevel() const noexcept { return mImpl->getTilingOptimizationLevel(); }

  //! Sets how many bytes of the cache tilings may use; -1, the library's choice, by default. Returns false for
  //! other negative numbers.
  bool setL2LimitForTiling(int64_t size) noexcept { return mImpl->setL2LimitForTiling(size); }

  //! The value given to setL2LimitForTiling(), or its default.
  int64_t getL2LimitForTiling() const noexcept { return mImpl->getL2LimitForTiling(); }

  //! Sets on which other machine implementations are measured. Returns false if that is not possible.
  bool setRemoteAutoTuningConfig(const char* config) noexcept { return mImpl->setRemoteAutoTuningConfig(config); }

  //! The value given to setRemoteAutoTuningConfig(), or its default.
  const char* getRemoteAutoTuningConfig() const noexcept { return mImpl->getRemoteAutoTuningConfig(); }

 protected:
  apiv::VBuilderConfig* mImpl;
};

//! Makes networks, configurations and engines. Release it with delete, after what it made.
class IBuilder : public INoCopy {
 public:
  virtual ~IBuilder() noexcept = default;

  //! Whether the device computes kHALF faster than kFLOAT.
  //! \deprecated Since 10.5.
  TRT_DEPRECATED bool platformHasFastFp16() const noexcept { return mImpl->platformHasFastFp16(); }

  //! Whether the device computes kINT8 faster than kFLOAT.
  //! \deprecated Since 10.5.
  TRT_DEPRECATED bool platformHasFastInt8() const noexcept { return mImpl->platformHasFastInt8(); }

  //! The largest batch of DLA; 0 without DLA.
  int32_t getMaxDLABatchSize() const noexcept { return mImpl->getMaxDLABatchSize(); }

  //! How many DLA cores the machine has.
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }

  //! Sets who provides device memory while building; nullptr for the library itself.
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }

  //! Makes a configuration, which the caller releases.
  IBuilderConfig* createBuilderConfig() noexcept { return mImpl->createBuilderConfig(); }

  //! Makes an empty network with flags, bit n for the flag n, which the caller releases.
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
    return mImpl->createNetworkV2(flags);
  }

  //! Makes a profile, which belongs to the builder.
  IOptimizationProfile* createOptimizationProfile() noexcept { return mImpl->createOptimizationProfile(); }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  //! Brings all settings back to their defaults.
  void reset() noexcept { mImpl->reset(); }

  //! Whether the device computes kTF32.
  //! \deprecated Since 10.5.
  TRT_DEPRECATED bool platformHasTf32() const noexcept { return mImpl->platformHasTf32(); }

  //! Builds an engine and returns its bytes, which the caller releases; nullptr on failure.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept {
    return mImpl->buildSerializedNetwork(network, config);
  }

  //! Builds an engine and writes its bytes. Returns false on failure.
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept {
    return mImpl->buildSerializedNetworkToStream(network, config, writer);
  }

  //! As above; `kernelText` receives the text of generated kernels, which the caller releases, or nullptr.
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config,
                                      IHostMemory*& kernelText) noexcept {
    return mImpl->buildSerializedNetworkWithKernelText(network, config, kernelText);
  }

  //! Builds an engine that can run at once, which the caller releases; nullptr on failure.
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept {
    return mImpl->buildEngineWithConfig(network, config);
  }

  //! Whether the network keeps the restrictions of the configuration.
  bool isNetworkSupported(const INetworkDefinition& network, const IBuilderConfig& config) const noexcept {
    return mImpl->isNetworkSupported(network, config);
  }

  //! The logger that the builder was made with.
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }

  //! Sets how many threads a build may use, at least 1. Returns false for less.
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }

  //! The value given to setMaxThreads(), or its default.
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }

  //! The registry of this builder, below that of the process.
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }

 protected:
  apiv::VBuilder* mImpl;
};

}  // namespace nvinfer1

//! What createInferBuilder() calls: an untyped pointer to an ILogger, and the NV_TENSORRT_VERSION of the headers that
//! the caller was compiled with. The result points at an IBuilder, nullptr on error.
extern "C" TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept;

namespace nvinfer1 {
namespace {

//! Makes a builder, from which networks, configurations and engines come. Release it with delete.
//!
//! \param logger receives the messages; must outlive the builder.
//! \return nullptr if the library could not start; the logger then has the reason.
inline IBuilder* createInferBuilder(ILogger& logger) noexcept {
  return static_cast<IBuilder*>(createInferBuilder_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

}  // namespace

namespace safe {
class IPluginRegistry;
}  // namespace safe

//! The plugin registry that builds for the given capability; nullptr where the capability has none.
extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept;

//! Names the folder in which the library looks for the libraries that it loads on demand. Call it before the first
//! builder is made. Returns false for a null or empty path.
extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept;

//! The plugin registry of the safe runtime; always nullptr where no safe runtime is part of the library.
extern "C" TRT_DEPRECATED_API safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability capability) noexcept;

}  // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
