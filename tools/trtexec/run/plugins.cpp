// Plugin libraries that the command line names.
#include "plugins.h"

#include "failure.h"
#include "log.h"

#include <NvInferPlugin.h>
#include <dlfcn.h>

namespace tenon::trtexec {

void loadStaticPlugins(const SystemOptions& options) {
  info("Loading standard plugins");
  if (!initLibNvInferPlugins(&theLog(), "")) {
    throw Failure("the standard plugins could not be registered");
  }
  for (const std::string& path : options.staticPlugins) {
    info("Loading supplied plugin library: {}", path);
    // Stays open: its creators are registered until the process ends.
    if (dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
      throw Failure("--staticPlugins: {}", dlerror());
    }
  }
}

void loadDynamicPlugins(nvinfer1::IPluginRegistry& registry, const SystemOptions& options) {
  for (const std::string& path : options.dynamicPlugins) {
    info("Loading supplied plugin library: {}", path);
    if (registry.loadLibrary(path.c_str()) == nullptr) {
      throw Failure("--dynamicPlugins: the library '{}' could not be loaded; the messages above say why", path);
    }
  }
}

}  // namespace tenon::trtexec
