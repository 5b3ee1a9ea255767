// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! Running engines: runtime, engine, execution context, refitter, inspector, and the interfaces that programs implement
//! for them.
#pragma once

#include "NvInferImpl.h"
#include "NvInferPluginBase.h"
#include "NvInferRuntimeCommon.h"

// The headers themselves may name what is deprecated; only its use elsewhere shall be warned about.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1 {

//! A set of AllocatorFlag values: bit n stands for the value n.
using AllocatorFlags = uint32_t;

enum class DeviceType : int32_t {
  kGPU = 0,
  kDLA = 1,
};

template <>
struct impl::EnumMaxImpl<DeviceType> {
  static constexpr int32_t kVALUE = 2;
};

enum class TempfileControlFlag : int32_t {
  kALLOW_IN_MEMORY_FILES = 0,
  kALLOW_TEMPORARY_FILES = 1,
};

template <>
struct impl::EnumMaxImpl<TempfileControlFlag> {
  static constexpr int32_t kVALUE = 2;
};

enum class AllocatorFlag : int32_t {
  kRESIZABLE = 0,
};

template <>
struct impl::EnumMaxImpl<AllocatorFlag> {
  static constexpr int32_t kVALUE = 1;
};

enum class TacticSource : int32_t {
  kCUBLAS TRT_DEPRECATED_ENUM = 0,
  kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,
  kCUDNN TRT_DEPRECATED_ENUM = 2,
  kEDGE_MASK_CONVOLUTIONS = 3,
  kJIT_CONVOLUTIONS = 4,
};

template <>
struct impl::EnumMaxImpl<TacticSource> {
  static constexpr int32_t kVALUE = 5;
};

class INoCopy {
 protected:
  INoCopy() = default;
  virtual ~INoCopy() noexcept = default;
  INoCopy(const INoCopy& other) = delete;
  INoCopy& operator=(const INoCopy& other) = delete;
  INoCopy(INoCopy&& other) = delete;
  INoCopy& operator=(INoCopy&& other) = delete;
};

class Weights {
 public:
  DataType type;
  const void* values;
  int64_t count;
};

class IHostMemory : public INoCopy {
 public:
  virtual ~IHostMemory() noexcept = default;
  void* data() const noexcept { return mImpl->data(); }
  std::size_t size() const noexcept { return mImpl->size(); }
  DataType type() const noexcept { return mImpl->type(); }

 protected:
  apiv::VHostMemory* mImpl;
};

class IDimensionExpr : public INoCopy {
 public:
  bool isConstant() const noexcept { return mImpl->isConstant(); }
  int64_t getConstantValue() const noexcept { return mImpl->getConstantValue(); }

 protected:
  virtual ~IDimensionExpr() noexcept = default;

 public:
  bool isSizeTensor() const noexcept { return mImpl->isSizeTensor(); }

 protected:
  apiv::VDimensionExpr* mImpl;
};

enum class DimensionOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kEQUAL = 5,
  kLESS = 6,
  kFLOOR_DIV = 7,
  kCEIL_DIV = 8,
};

template <>
struct impl::EnumMaxImpl<DimensionOperation> {
  static constexpr int32_t kVALUE = 9;
};

class IExprBuilder : public INoCopy {
 public:
  const IDimensionExpr* constant(int64_t value) noexcept { return mImpl->constant(value); }
  const IDimensionExpr* operation(DimensionOperation op, const IDimensionExpr& first,
                                  const IDimensionExpr& second) noexcept {
    return mImpl->operation(op, first, second);
  }

 protected:
  virtual ~IExprBuilder() noexcept = default;

 public:
  const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt, const IDimensionExpr& upper) {
    return mImpl->declareSizeTensor(outputIndex, opt, upper);
  }

 protected:
  apiv::VExprBuilder* mImpl;
};

class DimsExprs {
 public:
  int32_t nbDims;
  const IDimensionExpr* d[8];
};

struct DynamicPluginTensorDesc {
  PluginTensorDesc desc;
  Dims min;
  Dims max;
  Dims opt;
};

enum class TensorFormat : int32_t {
  kLINEAR = 0,
  kCHW2 = 1,
  kHWC8 = 2,
  kCHW4 = 3,
  kCHW16 = 4,
  kCHW32 = 5,
  kDHWC8 = 6,
  kCDHW32 = 7,
  kHWC = 8,
  kDLA_LINEAR = 9,
  kDLA_HWC4 = 10,
  kHWC16 = 11,
  kDHWC = 12,
};

template <>
struct impl::EnumMaxImpl<TensorFormat> {
  static constexpr int32_t kVALUE = 13;
};

class TRT_DEPRECATED IPluginV2DynamicExt : public IPluginV2Ext {
 public:
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;
  IPluginV2DynamicExt* clone() const noexcept override = 0;
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs, int32_t nbInputs,
                                        IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) noexcept = 0;
  virtual void configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs, const DynamicPluginTensorDesc* out,
                               int32_t nbOutputs) noexcept = 0;
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs, const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT) << 24) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }
  virtual ~IPluginV2DynamicExt() noexcept = default;

 private:
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*, const bool*,
                       const bool*, PluginFormat, int32_t) noexcept final {}
  bool supportsFormat(DataType, PluginFormat) const noexcept final { return false; }
  Dims getOutputDimensions(int32_t, const Dims*, int32_t) noexcept final { return Dims{-1, {}}; }
  TRT_DEPRECATED bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept final { return false; }
  TRT_DEPRECATED bool canBroadcastInputAcrossBatch(int32_t) const noexcept final { return true; }
  size_t getWorkspaceSize(int32_t) const noexcept final { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*, cudaStream_t) noexcept final { return 1; }
};

namespace v_1_0 {

class IStreamReader : public IVersionedInterface {
 public:
  ~IStreamReader() noexcept override = default;
  IStreamReader() = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamReader", 1, 0}; }
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;

 protected:
  IStreamReader(const IStreamReader&) = default;
  IStreamReader(IStreamReader&&) = default;
  IStreamReader& operator=(const IStreamReader&) & = default;
  IStreamReader& operator=(IStreamReader&&) & = default;
};

class IStreamWriter : public IVersionedInterface {
 public:
  ~IStreamWriter() noexcept override = default;
  IStreamWriter() = default;
  InterfaceInfo getInterfaceInfo() const noexcept final { return InterfaceInfo{"IStreamWriter", 1, 0}; }
  virtual int64_t write(const void* data, int64_t nbBytes) = 0;

 protected:
  IStreamWriter(const IStreamWriter&) = default;
  IStreamWriter(IStreamWriter&&) = default;
  IStreamWriter& operator=(const IStreamWriter&) & = default;
  IStreamWriter& operator=(IStreamWriter&&) & = default;
};

}  // namespace v_1_0

using IStreamReader = v_1_0::IStreamReader;
using IStreamWriter = v_1_0::IStreamWriter;

enum class SeekPosition : int32_t {
  kSET = 0,
  kCUR = 1,
  kEND = 2,
};

namespace v_1_0 {

class IStreamReaderV2 : public IVersionedInterface {
 public:
  ~IStreamReaderV2() noexcept override = default;
  IStreamReaderV2() = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamReaderV2", 1, 0}; }
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;

 protected:
  IStreamReaderV2(const IStreamReaderV2&) = default;
  IStreamReaderV2(IStreamReaderV2&&) = default;
  IStreamReaderV2& operator=(const IStreamReaderV2&) & = default;
  IStreamReaderV2& operator=(IStreamReaderV2&&) & = default;
};

}  // namespace v_1_0

using IStreamReaderV2 = v_1_0::IStreamReaderV2;

class IPluginResourceContext {
 public:
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IPluginResourceContext() noexcept = default;

 protected:
  IPluginResourceContext() = default;
  IPluginResourceContext(const IPluginResourceContext&) = default;
  IPluginResourceContext(IPluginResourceContext&&) = default;
  IPluginResourceContext& operator=(const IPluginResourceContext&) & = default;
  IPluginResourceContext& operator=(IPluginResourceContext&&) & = default;
};

namespace v_1_0 {

class IPluginV3OneCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_CORE", 1, 0}; }
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

class IPluginV3OneBuild : public IPluginCapability {
 public:
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 1, 0}; }
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs, const DimsExprs* shapeInputs,
                                  int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/, int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept { return 0; }
  virtual int32_t getNbTactics() noexcept { return 0; }
  virtual const char* getTimingCacheID() noexcept { return nullptr; }
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

class IPluginV3OneRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_RUNTIME", 1, 0}; }
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
  virtual int32_t onShapeChange(const PluginTensorDesc* in, int32_t nbInputs, const PluginTensorDesc* out,
                                int32_t nbOutputs) noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

}  // namespace v_1_0

using IPluginV3OneCore = v_1_0::IPluginV3OneCore;
using IPluginV3OneBuild = v_1_0::IPluginV3OneBuild;
using IPluginV3OneRuntime = v_1_0::IPluginV3OneRuntime;

namespace v_2_0 {

class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 2, 0}; }
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
};

}  // namespace v_2_0

using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

namespace v_1_0 {

class IProfiler {
 public:
  virtual void reportLayerTime(const char* layerName, float ms) noexcept = 0;
  virtual ~IProfiler() noexcept = default;
};

}  // namespace v_1_0

using IProfiler = v_1_0::IProfiler;

class ILogger {
 public:
  enum class Severity : int32_t {
    kINTERNAL_ERROR = 0,
    kERROR = 1,
    kWARNING = 2,
    kINFO = 3,
    kVERBOSE = 4,
  };
  virtual void log(ILogger::Severity severity, const AsciiChar* msg) noexcept = 0;
  ILogger() = default;
  virtual ~ILogger() = default;

 protected:
  ILogger(const ILogger&) = default;
  ILogger(ILogger&&) = default;
  ILogger& operator=(const ILogger&) & = default;
  ILogger& operator=(ILogger&&) & = default;
};

template <>
struct impl::EnumMaxImpl<ILogger::Severity> {
  static constexpr int32_t kVALUE = 5;
};

namespace v_1_0 {

class IGpuAllocator : public IVersionedInterface {
 public:
  TRT_DEPRECATED virtual void* allocate(const uint64_t size, const uint64_t alignment,
                                        const AllocatorFlags flags) noexcept = 0;
  ~IGpuAllocator() noexcept override = default;
  IGpuAllocator() = default;
  virtual void* reallocate(void* const, uint64_t, uint64_t) noexcept { return nullptr; }
  TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;
  virtual void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                              cudaStream_t) noexcept {
    return allocate(size, alignment, flags);
  }
  virtual bool deallocateAsync(void* const memory, cudaStream_t) noexcept { return deallocate(memory); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }

 protected:
  IGpuAllocator(const IGpuAllocator&) = default;
  IGpuAllocator(IGpuAllocator&&) = default;
  IGpuAllocator& operator=(const IGpuAllocator&) & = default;
  IGpuAllocator& operator=(IGpuAllocator&&) & = default;
};

}  // namespace v_1_0

using IGpuAllocator = v_1_0::IGpuAllocator;

class IRuntime : public INoCopy {
 public:
  virtual ~IRuntime() noexcept = default;
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept {
    return mImpl->deserializeCudaEngine(blob, size);
  }
  TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) {
    return mImpl->deserializeCudaEngine(streamReader);
  }
  ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) {
    return mImpl->deserializeCudaEngineV2(streamReader);
  }
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }
  void setTemporaryDirectory(const char* path) noexcept { mImpl->setTemporaryDirectory(path); }
  const char* getTemporaryDirectory() const noexcept { return mImpl->getTemporaryDirectory(); }
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept { mImpl->setTempfileControlFlags(flags); }
  TempfileControlFlags getTempfileControlFlags() const noexcept { return mImpl->getTempfileControlFlags(); }
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }
  IRuntime* loadRuntime(const char* path) noexcept { return mImpl->loadRuntime(path); }
  void setEngineHostCodeAllowed(bool allowed) noexcept { mImpl->setEngineHostCodeAllowed(allowed); }
  bool getEngineHostCodeAllowed() const noexcept { return mImpl->getEngineHostCodeAllowed(); }

 protected:
  apiv::VRuntime* mImpl;
};

enum class TensorLocation : int32_t {
  kDEVICE = 0,
  kHOST = 1,
};

template <>
struct impl::EnumMaxImpl<TensorLocation> {
  static constexpr int32_t kVALUE = 2;
};

enum class WeightsRole : int32_t {
  kKERNEL = 0,
  kBIAS = 1,
  kSHIFT = 2,
  kSCALE = 3,
  kCONSTANT = 4,
  kANY = 5,
};

template <>
struct impl::EnumMaxImpl<WeightsRole> {
  static constexpr int32_t kVALUE = 6;
};

class IRefitter : public INoCopy {
 public:
  virtual ~IRefitter() noexcept = default;
  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
    return mImpl->setWeights(layerName, role, weights);
  }
  bool refitCudaEngine() noexcept { return mImpl->refitCudaEngine(); }
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getMissing(size, layerNames, roles);
  }
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getAll(size, layerNames, roles);
  }
  TRT_DEPRECATED bool setDynamicRange(const char* tensorName, float min, float max) noexcept {
    return mImpl->setDynamicRange(tensorName, min, max);
  }
  TRT_DEPRECATED float getDynamicRangeMin(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMin(tensorName);
  }
  TRT_DEPRECATED float getDynamicRangeMax(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMax(tensorName);
  }
  TRT_DEPRECATED int32_t getTensorsWithDynamicRange(int32_t size, const char** tensorNames) const noexcept {
    return mImpl->getTensorsWithDynamicRange(size, tensorNames);
  }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  bool setNamedWeights(const char* name, Weights weights) noexcept { return mImpl->setNamedWeights(name, weights); }
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getMissingWeights(size, weightsNames);
  }
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getAllWeights(size, weightsNames);
  }
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }
  bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept {
    return mImpl->setNamedWeightsWithLocation(name, weights, location);
  }
  Weights getNamedWeights(const char* weightsName) const noexcept { return mImpl->getNamedWeights(weightsName); }
  TensorLocation getWeightsLocation(const char* weightsName) const noexcept {
    return mImpl->getWeightsLocation(weightsName);
  }
  bool unsetNamedWeights(const char* weightsName) noexcept { return mImpl->unsetNamedWeights(weightsName); }
  void setWeightsValidation(bool weightsValidation) noexcept { mImpl->setWeightsValidation(weightsValidation); }
  bool getWeightsValidation() const noexcept { return mImpl->getWeightsValidation(); }
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept { return mImpl->refitCudaEngineAsync(stream); }
  Weights getWeightsPrototype(const char* weightsName) const noexcept {
    return mImpl->getWeightsPrototype(weightsName);
  }

 protected:
  apiv::VRefitter* mImpl;
};

enum class OptProfileSelector : int32_t {
  kMIN = 0,
  kOPT = 1,
  kMAX = 2,
};

template <>
struct impl::EnumMaxImpl<OptProfileSelector> {
  static constexpr int32_t kVALUE = 3;
};

class IOptimizationProfile : public INoCopy {
 public:
  bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims) noexcept {
    return mImpl->setDimensions(inputName, select, dims);
  }
  Dims getDimensions(const char* inputName, OptProfileSelector select) const noexcept {
    return mImpl->getDimensions(inputName, select);
  }
  TRT_DEPRECATED bool setShapeValues(const char* inputName, OptProfileSelector select, const int32_t* values,
                                     int32_t nbValues) noexcept {
    return mImpl->setShapeValues(inputName, select, values, nbValues);
  }
  int32_t getNbShapeValues(const char* inputName) const noexcept { return mImpl->getNbShapeValues(inputName); }
  TRT_DEPRECATED const int32_t* getShapeValues(const char* inputName, OptProfileSelector select) const noexcept {
    return mImpl->getShapeValues(inputName, select);
  }
  bool setExtraMemoryTarget(float target) noexcept { return mImpl->setExtraMemoryTarget(target); }
  float getExtraMemoryTarget() const noexcept { return mImpl->getExtraMemoryTarget(); }
  bool isValid() const noexcept { return mImpl->isValid(); }
  bool setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                        int32_t nbValues) noexcept {
    return mImpl->setShapeValuesV2(inputName, select, values, nbValues);
  }
  const int64_t* getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept {
    return mImpl->getShapeValuesV2(inputName, select);
  }

 protected:
  virtual ~IOptimizationProfile() noexcept = default;
  apiv::VOptimizationProfile* mImpl;
};

enum class SerializationFlag : int32_t {
  kEXCLUDE_WEIGHTS = 0,
  kEXCLUDE_LEAN_RUNTIME = 1,
  kINCLUDE_REFIT = 2,
};

template <>
struct impl::EnumMaxImpl<SerializationFlag> {
  static constexpr int32_t kVALUE = 3;
};

class ISerializationConfig : public INoCopy {
 public:
  virtual ~ISerializationConfig() noexcept = default;
  bool setFlags(SerializationFlags serializationFlags) noexcept { return mImpl->setFlags(serializationFlags); }
  SerializationFlags getFlags() const noexcept { return mImpl->getFlags(); }
  bool clearFlag(SerializationFlag serializationFlag) noexcept { return mImpl->clearFlag(serializationFlag); }
  bool setFlag(SerializationFlag serializationFlag) noexcept { return mImpl->setFlag(serializationFlag); }
  bool getFlag(SerializationFlag serializationFlag) const noexcept { return mImpl->getFlag(serializationFlag); }

 protected:
  apiv::VSerializationConfig* mImpl;
};

enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,
  kON_PROFILE_CHANGE = 1,
  kUSER_MANAGED = 2,
};

template <>
struct impl::EnumMaxImpl<ExecutionContextAllocationStrategy> {
  static constexpr int32_t kVALUE = 3;
};

class IRuntimeConfig : public INoCopy {
 public:
  virtual ~IRuntimeConfig() noexcept = default;
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept {
    mImpl->setExecutionContextAllocationStrategy(strategy);
  }
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept {
    return mImpl->getExecutionContextAllocationStrategy();
  }

 protected:
  apiv::VRuntimeConfig* mImpl;
};

enum class EngineCapability : int32_t {
  kSTANDARD = 0,
  kSAFETY = 1,
  kDLA_STANDALONE = 2,
};

template <>
struct impl::EnumMaxImpl<EngineCapability> {
  static constexpr int32_t kVALUE = 3;
};

enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,
  kNONE = 1,
  kDETAILED = 2,
};

template <>
struct impl::EnumMaxImpl<ProfilingVerbosity> {
  static constexpr int32_t kVALUE = 3;
};

enum class EngineStat : int32_t {
  kTOTAL_WEIGHTS_SIZE = 0,
  kSTRIPPED_WEIGHTS_SIZE = 1,
};

template <>
struct impl::EnumMaxImpl<EngineStat> {
  static constexpr int32_t kVALUE = 2;
};

class ICudaEngine : public INoCopy {
 public:
  virtual ~ICudaEngine() noexcept = default;
  Dims getTensorShape(const char* tensorName) const noexcept { return mImpl->getTensorShape(tensorName); }
  DataType getTensorDataType(const char* tensorName) const noexcept { return mImpl->getTensorDataType(tensorName); }
  int32_t getNbLayers() const noexcept { return mImpl->getNbLayers(); }
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) noexcept {
    return mImpl->createExecutionContext(strategy);
  }
  TensorLocation getTensorLocation(const char* tensorName) const noexcept {
    return mImpl->getTensorLocation(tensorName);
  }
  bool isShapeInferenceIO(const char* tensorName) const noexcept { return mImpl->isShapeInferenceIO(tensorName); }
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept { return mImpl->getTensorIOMode(tensorName); }
  const char* getAliasedInputTensor(const char* tensorName) const noexcept {
    return mImpl->getAliasedInputTensor(tensorName);
  }
  TRT_DEPRECATED IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept {
    return mImpl->createExecutionContextWithoutDeviceMemory();
  }
  IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept {
    return mImpl->createExecutionContextWithRuntimeConfig(runtimeConfig);
  }
  IRuntimeConfig* createRuntimeConfig() noexcept { return mImpl->createRuntimeConfig(); }
  TRT_DEPRECATED size_t getDeviceMemorySize() const noexcept { return mImpl->getDeviceMemorySize(); }
  TRT_DEPRECATED size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfile(profileIndex);
  }
  int64_t getDeviceMemorySizeV2() const noexcept { return mImpl->getDeviceMemorySizeV2(); }
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfileV2(profileIndex);
  }
  bool isRefittable() const noexcept { return mImpl->isRefittable(); }
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept {
    return mImpl->getTensorBytesPerComponent(tensorName);
  }
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorBytesPerComponentV2(tensorName, profileIndex);
  }
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept {
    return mImpl->getTensorComponentsPerElement(tensorName);
  }
  int32_t getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorComponentsPerElementV2(tensorName, profileIndex);
  }
  TensorFormat getTensorFormat(const char* tensorName) const noexcept { return mImpl->getTensorFormat(tensorName); }
  TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatV2(tensorName, profileIndex);
  }
  const char* getTensorFormatDesc(const char* tensorName) const noexcept {
    return mImpl->getTensorFormatDesc(tensorName);
  }
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatDescV2(tensorName, profileIndex);
  }
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept {
    return mImpl->getTensorVectorizedDim(tensorName);
  }
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorVectorizedDimV2(tensorName, profileIndex);
  }
  const char* getName() const noexcept { return mImpl->getName(); }
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }
  Dims getProfileShape(const char* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept {
    return mImpl->getProfileShape(tensorName, profileIndex, select);
  }
  TRT_DEPRECATED const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                       OptProfileSelector select) const noexcept {
    return mImpl->getProfileTensorValues(tensorName, profileIndex, select);
  }
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept { return mImpl->hasImplicitBatchDimension(); }
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }
  ProfilingVerbosity getProfilingVerbosity() const noexcept { return mImpl->getProfilingVerbosity(); }
  IEngineInspector* createEngineInspector() const noexcept { return mImpl->createEngineInspector(); }
  int32_t getNbIOTensors() const noexcept { return mImpl->getNbIOTensors(); }
  const char* getIOTensorName(int32_t index) const noexcept { return mImpl->getIOTensorName(index); }
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }
  int32_t getNbAuxStreams() const noexcept { return mImpl->getNbAuxStreams(); }
  ISerializationConfig* createSerializationConfig() noexcept { return mImpl->createSerializationConfig(); }
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept {
    return mImpl->serializeWithConfig(config);
  }
  TRT_DEPRECATED bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudget(gpuMemoryBudget);
  }
  TRT_DEPRECATED int64_t getWeightStreamingBudget() const noexcept { return mImpl->getWeightStreamingBudget(); }
  TRT_DEPRECATED int64_t getMinimumWeightStreamingBudget() const noexcept {
    return mImpl->getMinimumWeightStreamingBudget();
  }
  int64_t getStreamableWeightsSize() const noexcept { return mImpl->getStreamableWeightsSize(); }
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudgetV2(gpuMemoryBudget);
  }
  int64_t getWeightStreamingBudgetV2() const noexcept { return mImpl->getWeightStreamingBudgetV2(); }
  int64_t getWeightStreamingAutomaticBudget() const noexcept { return mImpl->getWeightStreamingAutomaticBudget(); }
  int64_t getWeightStreamingScratchMemorySize() const noexcept { return mImpl->getWeightStreamingScratchMemorySize(); }
  bool isDebugTensor(const char* name) const noexcept { return mImpl->isDebugTensor(name); }
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector select) const noexcept {
    return mImpl->getProfileTensorValuesV2(tensorName, profileIndex, select);
  }
  int64_t getEngineStat(EngineStat stat) const noexcept { return mImpl->getEngineStat(stat); }

 protected:
  apiv::VCudaEngine* mImpl;
};

namespace v_1_0 {

class IOutputAllocator : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IOutputAllocator", 1, 0}; }
  TRT_DEPRECATED virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/, uint64_t /*size*/,
                                                uint64_t /*alignment*/) noexcept {
    return nullptr;
  }
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size, uint64_t alignment,
                                      cudaStream_t) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }
  virtual void notifyShape(const char* tensorName, const Dims& dims) noexcept = 0;
};

class IDebugListener : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IDebugListener", 1, 0}; }
  virtual bool processDebugTensor(const void* addr, TensorLocation location, DataType type, const Dims& shape,
                                  const char* name, cudaStream_t stream) = 0;
  ~IDebugListener() noexcept override = default;
};

}  // namespace v_1_0

using IOutputAllocator = v_1_0::IOutputAllocator;
using IDebugListener = v_1_0::IDebugListener;

class IExecutionContext : public INoCopy {
 public:
  virtual ~IExecutionContext() noexcept = default;
  void setDebugSync(bool sync) noexcept { mImpl->setDebugSync(sync); }
  bool getDebugSync() const noexcept { return mImpl->getDebugSync(); }
  void setProfiler(IProfiler* profiler) noexcept { mImpl->setProfiler(profiler); }
  IProfiler* getProfiler() const noexcept { return mImpl->getProfiler(); }
  const ICudaEngine& getEngine() const noexcept { return mImpl->getEngine(); }
  void setName(const char* name) noexcept { mImpl->setName(name); }
  const char* getName() const noexcept { return mImpl->getName(); }
  void setDeviceMemory(void* memory) noexcept { mImpl->setDeviceMemory(memory); }
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept { mImpl->setDeviceMemoryV2(memory, size); }
  Dims getTensorStrides(const char* tensorName) const noexcept { return mImpl->getTensorStrides(tensorName); }
  int32_t getOptimizationProfile() const noexcept { return mImpl->getOptimizationProfile(); }
  bool setInputShape(const char* tensorName, const Dims& dims) noexcept {
    return mImpl->setInputShape(tensorName, dims);
  }
  Dims getTensorShape(const char* tensorName) const noexcept { return mImpl->getTensorShape(tensorName); }
  bool allInputDimensionsSpecified() const noexcept { return mImpl->allInputDimensionsSpecified(); }
  TRT_DEPRECATED bool allInputShapesSpecified() const noexcept { return mImpl->allInputShapesSpecified(); }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }
  bool executeV2(void* const* bindings) noexcept { return mImpl->executeV2(bindings); }
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept {
    return mImpl->setOptimizationProfileAsync(profileIndex, stream);
  }
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept { mImpl->setEnqueueEmitsProfile(enqueueEmitsProfile); }
  bool getEnqueueEmitsProfile() const noexcept { return mImpl->getEnqueueEmitsProfile(); }
  bool reportToProfiler() const noexcept { return mImpl->reportToProfiler(); }
  bool setTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setTensorAddress(tensorName, data);
  }
  const void* getTensorAddress(const char* tensorName) const noexcept { return mImpl->getTensorAddress(tensorName); }
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setOutputTensorAddress(tensorName, data);
  }
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept {
    return mImpl->setInputTensorAddress(tensorName, data);
  }
  void* getOutputTensorAddress(const char* tensorName) const noexcept {
    return mImpl->getOutputTensorAddress(tensorName);
  }
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept {
    return mImpl->inferShapes(nbMaxNames, tensorNames);
  }
  size_t updateDeviceMemorySizeForShapes() noexcept { return mImpl->updateDeviceMemorySizeForShapes(); }
  bool setInputConsumedEvent(cudaEvent_t event) noexcept { return mImpl->setInputConsumedEvent(event); }
  cudaEvent_t getInputConsumedEvent() const noexcept { return mImpl->getInputConsumedEvent(); }
  bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept {
    return mImpl->setOutputAllocator(tensorName, outputAllocator);
  }
  IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept {
    return mImpl->getOutputAllocator(tensorName);
  }
  int64_t getMaxOutputSize(const char* tensorName) const noexcept { return mImpl->getMaxOutputSize(tensorName); }
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept {
    return mImpl->setTemporaryStorageAllocator(allocator);
  }
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept { return mImpl->getTemporaryStorageAllocator(); }
  bool enqueueV3(cudaStream_t stream) noexcept { return mImpl->enqueueV3(stream); }
  void setPersistentCacheLimit(size_t size) noexcept { mImpl->setPersistentCacheLimit(size); }
  size_t getPersistentCacheLimit() const noexcept { return mImpl->getPersistentCacheLimit(); }
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept { return mImpl->setNvtxVerbosity(verbosity); }
  ProfilingVerbosity getNvtxVerbosity() const noexcept { return mImpl->getNvtxVerbosity(); }
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
    mImpl->setAuxStreams(auxStreams, nbStreams);
  }
  bool setDebugListener(IDebugListener* listener) noexcept { return mImpl->setDebugListener(listener); }
  IDebugListener* getDebugListener() noexcept { return mImpl->getDebugListener(); }
  bool setTensorDebugState(const char* name, bool flag) noexcept { return mImpl->setTensorDebugState(name, flag); }
  bool getDebugState(const char* name) const noexcept { return mImpl->getDebugState(name); }
  IRuntimeConfig* getRuntimeConfig() const noexcept { return mImpl->getRuntimeConfig(); }
  bool setAllTensorsDebugState(bool flag) noexcept { return mImpl->setAllTensorsDebugState(flag); }
  bool setUnfusedTensorsDebugState(bool flag) noexcept { return mImpl->setUnfusedTensorsDebugState(flag); }
  bool getUnfusedTensorsDebugState() const noexcept { return mImpl->getUnfusedTensorsDebugState(); }
  bool setCommunicator(void* communicator) noexcept { return mImpl->setCommunicator(communicator); }

 protected:
  apiv::VExecutionContext* mImpl;
};

enum class LayerInformationFormat : int32_t {
  kONELINE = 0,
  kJSON = 1,
};

template <>
struct impl::EnumMaxImpl<LayerInformationFormat> {
  static constexpr int32_t kVALUE = 2;
};

class IEngineInspector : public INoCopy {
 public:
  virtual ~IEngineInspector() noexcept = default;
  bool setExecutionContext(const IExecutionContext* context) noexcept { return mImpl->setExecutionContext(context); }
  const IExecutionContext* getExecutionContext() const noexcept { return mImpl->getExecutionContext(); }
  const char* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept {
    return mImpl->getLayerInformation(layerIndex, format);
  }
  const char* getEngineInformation(LayerInformationFormat format) const noexcept {
    return mImpl->getEngineInformation(format);
  }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

 protected:
  apiv::VEngineInspector* mImpl;
};

}  // namespace nvinfer1

//! The registry of the process, which holds the creators of all plugins. The library owns it; it lives until exit.
extern "C" TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept;

//! The logger given to the first builder, runtime or refitter of the process; nullptr before there was one.
extern "C" TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept;

namespace nvinfer1 {
template <typename T>
class PluginRegistrar {
 public:
  PluginRegistrar() { getPluginRegistry()->registerCreator(instance, ""); }

 private:
  T instance{};
};

class ILoggerFinder {
 public:
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() = default;
};

namespace v_1_0 {

class IGpuAsyncAllocator : public IGpuAllocator {
 public:
  IGpuAsyncAllocator() = default;
  ~IGpuAsyncAllocator() noexcept override = default;
  void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                      cudaStream_t) noexcept override = 0;
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept override = 0;
  TRT_DEPRECATED void* allocate(const uint64_t size, const uint64_t alignment,
                                const AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }
  TRT_DEPRECATED bool deallocate(void* const memory) noexcept override { return deallocateAsync(memory, nullptr); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }
};

class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V3ONE", 1, 0}; }
  virtual IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                                  TensorRTPhase phase) noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  IPluginCreatorV3One() = default;
  virtual ~IPluginCreatorV3One() noexcept = default;

 protected:
  IPluginCreatorV3One(const IPluginCreatorV3One&) = default;
  IPluginCreatorV3One(IPluginCreatorV3One&&) = default;
  IPluginCreatorV3One& operator=(const IPluginCreatorV3One&) & = default;
  IPluginCreatorV3One& operator=(IPluginCreatorV3One&&) & = default;
};

}  // namespace v_1_0

using IGpuAsyncAllocator = v_1_0::IGpuAsyncAllocator;
using IPluginCreatorV3One = v_1_0::IPluginCreatorV3One;

}  // namespace nvinfer1

//! The version of the library that is loaded, part by part.
extern "C" TENSORRTAPI int32_t getInferLibMajorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibMinorVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibPatchVersion() noexcept;
extern "C" TENSORRTAPI int32_t getInferLibBuildVersion() noexcept;

//! What the inline factories below call: untyped pointers to ILogger and ICudaEngine, and the NV_TENSORRT_VERSION of
//! the headers that the caller was compiled with. The result points at an IRuntime or IRefitter, nullptr on error.
extern "C" TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept;
extern "C" TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept;

//! Registers the creator class `name` when the program or library that contains the line is loaded.
#define REGISTER_TENSORRT_PLUGIN(name) \
  static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}

namespace nvinfer1 {
namespace {

//! Makes a runtime, which loads engines. Release it with delete, after its engines.
//!
//! \param logger receives the messages; must outlive the runtime.
//! \return nullptr if the library could not start; the logger then has the reason.
inline IRuntime* createInferRuntime(ILogger& logger) noexcept {
  return static_cast<IRuntime*>(createInferRuntime_INTERNAL(&logger, NV_TENSORRT_VERSION));
}

//! Makes a refitter for an engine that was built refittable. Release it with delete, before the engine.
//!
//! \param engine whose weights shall change.
//! \param logger receives the messages; must outlive the refitter.
//! \return nullptr if the engine cannot be refitted.
inline IRefitter* createInferRefitter(ICudaEngine& engine, ILogger& logger) noexcept {
  return static_cast<IRefitter*>(createInferRefitter_INTERNAL(&engine, &logger, NV_TENSORRT_VERSION));
}

}  // namespace
}  // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
