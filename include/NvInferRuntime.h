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

//! Where a layer runs.
enum class DeviceType : int32_t {
  kGPU = 0,  //!< On the GPU, or wherever the library computes in its place.
  kDLA = 1,  //!< On a deep learning accelerator.
};

template <>
struct impl::EnumMaxImpl<DeviceType> {
  static constexpr int32_t kVALUE = 2;
};

//! Which temporary files a runtime may make while it loads code.
enum class TempfileControlFlag : int32_t {
  kALLOW_IN_MEMORY_FILES = 0,  //!< Files that exist in memory only.
  kALLOW_TEMPORARY_FILES = 1,  //!< Files in the directory of setTemporaryDirectory().
};

template <>
struct impl::EnumMaxImpl<TempfileControlFlag> {
  static constexpr int32_t kVALUE = 2;
};

//! What a caller may later ask of memory it allocates.
enum class AllocatorFlag : int32_t {
  kRESIZABLE = 0,  //!< It may be passed to reallocate().
};

template <>
struct impl::EnumMaxImpl<AllocatorFlag> {
  static constexpr int32_t kVALUE = 1;
};

//! Where implementations of layers may come from.
enum class TacticSource : int32_t {
  kCUBLAS TRT_DEPRECATED_ENUM = 0,     //!< cuBLAS.
  kCUBLAS_LT TRT_DEPRECATED_ENUM = 1,  //!< cuBLASLt.
  kCUDNN TRT_DEPRECATED_ENUM = 2,      //!< cuDNN.
  kEDGE_MASK_CONVOLUTIONS = 3,         //!< Convolutions that read masks of the borders; they need memory for these.
  kJIT_CONVOLUTIONS = 4,               //!< Convolutions compiled while the engine is built.
};

template <>
struct impl::EnumMaxImpl<TacticSource> {
  static constexpr int32_t kVALUE = 5;
};

//! The root of the objects that the library hands out: they are not copied, moved or made by programs.
class INoCopy {
 protected:
  INoCopy() = default;
  virtual ~INoCopy() noexcept = default;
  INoCopy(const INoCopy& other) = delete;
  INoCopy& operator=(const INoCopy& other) = delete;
  INoCopy(INoCopy&& other) = delete;
  INoCopy& operator=(INoCopy&& other) = delete;
};

//! An array of numbers that somebody else owns and that must stay alive until the engine is built.
class Weights {
 public:
  //! The type of the numbers.
  DataType type;
  //! The numbers, packed; nullptr if there are none.
  const void* values;
  //! How many.
  int64_t count;
};

//! Memory that the library allocated, such as a serialized engine. Release it with delete.
class IHostMemory : public INoCopy {
 public:
  virtual ~IHostMemory() noexcept = default;

  //! The first byte.
  void* data() const noexcept { return mImpl->data(); }

  //! The number of bytes.
  std::size_t size() const noexcept { return mImpl->size(); }

  //! What the elements are; kINT8 for bytes.
  DataType type() const noexcept { return mImpl->type(); }

 protected:
  apiv::VHostMemory* mImpl;
};

//! An extent that may depend on the shapes of inputs. It belongs to the builder and is never deleted by programs.
class IDimensionExpr : public INoCopy {
 public:
  //! Whether it is the same for all input shapes.
  bool isConstant() const noexcept { return mImpl->isConstant(); }

  //! The value of a constant one; the lowest int64_t otherwise.
  int64_t getConstantValue() const noexcept { return mImpl->getConstantValue(); }

 protected:
  virtual ~IDimensionExpr() noexcept = default;

 public:
  //! Whether it stands for a size that is only known when the plugin has run.
  bool isSizeTensor() const noexcept { return mImpl->isSizeTensor(); }

 protected:
  apiv::VDimensionExpr* mImpl;
};

//! Operations on extents.
enum class DimensionOperation : int32_t {
  kSUM = 0,        //!< a + b
  kPROD = 1,       //!< a * b
  kMAX = 2,        //!< The larger one.
  kMIN = 3,        //!< The smaller one.
  kSUB = 4,        //!< a - b
  kEQUAL = 5,      //!< 1 if a = b, else 0.
  kLESS = 6,       //!< 1 if a < b, else 0.
  kFLOOR_DIV = 7,  //!< a / b, rounded down.
  kCEIL_DIV = 8,   //!< a / b, rounded up.
};

template <>
struct impl::EnumMaxImpl<DimensionOperation> {
  static constexpr int32_t kVALUE = 9;
};

//! Makes extents out of others, for the shapes of a plugin's outputs.
class IExprBuilder : public INoCopy {
 public:
  //! An extent with this value.
  const IDimensionExpr* constant(int64_t value) noexcept { return mImpl->constant(value); }

  //! The operation on two extents; nullptr if it is none.
  const IDimensionExpr* operation(DimensionOperation op, const IDimensionExpr& first,
                                  const IDimensionExpr& second) noexcept {
    return mImpl->operation(op, first, second);
  }

 protected:
  virtual ~IExprBuilder() noexcept = default;

 public:
  //! An extent that output `outputIndex`, a scalar, holds after the plugin has run. `opt` is the value to tune for,
  //! `upper` the largest one.
  const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt, const IDimensionExpr& upper) {
    return mImpl->declareSizeTensor(outputIndex, opt, upper);
  }

 protected:
  apiv::VExprBuilder* mImpl;
};

//! A shape of expressions.
class DimsExprs {
 public:
  //! How many extents there are.
  int32_t nbDims;
  //! The extents.
  const IDimensionExpr* d[8];
};

//! What a plugin knows of a tensor while shapes may still vary.
struct DynamicPluginTensorDesc {
  //! Type, format and shape, with -1 for extents that vary.
  PluginTensorDesc desc;
  //! The smallest shape.
  Dims min;
  //! The largest shape.
  Dims max;
  //! The shape to tune for.
  Dims opt;
};

//! The order of elements in memory. N, C, D, H, W are the axes; a number counts elements that lie side by side, the
//! rest being padded.
enum class TensorFormat : int32_t {
  kLINEAR = 0,      //!< Rows one after the other, the last axis innermost.
  kCHW2 = 1,        //!< C in pairs: [N][C/2][H][W][2].
  kHWC8 = 2,        //!< C innermost, padded to eights: [N][H][W][C/8 * 8].
  kCHW4 = 3,        //!< C in fours: [N][C/4][H][W][4].
  kCHW16 = 4,       //!< C in sixteens: [N][C/16][H][W][16].
  kCHW32 = 5,       //!< C in thirty-twos: [N][C/32][H][W][32].
  kDHWC8 = 6,       //!< As kHWC8, with a depth: [N][D][H][W][C/8 * 8].
  kCDHW32 = 7,      //!< As kCHW32, with a depth: [N][C/32][D][H][W][32].
  kHWC = 8,         //!< C innermost: [N][H][W][C].
  kDLA_LINEAR = 9,  //!< Rows of DLA, padded to 64 bytes.
  kDLA_HWC4 = 10,   //!< Pixels of DLA: C innermost and padded to 1 or 4, rows to 32 bytes.
  kHWC16 = 11,      //!< C innermost, padded to sixteens: [N][H][W][C/16 * 16].
  kDHWC = 12,       //!< As kHWC, with a depth: [N][D][H][W][C].
};

template <>
struct impl::EnumMaxImpl<TensorFormat> {
  static constexpr int32_t kVALUE = 13;
};

//! The last of the IPluginV2 family: shapes vary, and the batch is an extent like the others.
//! \deprecated Since 10.0.
class TRT_DEPRECATED IPluginV2DynamicExt : public IPluginV2Ext {
 public:
  //! How many combinations of types and formats the builder tries.
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;

  //! A copy with the same state, owned by the caller.
  IPluginV2DynamicExt* clone() const noexcept override = 0;

  //! The shape of output `outputIndex` as expressions over the shapes of the inputs.
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs, int32_t nbInputs,
                                        IExprBuilder& exprBuilder) noexcept = 0;

  //! Whether the tensor `pos`, inputs first, may be as described in inOut[pos], given those before it.
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) noexcept = 0;

  //! Tells the plugin types, formats and ranges of shapes, or the shapes themselves before it runs.
  virtual void configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs, const DynamicPluginTensorDesc* out,
                               int32_t nbOutputs) noexcept = 0;

  //! How many bytes of scratch memory enqueue() needs for these shapes.
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs, const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;

  //! Puts the work on the stream. Inputs and outputs are device memory; returns 0 on success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

 protected:
  //! The version of the interface, with the mark of this class in the top byte.
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

//! A source of bytes that an engine is loaded from, read from front to back.
class IStreamReader : public IVersionedInterface {
 public:
  ~IStreamReader() noexcept override = default;
  IStreamReader() = default;

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamReader", 1, 0}; }

  //! Copies up to `size` bytes to host memory at `destination`. Returns how many; fewer mean the end.
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;

 protected:
  IStreamReader(const IStreamReader&) = default;
  IStreamReader(IStreamReader&&) = default;
  IStreamReader& operator=(const IStreamReader&) & = default;
  IStreamReader& operator=(IStreamReader&&) & = default;
};

//! A sink of bytes that an engine is written to.
class IStreamWriter : public IVersionedInterface {
 public:
  ~IStreamWriter() noexcept override = default;
  IStreamWriter() = default;
  InterfaceInfo getInterfaceInfo() const noexcept final { return InterfaceInfo{"IStreamWriter", 1, 0}; }

  //! Takes `nbBytes` bytes of host memory. Returns how many it took; fewer mean failure.
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

//! What an offset counts from.
enum class SeekPosition : int32_t {
  kSET = 0,  //!< The start.
  kCUR = 1,  //!< The current position.
  kEND = 2,  //!< The end.
};

namespace v_1_0 {

//! A source of bytes that an engine is loaded from, with positions, and that may fill device memory.
class IStreamReaderV2 : public IVersionedInterface {
 public:
  ~IStreamReaderV2() noexcept override = default;
  IStreamReaderV2() = default;

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"IStreamReaderV2", 1, 0}; }

  //! Copies up to `nbBytes` bytes to host or device memory at `destination`, in the order of `stream`. Returns how
  //! many; fewer mean the end.
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;

  //! Moves to `offset` from the position `where`. Returns false if that is outside.
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;

 protected:
  IStreamReaderV2(const IStreamReaderV2&) = default;
  IStreamReaderV2(IStreamReaderV2&&) = default;
  IStreamReaderV2& operator=(const IStreamReaderV2&) & = default;
  IStreamReaderV2& operator=(IStreamReaderV2&&) & = default;
};

}  // namespace v_1_0

using IStreamReaderV2 = v_1_0::IStreamReaderV2;

//! What an execution context lends to a plugin.
class IPluginResourceContext {
 public:
  //! The allocator of device memory, which lives as long as the context; nullptr if there is none.
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;

  //! Who collects errors; nullptr for nobody.
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

//! The identity of a plugin: by these three its creator is found when an engine is loaded.
class IPluginV3OneCore : public IPluginCapability {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_CORE", 1, 0}; }

  //! The name of the plugin type; at most 1024 bytes.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  //! The version of the plugin type; at most 1024 bytes.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  //! The namespace of the plugin type; at most 1024 bytes.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

//! What the builder asks a plugin.
class IPluginV3OneBuild : public IPluginCapability {
 public:
  //! How many combinations of types and formats are tried unless the plugin says otherwise.
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 1, 0}; }

  //! Tells the plugin types, formats and ranges of shapes. Returns 0 on success.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;

  //! Writes the types of the outputs for the given types of the inputs. Returns 0 on success.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;

  //! Writes the shapes of the outputs as expressions over the shapes of the inputs and the values of the shape
  //! inputs. Returns 0 on success.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs, const DimsExprs* shapeInputs,
                                  int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  //! Whether the tensor `pos`, inputs first, may be as described in inOut[pos], given those before it.
  virtual bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) noexcept = 0;

  //! How many tensors the plugin writes.
  virtual int32_t getNbOutputs() const noexcept = 0;

  //! How many bytes of scratch memory enqueue() needs for any shape of these ranges.
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/, int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }

  //! Writes the numbers of the tactics to choose from, all positive and different. Returns 0 on success.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept { return 0; }

  //! How many tactics there are; 0 if there is only one way.
  virtual int32_t getNbTactics() noexcept { return 0; }

  //! Tells plugins of the same type apart in the timing cache; nullptr keeps the plugin out of it.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }

  //! How many combinations of types and formats the builder shall try.
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }

  //! Text that the inspector shows for the layer; nullptr for none.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

//! What execution asks a plugin.
class IPluginV3OneRuntime : public IPluginCapability {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_RUNTIME", 1, 0}; }

  //! Sets the tactic with which enqueue() works; 0 is the default way. Returns 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }

  //! Tells the plugin the shapes of the next enqueue(). Returns 0 on success.
  virtual int32_t onShapeChange(const PluginTensorDesc* in, int32_t nbInputs, const PluginTensorDesc* out,
                                int32_t nbOutputs) noexcept = 0;

  //! Puts the work on the stream. Inputs and outputs are device memory; returns 0 on success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

  //! A copy of the plugin for one execution context, which owns it; it may take what `context` lends. nullptr on
  //! failure.
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;

  //! The attributes from which the plugin can be made again; the list belongs to the plugin.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

}  // namespace v_1_0

using IPluginV3OneCore = v_1_0::IPluginV3OneCore;
using IPluginV3OneBuild = v_1_0::IPluginV3OneBuild;
using IPluginV3OneRuntime = v_1_0::IPluginV3OneRuntime;

namespace v_2_0 {

//! Adds outputs that share memory with inputs.
class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3ONE_BUILD", 2, 0}; }

  //! The input whose memory output `outputIndex` shares, -1 if none. Needs
  //! PreviewFeature::kALIASED_PLUGIN_IO_10_03.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
};

}  // namespace v_2_0

using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

namespace v_1_0 {

//! Is told how long each layer took; implemented by programs. Layers that were fused are told as one.
class IProfiler {
 public:
  //! Called for each layer after a run: its name and the milliseconds it took.
  virtual void reportLayerTime(const char* layerName, float ms) noexcept = 0;

  virtual ~IProfiler() noexcept = default;
};

}  // namespace v_1_0

using IProfiler = v_1_0::IProfiler;

//! Receives messages; implemented by programs. May be called from several threads at once, and outlives all that it
//! was given to.
class ILogger {
 public:
  //! How serious a message is; smaller is more serious.
  enum class Severity : int32_t {
    kINTERNAL_ERROR = 0,  //!< A fault of the library itself.
    kERROR = 1,           //!< A request that failed.
    kWARNING = 2,         //!< Something that works, but not as asked.
    kINFO = 3,            //!< What the library does.
    kVERBOSE = 4,         //!< Details for finding errors.
  };

  //! Takes one message, which is only valid during the call.
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

//! Provides device memory; implemented by programs. May be called from several threads at once.
class IGpuAllocator : public IVersionedInterface {
 public:
  //! Allocates `size` bytes at a multiple of `alignment`, a power of two; 0 bytes give nullptr, as does failure.
  //! \deprecated Since 10.0; use allocateAsync().
  TRT_DEPRECATED virtual void* allocate(const uint64_t size, const uint64_t alignment,
                                        const AllocatorFlags flags) noexcept = 0;

  ~IGpuAllocator() noexcept override = default;
  IGpuAllocator() = default;

  //! Changes the size of memory that was allocated as resizable, moving it if need be. nullptr on failure; the
  //! memory then stays as it was.
  virtual void* reallocate(void* const, uint64_t, uint64_t) noexcept { return nullptr; }

  //! Frees memory; nullptr is allowed. Returns false on failure.
  //! \deprecated Since 10.0; use deallocateAsync().
  TRT_DEPRECATED virtual bool deallocate(void* const memory) noexcept = 0;

  //! As allocate(), for use in the order of the stream. Without an own version it calls allocate().
  virtual void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                              cudaStream_t) noexcept {
    return allocate(size, alignment, flags);
  }

  //! As deallocate(), once the stream has done what it holds. Without an own version it calls deallocate().
  virtual bool deallocateAsync(void* const memory, cudaStream_t) noexcept { return deallocate(memory); }

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }

 protected:
  IGpuAllocator(const IGpuAllocator&) = default;
  IGpuAllocator(IGpuAllocator&&) = default;
  IGpuAllocator& operator=(const IGpuAllocator&) & = default;
  IGpuAllocator& operator=(IGpuAllocator&&) & = default;
};

}  // namespace v_1_0

using IGpuAllocator = v_1_0::IGpuAllocator;

//! Loads engines. It must outlive the engines that it loaded.
class IRuntime : public INoCopy {
 public:
  virtual ~IRuntime() noexcept = default;

  //! Sets the DLA core for engines loaded from now on; -1, none, by default.
  void setDLACore(int32_t dlaCore) noexcept { mImpl->setDLACore(dlaCore); }

  //! The value given to setDLACore(), or its default.
  int32_t getDLACore() const noexcept { return mImpl->getDLACore(); }

  //! How many DLA cores the machine has.
  int32_t getNbDLACores() const noexcept { return mImpl->getNbDLACores(); }

  //! Sets who provides device memory for engines loaded from now on; nullptr for the library itself.
  void setGpuAllocator(IGpuAllocator* allocator) noexcept { mImpl->setGpuAllocator(allocator); }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  //! Loads an engine from memory, which may be freed afterwards. nullptr on failure.
  ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept {
    return mImpl->deserializeCudaEngine(blob, size);
  }

  //! Loads an engine from a stream. nullptr on failure.
  //! \deprecated Since 10.7; use the other overload.
  TRT_DEPRECATED ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) {
    return mImpl->deserializeCudaEngine(streamReader);
  }

  //! Loads an engine from a stream with positions. nullptr on failure.
  ICudaEngine* deserializeCudaEngine(IStreamReaderV2& streamReader) {
    return mImpl->deserializeCudaEngineV2(streamReader);
  }

  //! The logger that the runtime was made with.
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }

  //! Sets how many threads loading may use, at least 1. Returns false for less.
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }

  //! The value given to setMaxThreads(), or its default.
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }

  //! Sets where temporary files may be made; nullptr for the directory of the system.
  void setTemporaryDirectory(const char* path) noexcept { mImpl->setTemporaryDirectory(path); }

  //! The value given to setTemporaryDirectory(); nullptr where none is set.
  const char* getTemporaryDirectory() const noexcept { return mImpl->getTemporaryDirectory(); }

  //! Sets which temporary files may be made, bit n for the flag n.
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept { mImpl->setTempfileControlFlags(flags); }

  //! The value given to setTempfileControlFlags(), or its default.
  TempfileControlFlags getTempfileControlFlags() const noexcept { return mImpl->getTempfileControlFlags(); }

  //! The registry of this runtime, below that of the process.
  IPluginRegistry& getPluginRegistry() noexcept { return mImpl->getPluginRegistry(); }

  //! Loads another version of the runtime from a library file, for engines that need it; it belongs to the caller.
  //! nullptr on failure.
  IRuntime* loadRuntime(const char* path) noexcept { return mImpl->loadRuntime(path); }

  //! Sets whether engines may contain code for the host; off by default, as such an engine must be trusted.
  void setEngineHostCodeAllowed(bool allowed) noexcept { mImpl->setEngineHostCodeAllowed(allowed); }

  //! The value given to setEngineHostCodeAllowed(), or its default.
  bool getEngineHostCodeAllowed() const noexcept { return mImpl->getEngineHostCodeAllowed(); }

 protected:
  apiv::VRuntime* mImpl;
};

//! Where the memory of a tensor is.
enum class TensorLocation : int32_t {
  kDEVICE = 0,  //!< On the device.
  kHOST = 1,    //!< On the host.
};

template <>
struct impl::EnumMaxImpl<TensorLocation> {
  static constexpr int32_t kVALUE = 2;
};

//! What weights are to their layer.
enum class WeightsRole : int32_t {
  kKERNEL = 0,    //!< The kernel of a convolution or deconvolution.
  kBIAS = 1,      //!< Its bias.
  kSHIFT = 2,     //!< The shift of a scale layer.
  kSCALE = 3,     //!< Its scale.
  kCONSTANT = 4,  //!< The values of a constant layer.
  kANY = 5,       //!< Any of these, where weights are named.
};

template <>
struct impl::EnumMaxImpl<WeightsRole> {
  static constexpr int32_t kVALUE = 6;
};

//! Changes weights of an engine that was built refittable. New weights count once refitCudaEngine() has succeeded.
class IRefitter : public INoCopy {
 public:
  virtual ~IRefitter() noexcept = default;

  //! Sets weights of a layer, with the count and type of the old ones; they must stay alive until the refit.
  //! Returns false if the layer has no such weights.
  bool setWeights(const char* layerName, WeightsRole role, Weights weights) noexcept {
    return mImpl->setWeights(layerName, role, weights);
  }

  //! Puts the weights into the engine. Returns false if some are missing or a refit fails. No context of the engine
  //! may be running.
  bool refitCudaEngine() noexcept { return mImpl->refitCudaEngine(); }

  //! Names layers and roles of weights that must be set too, as they depend on those that were. Returns how many
  //! there are; at most `size` are written.
  int32_t getMissing(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getMissing(size, layerNames, roles);
  }

  //! Names layers and roles of all weights that can be set. Returns how many there are; at most `size` are written.
  int32_t getAll(int32_t size, const char** layerNames, WeightsRole* roles) noexcept {
    return mImpl->getAll(size, layerNames, roles);
  }

  //! Sets the range of an int8 tensor. Returns false if it has none.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED bool setDynamicRange(const char* tensorName, float min, float max) noexcept {
    return mImpl->setDynamicRange(tensorName, min, max);
  }

  //! The lower end of the range of a tensor.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED float getDynamicRangeMin(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMin(tensorName);
  }

  //! The upper end of the range of a tensor.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED float getDynamicRangeMax(const char* tensorName) const noexcept {
    return mImpl->getDynamicRangeMax(tensorName);
  }

  //! Names tensors with a range. Returns how many there are; at most `size` are written.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED int32_t getTensorsWithDynamicRange(int32_t size, const char** tensorNames) const noexcept {
    return mImpl->getTensorsWithDynamicRange(size, tensorNames);
  }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  //! Sets the weights with the name; they must stay alive until the refit. Returns false if there are none or they
  //! do not fit.
  bool setNamedWeights(const char* name, Weights weights) noexcept { return mImpl->setNamedWeights(name, weights); }

  //! Names weights that must be set too. Returns how many there are; at most `size` are written.
  int32_t getMissingWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getMissingWeights(size, weightsNames);
  }

  //! Names all weights that can be set. Returns how many there are; at most `size` are written.
  int32_t getAllWeights(int32_t size, const char** weightsNames) noexcept {
    return mImpl->getAllWeights(size, weightsNames);
  }

  //! The logger that the refitter was made with.
  ILogger* getLogger() const noexcept { return mImpl->getLogger(); }

  //! Sets how many threads a refit may use, at least 1. Returns false for less.
  bool setMaxThreads(int32_t maxThreads) noexcept { return mImpl->setMaxThreads(maxThreads); }

  //! The value given to setMaxThreads(), or its default.
  int32_t getMaxThreads() const noexcept { return mImpl->getMaxThreads(); }

  //! As above, with weights on the host or on the device.
  bool setNamedWeights(const char* name, Weights weights, TensorLocation location) noexcept {
    return mImpl->setNamedWeightsWithLocation(name, weights, location);
  }

  //! The weights that were set by this name; empty if none were.
  Weights getNamedWeights(const char* weightsName) const noexcept { return mImpl->getNamedWeights(weightsName); }

  //! Where the weights that were set by this name are.
  TensorLocation getWeightsLocation(const char* weightsName) const noexcept {
    return mImpl->getWeightsLocation(weightsName);
  }

  //! Forgets the weights that were set by this name. Returns false if none were.
  bool unsetNamedWeights(const char* weightsName) noexcept { return mImpl->unsetNamedWeights(weightsName); }

  //! Sets whether weights are checked when they are set; on by default.
  void setWeightsValidation(bool weightsValidation) noexcept { mImpl->setWeightsValidation(weightsValidation); }

  //! The value given to setWeightsValidation(), or its default.
  bool getWeightsValidation() const noexcept { return mImpl->getWeightsValidation(); }

  //! As refitCudaEngine(), in the order of the stream; host weights are read during the call.
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept { return mImpl->refitCudaEngineAsync(stream); }

  //! The type and count that the weights with the name must have; count -1 if there are none.
  Weights getWeightsPrototype(const char* weightsName) const noexcept {
    return mImpl->getWeightsPrototype(weightsName);
  }

 protected:
  apiv::VRefitter* mImpl;
};

//! The three shapes of an optimization profile.
enum class OptProfileSelector : int32_t {
  kMIN = 0,  //!< The smallest.
  kOPT = 1,  //!< The one to tune for.
  kMAX = 2,  //!< The largest.
};

template <>
struct impl::EnumMaxImpl<OptProfileSelector> {
  static constexpr int32_t kVALUE = 3;
};

//! The range of shapes of each input for which an engine is built. It belongs to the builder.
class IOptimizationProfile : public INoCopy {
 public:
  //! Sets a shape of an input. Returns false if it contradicts the other shapes of the input.
  bool setDimensions(const char* inputName, OptProfileSelector select, const Dims& dims) noexcept {
    return mImpl->setDimensions(inputName, select, dims);
  }

  //! The shape that setDimensions() set; nbDims is -1 if none was.
  Dims getDimensions(const char* inputName, OptProfileSelector select) const noexcept {
    return mImpl->getDimensions(inputName, select);
  }

  //! Sets values of an input that is a shape, 32 bits each.
  //! \deprecated Since 10.11; use setShapeValuesV2().
  TRT_DEPRECATED bool setShapeValues(const char* inputName, OptProfileSelector select, const int32_t* values,
                                     int32_t nbValues) noexcept {
    return mImpl->setShapeValues(inputName, select, values, nbValues);
  }

  //! How many values the input has; -1 if none were set.
  int32_t getNbShapeValues(const char* inputName) const noexcept { return mImpl->getNbShapeValues(inputName); }

  //! The values that setShapeValues() set; nullptr if none were.
  //! \deprecated Since 10.11; use getShapeValuesV2().
  TRT_DEPRECATED const int32_t* getShapeValues(const char* inputName, OptProfileSelector select) const noexcept {
    return mImpl->getShapeValues(inputName, select);
  }

  //! Sets how much of the memory of the other profiles this one may add, from 0 to 1; 1 by default.
  bool setExtraMemoryTarget(float target) noexcept { return mImpl->setExtraMemoryTarget(target); }

  //! The value given to setExtraMemoryTarget(), or its default.
  float getExtraMemoryTarget() const noexcept { return mImpl->getExtraMemoryTarget(); }

  //! Whether the smallest, the best and the largest shapes are ordered.
  bool isValid() const noexcept { return mImpl->isValid(); }

  //! Sets values of an input that is a shape. Returns false if they contradict each other.
  bool setShapeValuesV2(const char* inputName, OptProfileSelector select, const int64_t* values,
                        int32_t nbValues) noexcept {
    return mImpl->setShapeValuesV2(inputName, select, values, nbValues);
  }

  //! The values that setShapeValuesV2() set; nullptr if none were.
  const int64_t* getShapeValuesV2(const char* inputName, OptProfileSelector select) const noexcept {
    return mImpl->getShapeValuesV2(inputName, select);
  }

 protected:
  virtual ~IOptimizationProfile() noexcept = default;
  apiv::VOptimizationProfile* mImpl;
};

//! What a serialized engine contains.
enum class SerializationFlag : int32_t {
  kEXCLUDE_WEIGHTS = 0,       //!< Leaves out the weights that a refit can put back.
  kEXCLUDE_LEAN_RUNTIME = 1,  //!< Leaves out the runtime that other versions would need.
  kINCLUDE_REFIT = 2,         //!< Keeps the engine refittable although its weights are included.
};

template <>
struct impl::EnumMaxImpl<SerializationFlag> {
  static constexpr int32_t kVALUE = 3;
};

//! How an engine is serialized. Release it with delete.
class ISerializationConfig : public INoCopy {
 public:
  virtual ~ISerializationConfig() noexcept = default;

  //! Sets all flags at once, bit n for the flag n. Returns false for an unknown bit.
  bool setFlags(SerializationFlags serializationFlags) noexcept { return mImpl->setFlags(serializationFlags); }

  //! The value given to setFlags(), or its default.
  SerializationFlags getFlags() const noexcept { return mImpl->getFlags(); }

  //! Turns a flag off.
  bool clearFlag(SerializationFlag serializationFlag) noexcept { return mImpl->clearFlag(serializationFlag); }

  //! Turns a flag on.
  bool setFlag(SerializationFlag serializationFlag) noexcept { return mImpl->setFlag(serializationFlag); }

  //! Whether a flag is on.
  bool getFlag(SerializationFlag serializationFlag) const noexcept { return mImpl->getFlag(serializationFlag); }

 protected:
  apiv::VSerializationConfig* mImpl;
};

//! When a context allocates the memory for intermediate tensors.
enum class ExecutionContextAllocationStrategy : int32_t {
  kSTATIC = 0,             //!< When it is made, enough for every profile.
  kON_PROFILE_CHANGE = 1,  //!< When a profile is chosen, enough for that one.
  kUSER_MANAGED = 2,       //!< Never: the program gives the memory.
};

template <>
struct impl::EnumMaxImpl<ExecutionContextAllocationStrategy> {
  static constexpr int32_t kVALUE = 3;
};

//! How an execution context is made. Release it with delete.
class IRuntimeConfig : public INoCopy {
 public:
  virtual ~IRuntimeConfig() noexcept = default;

  //! Sets when the context allocates memory; kSTATIC by default.
  void setExecutionContextAllocationStrategy(ExecutionContextAllocationStrategy strategy) noexcept {
    mImpl->setExecutionContextAllocationStrategy(strategy);
  }

  //! The value given to setExecutionContextAllocationStrategy(), or its default.
  ExecutionContextAllocationStrategy getExecutionContextAllocationStrategy() const noexcept {
    return mImpl->getExecutionContextAllocationStrategy();
  }

 protected:
  apiv::VRuntimeConfig* mImpl;
};

//! What an engine is built for.
enum class EngineCapability : int32_t {
  kSTANDARD = 0,        //!< All that the library can do.
  kSAFETY = 1,          //!< The restricted set of a safety-certified runtime.
  kDLA_STANDALONE = 2,  //!< A loadable for DLA alone.
};

template <>
struct impl::EnumMaxImpl<EngineCapability> {
  static constexpr int32_t kVALUE = 3;
};

//! How much an engine tells the inspector and profilers about its layers.
enum class ProfilingVerbosity : int32_t {
  kLAYER_NAMES_ONLY = 0,  //!< Names.
  kNONE = 1,              //!< Nothing.
  kDETAILED = 2,          //!< Names, types, formats, tactics and attributes.
};

template <>
struct impl::EnumMaxImpl<ProfilingVerbosity> {
  static constexpr int32_t kVALUE = 3;
};

//! Numbers about an engine.
enum class EngineStat : int32_t {
  kTOTAL_WEIGHTS_SIZE = 0,     //!< Bytes of all weights.
  kSTRIPPED_WEIGHTS_SIZE = 1,  //!< Bytes of the weights that were left out.
};

template <>
struct impl::EnumMaxImpl<EngineStat> {
  static constexpr int32_t kVALUE = 2;
};

//! A network built for a device. It does not change, apart from a refit and its weight streaming budget, and may be
//! used by several contexts and threads. Release it with delete, after its contexts.
class ICudaEngine : public INoCopy {
 public:
  virtual ~ICudaEngine() noexcept = default;

  //! The shape of an input or output, -1 for extents that vary; nbDims is -1 if there is no such tensor.
  Dims getTensorShape(const char* tensorName) const noexcept { return mImpl->getTensorShape(tensorName); }

  //! The element type of an input or output; kFLOAT if there is no such tensor.
  DataType getTensorDataType(const char* tensorName) const noexcept { return mImpl->getTensorDataType(tensorName); }

  //! How many layers the engine has after fusion; not those of the network.
  int32_t getNbLayers() const noexcept { return mImpl->getNbLayers(); }

  //! The engine as bytes, which the caller releases; nullptr on failure.
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }

  //! Makes a context that runs the engine; nullptr on failure.
  IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy = ExecutionContextAllocationStrategy::kSTATIC) noexcept {
    return mImpl->createExecutionContext(strategy);
  }

  //! Where the memory of an input or output must be: on the host for inputs whose values are shapes.
  TensorLocation getTensorLocation(const char* tensorName) const noexcept {
    return mImpl->getTensorLocation(tensorName);
  }

  //! Whether the values of an input or output are read or written on the host, as they are shapes.
  bool isShapeInferenceIO(const char* tensorName) const noexcept { return mImpl->isShapeInferenceIO(tensorName); }

  //! Whether a tensor is an input, an output or neither.
  TensorIOMode getTensorIOMode(const char* tensorName) const noexcept { return mImpl->getTensorIOMode(tensorName); }

  //! The input whose memory an output shares; nullptr if none.
  const char* getAliasedInputTensor(const char* tensorName) const noexcept {
    return mImpl->getAliasedInputTensor(tensorName);
  }

  //! Makes a context that gets its memory through setDeviceMemoryV2().
  //! \deprecated Since 10.0; use createExecutionContext().
  TRT_DEPRECATED IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept {
    return mImpl->createExecutionContextWithoutDeviceMemory();
  }

  //! Makes a context as the configuration says; nullptr on failure.
  IExecutionContext* createExecutionContext(IRuntimeConfig* runtimeConfig) noexcept {
    return mImpl->createExecutionContextWithRuntimeConfig(runtimeConfig);
  }

  //! Makes a configuration for contexts, which the caller releases.
  IRuntimeConfig* createRuntimeConfig() noexcept { return mImpl->createRuntimeConfig(); }

  //! How many bytes a context needs for intermediate tensors; superseded by getDeviceMemorySizeV2().
  //! \deprecated Since 10.1; use getDeviceMemorySizeV2().
  TRT_DEPRECATED size_t getDeviceMemorySize() const noexcept { return mImpl->getDeviceMemorySize(); }

  //! The same for one profile; superseded by getDeviceMemorySizeForProfileV2().
  //! \deprecated Since 10.1; use getDeviceMemorySizeForProfileV2().
  TRT_DEPRECATED size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfile(profileIndex);
  }

  //! How many bytes a context needs for intermediate tensors, for whichever profile needs most.
  int64_t getDeviceMemorySizeV2() const noexcept { return mImpl->getDeviceMemorySizeV2(); }

  //! How many bytes a context needs for intermediate tensors with this profile.
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept {
    return mImpl->getDeviceMemorySizeForProfileV2(profileIndex);
  }

  //! Whether a refitter can change weights.
  bool isRefittable() const noexcept { return mImpl->isRefittable(); }

  //! Bytes of one element in a vectorized format for profile 0; -1 if the format is not vectorized.
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept {
    return mImpl->getTensorBytesPerComponent(tensorName);
  }

  //! The same for a profile.
  int32_t getTensorBytesPerComponent(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorBytesPerComponentV2(tensorName, profileIndex);
  }

  //! Elements that lie side by side in a vectorized format for profile 0; -1 if the format is not vectorized.
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept {
    return mImpl->getTensorComponentsPerElement(tensorName);
  }

  //! The same for a profile.
  int32_t getTensorComponentsPerElement(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorComponentsPerElementV2(tensorName, profileIndex);
  }

  //! The format of an input or output for profile 0.
  TensorFormat getTensorFormat(const char* tensorName) const noexcept { return mImpl->getTensorFormat(tensorName); }

  //! The same for a profile.
  TensorFormat getTensorFormat(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatV2(tensorName, profileIndex);
  }

  //! The format of an input or output for profile 0, in words.
  const char* getTensorFormatDesc(const char* tensorName) const noexcept {
    return mImpl->getTensorFormatDesc(tensorName);
  }

  //! The same for a profile.
  const char* getTensorFormatDesc(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorFormatDescV2(tensorName, profileIndex);
  }

  //! The axis whose elements lie side by side for profile 0; -1 if the format is not vectorized.
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept {
    return mImpl->getTensorVectorizedDim(tensorName);
  }

  //! The same for a profile.
  int32_t getTensorVectorizedDim(const char* tensorName, int32_t profileIndex) const noexcept {
    return mImpl->getTensorVectorizedDimV2(tensorName, profileIndex);
  }

  //! The name of the network.
  const char* getName() const noexcept { return mImpl->getName(); }

  //! How many profiles the engine was built with; at least 1.
  int32_t getNbOptimizationProfiles() const noexcept { return mImpl->getNbOptimizationProfiles(); }

  //! A shape of an input in a profile; nbDims is -1 if there is none.
  Dims getProfileShape(const char* tensorName, int32_t profileIndex, OptProfileSelector select) const noexcept {
    return mImpl->getProfileShape(tensorName, profileIndex, select);
  }

  //! Values of an input that is a shape, 32 bits each; nullptr if there are none.
  //! \deprecated Since 10.11; use getProfileTensorValuesV2().
  TRT_DEPRECATED const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                                       OptProfileSelector select) const noexcept {
    return mImpl->getProfileTensorValues(tensorName, profileIndex, select);
  }

  //! What the engine was built for.
  EngineCapability getEngineCapability() const noexcept { return mImpl->getEngineCapability(); }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  //! Always false: the batch is an extent like the others.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED bool hasImplicitBatchDimension() const noexcept { return mImpl->hasImplicitBatchDimension(); }

  //! Where the implementations were allowed to come from.
  TacticSources getTacticSources() const noexcept { return mImpl->getTacticSources(); }

  //! How much the engine tells about its layers.
  ProfilingVerbosity getProfilingVerbosity() const noexcept { return mImpl->getProfilingVerbosity(); }

  //! Makes an inspector of this engine, which the caller releases.
  IEngineInspector* createEngineInspector() const noexcept { return mImpl->createEngineInspector(); }

  //! How many inputs and outputs there are.
  int32_t getNbIOTensors() const noexcept { return mImpl->getNbIOTensors(); }

  //! The name of the input or output with the index; inputs come first. nullptr beyond the end.
  const char* getIOTensorName(int32_t index) const noexcept { return mImpl->getIOTensorName(index); }

  //! On which other devices the engine runs.
  HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept {
    return mImpl->getHardwareCompatibilityLevel();
  }

  //! How many streams a context uses beside the one that it is given.
  int32_t getNbAuxStreams() const noexcept { return mImpl->getNbAuxStreams(); }

  //! Makes a configuration for serializeWithConfig(), which the caller releases.
  ISerializationConfig* createSerializationConfig() noexcept { return mImpl->createSerializationConfig(); }

  //! The engine as bytes, as the configuration says; nullptr on failure.
  IHostMemory* serializeWithConfig(ISerializationConfig& config) const noexcept {
    return mImpl->serializeWithConfig(config);
  }

  //! Superseded by setWeightStreamingBudgetV2().
  //! \deprecated Since 10.1; use setWeightStreamingBudgetV2().
  TRT_DEPRECATED bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudget(gpuMemoryBudget);
  }

  //! The value given to setWeightStreamingBudget(), or its default.
  //! \deprecated Since 10.1; use getWeightStreamingBudgetV2().
  TRT_DEPRECATED int64_t getWeightStreamingBudget() const noexcept { return mImpl->getWeightStreamingBudget(); }

  //! The smallest budget that was ever useful; superseded, always 0.
  //! \deprecated Since 10.1.
  TRT_DEPRECATED int64_t getMinimumWeightStreamingBudget() const noexcept {
    return mImpl->getMinimumWeightStreamingBudget();
  }

  //! Bytes of the weights that can stay on the host and be copied while running.
  int64_t getStreamableWeightsSize() const noexcept { return mImpl->getStreamableWeightsSize(); }

  //! Sets how many bytes of these weights may be on the device. No context may exist. Returns false for a negative
  //! number or an engine without streaming.
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept {
    return mImpl->setWeightStreamingBudgetV2(gpuMemoryBudget);
  }

  //! The value given to setWeightStreamingBudgetV2(), or its default.
  int64_t getWeightStreamingBudgetV2() const noexcept { return mImpl->getWeightStreamingBudgetV2(); }

  //! The budget that the library would choose for the memory that is free now.
  int64_t getWeightStreamingAutomaticBudget() const noexcept { return mImpl->getWeightStreamingAutomaticBudget(); }

  //! Bytes that a context needs for copying weights with the current budget.
  int64_t getWeightStreamingScratchMemorySize() const noexcept { return mImpl->getWeightStreamingScratchMemorySize(); }

  //! Whether a tensor was marked for debugging.
  bool isDebugTensor(const char* name) const noexcept { return mImpl->isDebugTensor(name); }

  //! Values of an input that is a shape; nullptr if there are none.
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          OptProfileSelector select) const noexcept {
    return mImpl->getProfileTensorValuesV2(tensorName, profileIndex, select);
  }

  //! A number about the engine; -1 if it is not known.
  int64_t getEngineStat(EngineStat stat) const noexcept { return mImpl->getEngineStat(stat); }

 protected:
  apiv::VCudaEngine* mImpl;
};

namespace v_1_0 {

//! Provides memory for outputs whose size is not known before the run; implemented by programs.
class IOutputAllocator : public IVersionedInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IOutputAllocator", 1, 0}; }

  //! Memory of at least `size` bytes at a multiple of `alignment`; `currentMemory` may be kept if it is large
  //! enough. nullptr on failure. Superseded by reallocateOutputAsync().
  //! \deprecated Since 10.0; use reallocateOutputAsync().
  TRT_DEPRECATED virtual void* reallocateOutput(const char* /*tensorName*/, void* /*currentMemory*/, uint64_t /*size*/,
                                                uint64_t /*alignment*/) noexcept {
    return nullptr;
  }

  //! As above, for use in the order of the stream. Without an own version it calls reallocateOutput().
  virtual void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size, uint64_t alignment,
                                      cudaStream_t) {
    return reallocateOutput(tensorName, currentMemory, size, alignment);
  }

  //! Tells the shape of the output once it is known.
  virtual void notifyShape(const char* tensorName, const Dims& dims) noexcept = 0;
};

//! Is shown tensors that were marked for debugging, while the engine runs; implemented by programs.
class IDebugListener : public IVersionedInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IDebugListener", 1, 0}; }

  //! One tensor: its place, address, type, shape and name. The memory is valid in the order of the stream during
  //! the call. Returns false if the listener failed.
  virtual bool processDebugTensor(const void* addr, TensorLocation location, DataType type, const Dims& shape,
                                  const char* name, cudaStream_t stream) = 0;

  ~IDebugListener() noexcept override = default;
};

}  // namespace v_1_0

using IOutputAllocator = v_1_0::IOutputAllocator;
using IDebugListener = v_1_0::IDebugListener;

//! The state of one use of an engine: shapes, addresses and memory. One thread at a time; several contexts may run
//! at once. Release it with delete, before the engine.
class IExecutionContext : public INoCopy {
 public:
  virtual ~IExecutionContext() noexcept = default;

  //! Sets whether executeV2() waits after each layer and reports errors there.
  void setDebugSync(bool sync) noexcept { mImpl->setDebugSync(sync); }

  //! The value given to setDebugSync(), or its default.
  bool getDebugSync() const noexcept { return mImpl->getDebugSync(); }

  //! Sets who is told the times of layers; nullptr for nobody.
  void setProfiler(IProfiler* profiler) noexcept { mImpl->setProfiler(profiler); }

  //! The value given to setProfiler(), or its default.
  IProfiler* getProfiler() const noexcept { return mImpl->getProfiler(); }

  //! The engine of the context.
  const ICudaEngine& getEngine() const noexcept { return mImpl->getEngine(); }

  //! Sets a name, which the context copies.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  //! The value given to setName(), or its default.
  const char* getName() const noexcept { return mImpl->getName(); }

  //! Superseded by setDeviceMemoryV2().
  void setDeviceMemory(void* memory) noexcept { mImpl->setDeviceMemory(memory); }

  //! Gives memory for intermediate tensors, of at least the size that the engine or
  //! updateDeviceMemorySizeForShapes() told; it stays the caller's.
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept { mImpl->setDeviceMemoryV2(memory, size); }

  //! The strides of an input or output in elements, or in vectors for vectorized formats; nbDims is -1 if there is
  //! no such tensor or shapes are not set.
  Dims getTensorStrides(const char* tensorName) const noexcept { return mImpl->getTensorStrides(tensorName); }

  //! The profile in use; -1 if none was chosen yet.
  int32_t getOptimizationProfile() const noexcept { return mImpl->getOptimizationProfile(); }

  //! Sets the shape of an input for the next runs. Returns false if the profile does not allow it.
  bool setInputShape(const char* tensorName, const Dims& dims) noexcept {
    return mImpl->setInputShape(tensorName, dims);
  }

  //! The shape of an input or output, -1 for extents that depend on what is not set yet; nbDims is -1 if there is
  //! no such tensor.
  Dims getTensorShape(const char* tensorName) const noexcept { return mImpl->getTensorShape(tensorName); }

  //! Whether all input shapes are set.
  bool allInputDimensionsSpecified() const noexcept { return mImpl->allInputDimensionsSpecified(); }

  //! Whether all values of inputs that are shapes are set.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED bool allInputShapesSpecified() const noexcept { return mImpl->allInputShapesSpecified(); }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  //! Runs and waits. `bindings` holds the addresses of inputs and outputs in the order of getIOTensorName().
  //! Returns false on failure.
  bool executeV2(void* const* bindings) noexcept { return mImpl->executeV2(bindings); }

  //! Chooses a profile, in the order of the stream; shapes must then be set anew. Returns false if another context
  //! uses it where that is not allowed.
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept {
    return mImpl->setOptimizationProfileAsync(profileIndex, stream);
  }

  //! Sets whether each run tells the profiler; if not, reportToProfiler() does. On by default.
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept { mImpl->setEnqueueEmitsProfile(enqueueEmitsProfile); }

  //! The value given to setEnqueueEmitsProfile(), or its default.
  bool getEnqueueEmitsProfile() const noexcept { return mImpl->getEnqueueEmitsProfile(); }

  //! Tells the profiler the times of the last run. Returns false if there was none or there is no profiler.
  bool reportToProfiler() const noexcept { return mImpl->reportToProfiler(); }

  //! Sets where an input or output is, on the device unless getTensorLocation() says host. Returns false if there
  //! is no such tensor.
  bool setTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setTensorAddress(tensorName, data);
  }

  //! Where an input or output is; nullptr if not set.
  const void* getTensorAddress(const char* tensorName) const noexcept { return mImpl->getTensorAddress(tensorName); }

  //! Sets where an output is.
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setOutputTensorAddress(tensorName, data);
  }

  //! Sets where an input is; the memory is not written.
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept {
    return mImpl->setInputTensorAddress(tensorName, data);
  }

  //! Where an output is; nullptr if not set.
  void* getOutputTensorAddress(const char* tensorName) const noexcept {
    return mImpl->getOutputTensorAddress(tensorName);
  }

  //! Checks that everything is set that shapes depend on. Returns 0 if so; else the number of inputs that lack it,
  //! of which at most `nbMaxNames` are named; -1 on failure.
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept {
    return mImpl->inferShapes(nbMaxNames, tensorNames);
  }

  //! How many bytes of intermediate memory the shapes that are set need.
  size_t updateDeviceMemorySizeForShapes() noexcept { return mImpl->updateDeviceMemorySizeForShapes(); }

  //! Sets an event that is recorded when the inputs may be overwritten; nullptr for none.
  bool setInputConsumedEvent(cudaEvent_t event) noexcept { return mImpl->setInputConsumedEvent(event); }

  //! The event of setInputConsumedEvent().
  cudaEvent_t getInputConsumedEvent() const noexcept { return mImpl->getInputConsumedEvent(); }

  //! Sets who provides the memory of an output; nullptr for nobody.
  bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept {
    return mImpl->setOutputAllocator(tensorName, outputAllocator);
  }

  //! The value given to setOutputAllocator(), or its default.
  IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept {
    return mImpl->getOutputAllocator(tensorName);
  }

  //! How many bytes an output needs at most for the shapes that are set; -1 if there is no bound.
  int64_t getMaxOutputSize(const char* tensorName) const noexcept { return mImpl->getMaxOutputSize(tensorName); }

  //! Sets who provides memory for what is allocated while running; nullptr for the engine's allocator.
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept {
    return mImpl->setTemporaryStorageAllocator(allocator);
  }

  //! The value given to setTemporaryStorageAllocator(), or its default.
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept { return mImpl->getTemporaryStorageAllocator(); }

  //! Puts a run on the stream. All shapes and addresses must be set and stay valid until it is done. Returns false
  //! on failure.
  bool enqueueV3(cudaStream_t stream) noexcept { return mImpl->enqueueV3(stream); }

  //! Sets how many bytes of the cache of the device may hold data between kernels; 0 by default.
  void setPersistentCacheLimit(size_t size) noexcept { mImpl->setPersistentCacheLimit(size); }

  //! The value given to setPersistentCacheLimit(), or its default.
  size_t getPersistentCacheLimit() const noexcept { return mImpl->getPersistentCacheLimit(); }

  //! Sets how much is told to NVTX, up to what the engine was built for. Returns false for more.
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept { return mImpl->setNvtxVerbosity(verbosity); }

  //! The value given to setNvtxVerbosity(), or its default.
  ProfilingVerbosity getNvtxVerbosity() const noexcept { return mImpl->getNvtxVerbosity(); }

  //! Sets the streams that are used beside the one of enqueueV3().
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
    mImpl->setAuxStreams(auxStreams, nbStreams);
  }

  //! Sets who is shown debug tensors; nullptr for nobody.
  bool setDebugListener(IDebugListener* listener) noexcept { return mImpl->setDebugListener(listener); }

  //! The value given to setDebugListener(), or its default.
  IDebugListener* getDebugListener() noexcept { return mImpl->getDebugListener(); }

  //! Turns a debug tensor on or off. Returns false if it was not marked.
  bool setTensorDebugState(const char* name, bool flag) noexcept { return mImpl->setTensorDebugState(name, flag); }

  //! Whether a debug tensor is on.
  bool getDebugState(const char* name) const noexcept { return mImpl->getDebugState(name); }

  //! The configuration that the context was made with; it belongs to the context.
  IRuntimeConfig* getRuntimeConfig() const noexcept { return mImpl->getRuntimeConfig(); }

  //! Turns all debug tensors on or off.
  bool setAllTensorsDebugState(bool flag) noexcept { return mImpl->setAllTensorsDebugState(flag); }

  //! Turns the tensors that fusion left over on or off, if the network marked them.
  bool setUnfusedTensorsDebugState(bool flag) noexcept { return mImpl->setUnfusedTensorsDebugState(flag); }

  //! The value given to setUnfusedTensorsDebugState(), or its default.
  bool getUnfusedTensorsDebugState() const noexcept { return mImpl->getUnfusedTensorsDebugState(); }

  //! Gives the communicator of NCCL for an engine that spans several devices.
  bool setCommunicator(void* communicator) noexcept { return mImpl->setCommunicator(communicator); }

 protected:
  apiv::VExecutionContext* mImpl;
};

//! How the inspector writes.
enum class LayerInformationFormat : int32_t {
  kONELINE = 0,  //!< Readable text, one line for each layer.
  kJSON = 1,     //!< JSON.
};

template <>
struct impl::EnumMaxImpl<LayerInformationFormat> {
  static constexpr int32_t kVALUE = 2;
};

//! Tells what an engine is made of. How much depends on the ProfilingVerbosity that it was built with.
class IEngineInspector : public INoCopy {
 public:
  virtual ~IEngineInspector() noexcept = default;

  //! Sets a context whose shapes are told; nullptr for none.
  bool setExecutionContext(const IExecutionContext* context) noexcept { return mImpl->setExecutionContext(context); }

  //! The value given to setExecutionContext(), or its default.
  const IExecutionContext* getExecutionContext() const noexcept { return mImpl->getExecutionContext(); }

  //! Tells one layer. The text belongs to the inspector and is valid until its next call.
  const char* getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept {
    return mImpl->getLayerInformation(layerIndex, format);
  }

  //! Tells all layers. The text belongs to the inspector and is valid until its next call.
  const char* getEngineInformation(LayerInformationFormat format) const noexcept {
    return mImpl->getEngineInformation(format);
  }

  //! Sets who collects errors; nullptr for nobody, errors then go to the logger.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  //! The value given to setErrorRecorder(), or its default.
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
//! Registers a creator of class T when it is constructed; see REGISTER_TENSORRT_PLUGIN.
template <typename T>
class PluginRegistrar {
 public:
  //! Registers the creator in the registry of the process.
  PluginRegistrar() { getPluginRegistry()->registerCreator(instance, ""); }

 private:
  T instance{};
};

//! Given to plugin libraries, so that their messages go to the logger of the library that loaded them.
class ILoggerFinder {
 public:
  //! That logger.
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() = default;
};

namespace v_1_0 {

//! Provides device memory in the order of streams; implemented by programs.
class IGpuAsyncAllocator : public IGpuAllocator {
 public:
  IGpuAsyncAllocator() = default;
  ~IGpuAsyncAllocator() noexcept override = default;

  //! Allocates `size` bytes at a multiple of `alignment` for use after what the stream holds; nullptr on failure.
  void* allocateAsync(const uint64_t size, const uint64_t alignment, const AllocatorFlags flags,
                      cudaStream_t) noexcept override = 0;

  //! Frees memory after what the stream holds. Returns false on failure.
  bool deallocateAsync(void* const memory, cudaStream_t) noexcept override = 0;

  //! Calls allocateAsync() on the default stream.
  //! \deprecated Since 10.0; use allocateAsync().
  TRT_DEPRECATED void* allocate(const uint64_t size, const uint64_t alignment,
                                const AllocatorFlags flags) noexcept override {
    return allocateAsync(size, alignment, flags, nullptr);
  }

  //! Calls deallocateAsync() on the default stream.
  //! \deprecated Since 10.0; use deallocateAsync().
  TRT_DEPRECATED bool deallocate(void* const memory) noexcept override { return deallocateAsync(memory, nullptr); }

  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IGpuAllocator", 1, 0}; }
};

//! Makes plugins of the IPluginV3 interface.
class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V3ONE", 1, 0}; }

  //! Makes a plugin with the attributes in `fc`: those of a program when building, those of getFieldsToSerialize()
  //! when loading. nullptr on failure.
  virtual IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                                  TensorRTPhase phase) noexcept = 0;

  //! The attributes that createPlugin() takes; the list belongs to the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  //! The name of the plugin type.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  //! The version of the plugin type.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  //! The namespace in which the creator is registered.
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
