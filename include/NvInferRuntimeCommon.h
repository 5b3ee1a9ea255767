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

//! Finds plugin creators by name, version and namespace. Registries form a tree: a runtime may own one below that
//! of the process. Safe to use from several threads.
class IPluginRegistry {
 public:
  //! Stands for a library that loadLibrary() opened.
  using PluginLibraryHandle = void*;

  //! Registers a creator of the old kind. Returns false if one of the same name, version and namespace is there.
  //! \deprecated Since 10.0; use the other overload.
  TRT_DEPRECATED virtual bool registerCreator(IPluginCreator& creator,
                                              const AsciiChar* const pluginNamespace) noexcept = 0;

  //! The creators of the old kind, here and in the parents; `numCreators` receives their number.
  //! \deprecated Since 10.0; use getAllCreators().
  TRT_DEPRECATED virtual IPluginCreator* const* getPluginCreatorList(int32_t* const numCreators) const noexcept = 0;

  //! The creator of the old kind with the name, version and namespace; nullptr if there is none.
  //! \deprecated Since 10.0; use getCreator().
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
  //! Sets who collects the errors of this registry; nullptr for nobody.
  virtual void setErrorRecorder(IErrorRecorder* const recorder) noexcept = 0;

  //! The value given to setErrorRecorder(), or its default.
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;

  //! Removes a creator of the old kind; false if it was not registered.
  //! \deprecated Since 10.0; use the other overload.
  TRT_DEPRECATED virtual bool deregisterCreator(const IPluginCreator& creator) noexcept = 0;

  //! Whether look-ups go on in the parent; true by default.
  virtual bool isParentSearchEnabled() const = 0;

  //! Sets whether look-ups go on in the parent.
  virtual void setParentSearchEnabled(const bool enabled) = 0;

  //! Opens a plugin library and registers the creators it exports through getCreators(). Returns nullptr on
  //! failure.
  virtual IPluginRegistry::PluginLibraryHandle loadLibrary(const AsciiChar* pluginPath) noexcept = 0;

  //! Removes the creators of a library and closes it; only when none of its plugins is left.
  virtual void deregisterLibrary(IPluginRegistry::PluginLibraryHandle handle) noexcept = 0;

  //! Registers a creator of any kind. Returns false if one of the same name, version and namespace is there. The
  //! creator must outlive its registration.
  virtual bool registerCreator(IPluginCreatorInterface& creator, const AsciiChar* const pluginNamespace) noexcept = 0;

  //! The creators registered here, without those of the parents; `numCreators` receives their number. Valid until
  //! the registry changes.
  virtual IPluginCreatorInterface* const* getAllCreators(int32_t* const numCreators) const noexcept = 0;

  //! The creator of any kind with the name, version and namespace; nullptr if there is none.
  virtual IPluginCreatorInterface* getCreator(const AsciiChar* const pluginName, const AsciiChar* const pluginVersion,
                                              const AsciiChar* const pluginNamespace = "") noexcept = 0;

  //! Removes a creator of any kind; false if it was not registered.
  virtual bool deregisterCreator(const IPluginCreatorInterface& creator) noexcept = 0;

  //! The shared resource of the key; a clone of `resource` is stored if there is none yet. Each call counts as one
  //! use.
  virtual IPluginResource* acquirePluginResource(const AsciiChar* key, IPluginResource* resource) noexcept = 0;

  //! Ends one use of the resource of the key, and frees it after the last. Returns 0 on success.
  virtual int32_t releasePluginResource(const AsciiChar* key) noexcept = 0;

  //! The creators registered here and in the parents; `numCreators` receives their number. Valid until a registry
  //! changes.
  virtual IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t* const numCreators) noexcept = 0;
};

}  // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
