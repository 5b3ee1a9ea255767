// How the kernels of backends come by the user's plugins: the facade, which alone sees the public headers, is the host.
#pragma once

#include <atomic>
#include <memory>

#include "core/error.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

// Thread-safe. load() throws UserError when no creator for the record's plugin is registered.
class PluginHost {
 public:
  virtual ~PluginHost() = default;
  // Called before the kernels of a plan are loaded: opens the plugin libraries that the plan brings along, where its
  // plugins are not there without them. Throws UserError where that is not allowed.
  virtual void prepare(const plan::Plan& plan, bool hostCodeAllowed) = 0;
  virtual std::unique_ptr<Kernel> load(const KernelLoad& load, Device& device) = 0;
};

// The host of the process; null where the public interface is not part of the program.
inline std::atomic<PluginHost*>& pluginHost() noexcept {
  static std::atomic<PluginHost*> host{nullptr};
  return host;
}

inline void preparePlugins(const plan::Plan& plan, bool hostCodeAllowed) {
  if (PluginHost* host = pluginHost(); host != nullptr) host->prepare(plan, hostCodeAllowed);
}

inline std::unique_ptr<Kernel> loadPlugin(const KernelLoad& load, Device& device) {
  PluginHost* host = pluginHost();
  if (host == nullptr) throw Unsupported("this program has no public interface, and so no plugins");
  return host->load(load, device);
}

}  // namespace tenon::runtime
