// How a program or a plugin library says that the work of a plugin may stand in recorded graphs, which a GPU repeats
// without calling the plugin again. Abstract classes of plain types alone, so that a library may be compiled apart.
// Functions are added at the end of a class only.
#pragma once

#include "NvInferRuntime.h"

namespace tenon {

//! Plugins whose enqueue(), called again with the same shapes and addresses, would put the same work on the stream, and
//! nothing else: it does not wait, calls nothing that a captured stream forbids, and reads nothing on the host that
//! changes. Engines on a GPU then record executions with them as they do others. Given to
//! IPluginRegistry::acquirePluginResource() under a key of one's own, before the execution context is created.
class ReplayablePlugins : public nvinfer1::IPluginResource {
 public:
  static constexpr const char* kKind = "TENON_REPLAYABLE_PLUGINS";
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { return {kKind, 1, 0}; }
  //! Thread-safe.
  virtual bool mayReplay(const char* name, const char* version, const char* pluginNamespace) const noexcept = 0;
};

}  // namespace tenon
