// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! The plugin registry.
#pragma once

#include "NvInferPluginBase.h"
#include "NvInferRuntimePlugin.h"

// The headers themselves may name what is deprecated; only its use elsewhere shall be warned about.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1 {

class IPluginRegistry {
 public:
  using PluginLibraryHandle = void*;
  TRT_DEPRECATED virtual bool registerCreator(IPluginCreator& creator,
                                              const AsciiChar* const pluginNamespace) noexcept = 0;
  TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(int32_t* const numCreators) const noexcept = 0;
  TRT_DEPRECATED virtual IPluginCreator* getPluginCreator(const AsciiChar* const pluginName,
                                                          const AsciiChar* const pluginVersion,
                                                          const AsciiChar* const pluginNamespace = "") noexcept = 0;
  IPluginRegistry() = default;
  IPluginRegistry(const IPluginRegistry&) = delete;
  IPluginRegistry(IPluginRegistry&&) = delete;
  IPluginRegistry& operator=(const IPluginRegistry&) & = delete;
  IPluginRegistry& operator=(IPluginRegistry&&) & = delete;

 protected:
  virtual ~IPluginRegistry() noexcept = default;

 public:
  virtual void setErrorRecorder(IErrorRecorder* const recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  TRT_DEPRECATED virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;
  virtual bool isParentSearchEnabled() const = 0;
  virtual void setParentSearchEnabled(const bool enabled) = 0;
  virtual IPluginRegistry::PluginLibraryHandle loadLibrary(const AsciiChar* pluginPath) noexcept = 0;
  virtual void deregisterLibrary(IPluginRegistry::PluginLibraryHandle handle) noexcept = 0;
  virtual bool registerCreator(IPluginCreatorInterface& creator, const AsciiChar* const pluginNamespace) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreators(int32_t* const numCreators) const noexcept = 0;
  virtual IPluginCreatorInterface* getCreator(const AsciiChar* const pluginName, const AsciiChar* const pluginVersion,
                                              const AsciiChar* const pluginNamespace = "") noexcept = 0;
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key, IPluginResource* resource) noexcept = 0;
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* const numCreators) noexcept = 0;
};

}  // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
