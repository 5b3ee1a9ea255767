// Plugin libraries that the command line names.
#include "plugins.h"

#include "failure.h"
#include "log.h"

#include <NvInferPlugin.h>
#include <dlfcn.h>

#include <utility>

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
  const std::pair<const std::vector<std::string>&, const char*> lists[] = {
      {options.dynamicPlugins, "--dynamicPlugins"}, {options.serializedPlugins, "--setPluginsToSerialize"}};
  for (const auto& [paths, flag] : lists) {
    for (const std::string& path : paths) {
      info("Loading supplied plugin library: {}", path);
      if (registry.loadLibrary(path.c_str()) == nullptr) {
        throw Failure("{}: the library '{}' could not be loaded; the messages above say why", flag, path);
      }
    }
  }
}

}  // namespace tenon::trtexec
