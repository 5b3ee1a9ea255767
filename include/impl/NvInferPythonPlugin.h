// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The plugin interfaces behind plugins that are written in Python.
#pragma once

#include "NvInfer.h"

namespace nvinfer1 {

//! The kinds of extra arguments of a kernel.
enum class PluginArgType : int32_t {
  kINT = 0,  //!< An integer.
};

//! The types of extra arguments of a kernel.
enum class PluginArgDataType : int32_t {
  kINT8 = 0,   //!< 8 bits.
  kINT16 = 1,  //!< 16 bits.
  kINT32 = 2,  //!< 32 bits.
};

//! A number in the arguments of a kernel, which may depend on extents.
class ISymExpr {
 public:
  //! What kind of argument it is.
  virtual PluginArgType getType() const noexcept = 0;

  //! Its type.
  virtual PluginArgDataType getDataType() const noexcept = 0;

  //! The IDimensionExpr behind it.
  virtual void* getExpr() noexcept = 0;
};

//! The functions behind ISymExprs.
class ISymExprsImpl {
 public:
  //! The argument with the index.
  virtual ISymExpr* getSymExpr(int32_t index) const noexcept = 0;

  //! Sets the argument with the index.
  virtual bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept = 0;

  //! How many arguments there are.
  virtual int32_t getNbSymExprs() const noexcept = 0;

  //! Sets how many arguments there are.
  virtual bool setNbSymExprs(int32_t count) noexcept = 0;

  virtual ~ISymExprsImpl() noexcept = default;
};

//! The extra arguments of a kernel.
class ISymExprs {
 public:
  //! The argument with the index; nullptr beyond the end.
  ISymExpr* getSymExpr(int32_t index) const noexcept { return mImpl->getSymExpr(index); }

  //! Sets the argument with the index; false beyond the end.
  bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept { return mImpl->setSymExpr(index, symExpr); }

  //! How many arguments there are.
  int32_t getNbSymExprs() const noexcept { return mImpl->getNbSymExprs(); }

  //! Sets how many arguments there are; false if that is negative.
  bool setNbSymExprs(int32_t count) noexcept { return mImpl->setNbSymExprs(count); }

 protected:
  virtual ~ISymExprs() noexcept = default;
  ISymExprsImpl* mImpl{nullptr};
};

//! The functions behind IKernelLaunchParams.
class IKernelLaunchParamsImpl {
 public:
  //! The value given to setGridX(), or its default.
  virtual ISymExpr* getGridX() noexcept = 0;

  //! Sets the blocks along x.
  virtual bool setGridX(ISymExpr* gridX) noexcept = 0;

  //! The value given to setGridY(), or its default.
  virtual ISymExpr* getGridY() noexcept = 0;

  //! Sets the blocks along y.
  virtual bool setGridY(ISymExpr* gridY) noexcept = 0;

  //! The value given to setGridZ(), or its default.
  virtual ISymExpr* getGridZ() noexcept = 0;

  //! Sets the blocks along z.
  virtual bool setGridZ(ISymExpr* gridZ) noexcept = 0;

  //! The value given to setBlockX(), or its default.
  virtual ISymExpr* getBlockX() noexcept = 0;

  //! Sets the threads of a block along x.
  virtual bool setBlockX(ISymExpr* blockX) noexcept = 0;

  //! The value given to setBlockY(), or its default.
  virtual ISymExpr* getBlockY() noexcept = 0;

  //! Sets the threads of a block along y.
  virtual bool setBlockY(ISymExpr* blockY) noexcept = 0;

  //! The value given to setBlockZ(), or its default.
  virtual ISymExpr* getBlockZ() noexcept = 0;

  //! Sets the threads of a block along z.
  virtual bool setBlockZ(ISymExpr* blockZ) noexcept = 0;

  //! The value given to setSharedMem(), or its default.
  virtual ISymExpr* getSharedMem() noexcept = 0;

  //! Sets the bytes of dynamic shared memory.
  virtual bool setSharedMem(ISymExpr* sharedMem) noexcept = 0;

  virtual ~IKernelLaunchParamsImpl() noexcept = default;
};

//! How a kernel is launched: numbers that may depend on extents.
class IKernelLaunchParams {
 public:
  //! The value given to setGridX(), or its default.
  ISymExpr* getGridX() noexcept { return mImpl->getGridX(); }

  //! Sets the blocks along x.
  bool setGridX(ISymExpr* gridX) noexcept { return mImpl->setGridX(gridX); }

  //! The value given to setGridY(), or its default.
  ISymExpr* getGridY() noexcept { return mImpl->getGridY(); }

  //! Sets the blocks along y.
  bool setGridY(ISymExpr* gridY) noexcept { return mImpl->setGridY(gridY); }

  //! The value given to setGridZ(), or its default.
  ISymExpr* getGridZ() noexcept { return mImpl->getGridZ(); }

  //! Sets the blocks along z.
  bool setGridZ(ISymExpr* gridZ) noexcept { return mImpl->setGridZ(gridZ); }

  //! The value given to setBlockX(), or its default.
  ISymExpr* getBlockX() noexcept { return mImpl->getBlockX(); }

  //! Sets the threads of a block along x.
  bool setBlockX(ISymExpr* blockX) noexcept { return mImpl->setBlockX(blockX); }

  //! The value given to setBlockY(), or its default.
  ISymExpr* getBlockY() noexcept { return mImpl->getBlockY(); }

  //! Sets the threads of a block along y.
  bool setBlockY(ISymExpr* blockY) noexcept { return mImpl->setBlockY(blockY); }

  //! The value given to setBlockZ(), or its default.
  ISymExpr* getBlockZ() noexcept { return mImpl->getBlockZ(); }

  //! Sets the threads of a block along z.
  bool setBlockZ(ISymExpr* blockZ) noexcept { return mImpl->setBlockZ(blockZ); }

  //! The value given to setSharedMem(), or its default.
  ISymExpr* getSharedMem() noexcept { return mImpl->getSharedMem(); }

  //! Sets the bytes of dynamic shared memory.
  bool setSharedMem(ISymExpr* sharedMem) noexcept { return mImpl->setSharedMem(sharedMem); }

 protected:
  virtual ~IKernelLaunchParams() noexcept = default;
  IKernelLaunchParamsImpl* mImpl{nullptr};
};

namespace v_1_0 {

//! The identity of a plugin written as a Python function.
class IPluginV3QuickCore : public IPluginCapability {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICK_CORE", 1, 0}; }

  //! The name of the plugin.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  //! The version of the plugin.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  //! The namespace of the plugin.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

//! What the builder asks a plugin written as a Python function.
class IPluginV3QuickBuild : public IPluginCapability {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICK_BUILD", 1, 0}; }

  //! Writes the types of the outputs for the given types and ranks of the inputs. Returns 0 on success.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, const DataType* inputTypes,
                                     const int32_t* inputRanks, int32_t nbInputs) const noexcept = 0;

  //! Writes the shapes of the outputs as expressions over those of the inputs. Returns 0 on success.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs, const DimsExprs* shapeInputs,
                                  int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  //! Tells the plugin types, formats and ranges of shapes. Returns 0 on success.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;

  //! How many combinations of types and formats the plugin takes.
  virtual int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                                   int32_t nbOutputs) noexcept = 0;

  //! Writes these combinations, one after the other, each with all inputs and then all outputs.
  virtual int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                                 int32_t nbOutputs, PluginTensorDesc* supportedCombinations,
                                                 int32_t nbFormatCombinations) noexcept = 0;

  //! How many tensors the plugin writes.
  virtual int32_t getNbOutputs() const noexcept = 0;

  //! The input whose memory output `outputIndex` shares, -1 if none.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }

  //! Writes the numbers of the tactics to choose from. Returns 0 on success.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept { return 0; }

  //! How many tactics there are to choose from; 0 if there is only one way.
  virtual int32_t getNbTactics() noexcept { return 0; }

  //! Tells plugins of the same type apart in the timing cache; nullptr keeps the plugin out of it.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }

  //! Text that the inspector shows for the layer; nullptr for none.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

//! What the builder asks a plugin whose kernels are compiled while the engine is built.
class IPluginV3QuickAOTBuild : public IPluginV3QuickBuild {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICKAOT_BUILD", 1, 0}; }

  //! Writes grid, block, shared memory and extra arguments as expressions over the input shapes.
  virtual int32_t getLaunchParams(const DimsExprs* inputs, const DynamicPluginTensorDesc* inOut, int32_t nbInputs,
                                  int32_t nbOutputs, IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  //! Gives the name and the code of the kernel for the given tensors.
  virtual int32_t getKernel(const PluginTensorDesc* in, int32_t nbInputs, const PluginTensorDesc* out,
                            int32_t nbOutputs, const char** kernelName, char** compiledKernel,
                            int32_t* compiledKernelSize) noexcept = 0;

  //! Sets the tactic that the next calls are about. Returns 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
};

//! What execution asks a plugin written as a Python function.
class IPluginV3QuickRuntime : public IPluginCapability {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN_V3QUICK_RUNTIME", 1, 0}; }

  //! Sets the tactic with which enqueue() works. Returns 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }

  //! Puts the work on the stream. Strides are counted in elements; returns 0 on success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, const Dims* inputStrides,
                          const Dims* outputStrides, int32_t nbInputs, int32_t nbOutputs,
                          cudaStream_t stream) noexcept = 0;

  //! The attributes from which the plugin can be made again; the list belongs to the plugin.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

}  // namespace v_1_0

using IPluginV3QuickCore = v_1_0::IPluginV3QuickCore;
using IPluginV3QuickBuild = v_1_0::IPluginV3QuickBuild;
using IPluginV3QuickAOTBuild = v_1_0::IPluginV3QuickAOTBuild;
using IPluginV3QuickRuntime = v_1_0::IPluginV3QuickRuntime;

//! How a plugin that can be compiled early or late shall be made.
enum class QuickPluginCreationRequest : int32_t {
  kUNKNOWN = 0,     //!< Nothing is asked for.
  kPREFER_JIT = 1,  //!< Compiled when it runs, if it can be.
  kPREFER_AOT = 2,  //!< Compiled when the engine is built, if it can be.
  kSTRICT_JIT = 3,  //!< Compiled when it runs, or not at all.
  kSTRICT_AOT = 4,  //!< Compiled when the engine is built, or not at all.
};

namespace v_1_0 {

//! Makes plugins written as Python functions.
class IPluginCreatorV3Quick : public IPluginCreatorInterface {
 public:
  //! The kind and version of this interface.
  InterfaceInfo getInterfaceInfo() const noexcept override { return InterfaceInfo{"PLUGIN CREATOR_V3QUICK", 1, 0}; }

  //! Makes a plugin with the attributes in `fc` for a phase; nullptr on failure.
  virtual IPluginV3* createPlugin(const AsciiChar* name, const AsciiChar* nspace, const PluginFieldCollection* fc,
                                  TensorRTPhase phase,
                                  QuickPluginCreationRequest quickPluginCreationRequest) noexcept = 0;

  //! The attributes that createPlugin() takes; the list belongs to the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  //! The name of the plugin.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  //! The version of the plugin.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  //! The namespace of the plugin.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;

  IPluginCreatorV3Quick() = default;
  virtual ~IPluginCreatorV3Quick() noexcept = default;

 protected:
  IPluginCreatorV3Quick(const IPluginCreatorV3Quick&) = default;
  IPluginCreatorV3Quick(IPluginCreatorV3Quick&&) = default;
  IPluginCreatorV3Quick& operator=(const IPluginCreatorV3Quick&) & = default;
  IPluginCreatorV3Quick& operator=(IPluginCreatorV3Quick&&) & = default;
};

}  // namespace v_1_0

using IPluginCreatorV3Quick = v_1_0::IPluginCreatorV3Quick;

}  // namespace nvinfer1
