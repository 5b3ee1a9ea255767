// Plugin libraries that the command line names.
#pragma once

#include "../options/options.h"

#include <string>
#include <vector>

namespace tenon::trtexec {

//! Registers the standard plugins and loads the libraries of --staticPlugins, which register theirs when loaded.
void loadStaticPlugins(const SystemOptions& options);

//! Loads the libraries of --dynamicPlugins and --setPluginsToSerialize into a registry.
void loadDynamicPlugins(nvinfer1::IPluginRegistry& registry, const SystemOptions& options);

}  // namespace tenon::trtexec
