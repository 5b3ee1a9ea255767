// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The older plugin interfaces of the IPluginV2 family and their creator.
#pragma once

#include "NvInferPluginBase.h"

// Contexts of cuDNN and cuBLAS, which a plugin of the old family may be handed.
struct cublasContext;
struct cudnnContext;

// The headers themselves may name what is deprecated; only its use elsewhere shall be warned about.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1 {

// Defined in NvInferRuntime.h.
enum class TensorFormat : int32_t;
namespace v_1_0 {
class IGpuAllocator;
}  // namespace v_1_0
using IGpuAllocator = v_1_0::IGpuAllocator;

//! The older name of TensorFormat.
using PluginFormat = TensorFormat;

//! The bit of a plugin's or creator's version that says that Python code stands behind it.
constexpr int32_t kPLUGIN_VERSION_PYTHON_BIT = 0x40;

//! The version that a creator of the old kind reports.
enum class PluginCreatorVersion : int32_t {
  kV1 TRT_DEPRECATED_ENUM = 0,          //!< The first, in C++.
  kV1_PYTHON TRT_DEPRECATED_ENUM = 64,  //!< The first, in Python.
};

//! What a plugin knows of a tensor whose shape is known.
struct PluginTensorDesc {
  //! The shape.
  Dims dims;
  //! The type of the elements.
  DataType type;
  //! Their order in memory.
  TensorFormat format;
  //! The factor from int8 to real numbers; otherwise not set.
  float scale;
};

//! The oldest plugin interface that is left: fixed shapes, with the batch extent apart from the shape.
//! \deprecated Since 8.5.
class TRT_DEPRECATED IPluginV2 {
 public:
  //! The NV_TENSORRT_VERSION of the headers the plugin was compiled with, and the PluginVersion in the top byte.
  virtual int32_t getTensorRTVersion() const noexcept { return NV_TENSORRT_VERSION; }

  //! The name by which its creator is found; never nullptr, and constant.
  virtual const AsciiChar* getPluginType() const noexcept = 0;

  //! The version by which its creator is found.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  //! How many tensors the plugin writes.
  virtual int32_t getNbOutputs() const noexcept = 0;

  //! The shape of output `index` for the given input shapes, all without the batch extent.
  virtual Dims getOutputDimensions(int32_t index, const Dims* inputs, int32_t nbInputDims) noexcept = 0;

  //! Whether inputs and outputs may have this type and format.
  virtual bool supportsFormat(DataType type, PluginFormat format) const noexcept = 0;

  //! Tells the plugin its shapes, type, format and largest batch before it is built or run.
  virtual void configureWithFormat(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims, int32_t nbOutputs,
                                   DataType type, PluginFormat format, int32_t maxBatchSize) noexcept = 0;

  //! Prepares for execution, once before the first enqueue(). Returns 0 on success.
  virtual int32_t initialize() noexcept = 0;

  //! Undoes initialize().
  virtual void terminate() noexcept = 0;

  //! How many bytes of scratch memory enqueue() needs for batches of up to `maxBatchSize`.
  virtual size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept = 0;

  //! Puts the work for a batch on the stream. Inputs and outputs are device memory; returns 0 on success.
  virtual int32_t enqueue(int32_t batchSize, const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

  //! How many bytes serialize() writes.
  virtual size_t getSerializationSize() const noexcept = 0;

  //! Writes the state of the plugin to `buffer`.
  virtual void serialize(void* buffer) const noexcept = 0;

  //! Frees the plugin; the last call.
  virtual void destroy() noexcept = 0;

  //! A copy with the same state, owned by the caller.
  virtual IPluginV2* clone() const noexcept = 0;

  //! Sets the namespace in which the creator was registered; "" by default. Copied by the plugin.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;

  //! The value given to setPluginNamespace(), or its default.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginV2() = default;
  virtual ~IPluginV2() noexcept = default;

 protected:
  IPluginV2(const IPluginV2&) = default;
  IPluginV2(IPluginV2&&) = default;
  IPluginV2& operator=(const IPluginV2&) & = default;
  IPluginV2& operator=(IPluginV2&&) & = default;
};

//! Tells the classes of the IPluginV2 family apart: the top byte of getTensorRTVersion().
enum class PluginVersion : uint8_t {
  kV2 TRT_DEPRECATED_ENUM = 0,                     //!< IPluginV2.
  kV2_EXT TRT_DEPRECATED_ENUM = 1,                 //!< IPluginV2Ext.
  kV2_IOEXT TRT_DEPRECATED_ENUM = 2,               //!< IPluginV2IOExt.
  kV2_DYNAMICEXT TRT_DEPRECATED_ENUM = 3,          //!< IPluginV2DynamicExt.
  kV2_DYNAMICEXT_PYTHON TRT_DEPRECATED_ENUM = 67,  //!< IPluginV2DynamicExt, written in Python.
};

//! Adds types per output, broadcasting over the batch, and contexts.
//! \deprecated Since 8.5.
class TRT_DEPRECATED IPluginV2Ext : public IPluginV2 {
 public:
  //! The type of output `index` for the given types of the inputs.
  virtual DataType getOutputDataType(int32_t index, const DataType* inputTypes, int32_t nbInputs) const noexcept = 0;

  //! Whether output `outputIndex` is the same for the whole batch, given which inputs are.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED virtual bool isOutputBroadcastAcrossBatch(int32_t outputIndex, const bool* inputIsBroadcasted,
                                                           int32_t nbInputs) const noexcept = 0;

  //! Whether the plugin takes input `inputIndex` once for the whole batch.
  //! \deprecated Since 10.0.
  TRT_DEPRECATED virtual bool canBroadcastInputAcrossBatch(int32_t inputIndex) const noexcept = 0;

  //! Tells the plugin shapes, types, broadcasts, format and largest batch before it is built or run.
  virtual void configurePlugin(const Dims* inputDims, int32_t nbInputs, const Dims* outputDims, int32_t nbOutputs,
                               const DataType* inputTypes, const DataType* outputTypes, const bool* inputIsBroadcast,
                               const bool* outputIsBroadcast, PluginFormat floatFormat,
                               int32_t maxBatchSize) noexcept = 0;

  IPluginV2Ext() = default;
  ~IPluginV2Ext() noexcept override = default;

  //! Gives the plugin the handles and the allocator of an execution context. Handles of libraries that the context
  //! does not use are nullptr.
  virtual void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept {}

  //! Called before the context goes away.
  virtual void detachFromContext() noexcept {}

  //! A copy with the same state, owned by the caller.
  IPluginV2Ext* clone() const noexcept override = 0;

 protected:
  IPluginV2Ext(const IPluginV2Ext&) = default;
  IPluginV2Ext(IPluginV2Ext&&) = default;
  IPluginV2Ext& operator=(const IPluginV2Ext&) & = default;
  IPluginV2Ext& operator=(IPluginV2Ext&&) & = default;

  //! The version of the interface, with the mark of this class in the top byte.
  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_EXT) << 24) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }

  //! Not called for this class; see configurePlugin().
  void configureWithFormat(const Dims*, int32_t, const Dims*, int32_t, DataType, PluginFormat,
                           int32_t) noexcept override {}
};

//! Adds a type and a format for each input and output.
//! \deprecated Since 10.0.
class TRT_DEPRECATED IPluginV2IOExt : public IPluginV2Ext {
 public:
  //! Tells the plugin the shape, type and format of every input and output before it is built or run.
  virtual void configurePlugin(const PluginTensorDesc* in, int32_t nbInput, const PluginTensorDesc* out,
                               int32_t nbOutput) noexcept = 0;

  //! Whether the tensor `pos`, inputs first, may be as described in inOut[pos], given those before it.
  virtual bool supportsFormatCombination(int32_t pos, const PluginTensorDesc* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) const noexcept = 0;

  IPluginV2IOExt() = default;
  ~IPluginV2IOExt() noexcept override = default;

 protected:
  IPluginV2IOExt(const IPluginV2IOExt&) = default;
  IPluginV2IOExt(IPluginV2IOExt&&) = default;
  IPluginV2IOExt& operator=(const IPluginV2IOExt&) & = default;
  IPluginV2IOExt& operator=(IPluginV2IOExt&&) & = default;

  //! The version of the interface, with the mark of this class in the top byte.
  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_IOEXT) << 24) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }

 private:
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*, const bool*,
                       const bool*, PluginFormat, int32_t) noexcept final {}
  bool supportsFormat(DataType, PluginFormat) const noexcept final { return false; }
};

namespace v_1_0 {

//! Makes plugins of the IPluginV2 family, by name or from serialized bytes.
class TRT_DEPRECATED IPluginCreator : public IPluginCreatorInterface {
 public:
  //! The name of the plugin type.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  //! The version of the plugin type.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  //! The attributes that createPlugin() takes; the list belongs to the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  //! Makes a plugin with the attributes in `fc`; nullptr on failure.
  virtual IPluginV2* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc) noexcept = 0;

  //! Makes a plugin from what its serialize() wrote; nullptr on failure.
  virtual IPluginV2* deserializePlugin(const AsciiChar* name, const void* serialData, size_t serialLength) noexcept = 0;

  //! Sets the namespace in which the creator is registered; copied by the creator.
  virtual void setPluginNamespace(const AsciiChar* pluginNamespace) noexcept = 0;

  //! The value given to setPluginNamespace(), or its default.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginCreator() = default;
  ~IPluginCreator() noexcept override = default;

 protected:
  IPluginCreator(const IPluginCreator&) = default;
  IPluginCreator(IPluginCreator&&) = default;
  IPluginCreator& operator=(const IPluginCreator&) & = default;
  IPluginCreator& operator=(IPluginCreator&&) & = default;

 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V1", 1, 0}; }
};

}  // namespace v_1_0

using IPluginCreator = v_1_0::IPluginCreator;

}  // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
