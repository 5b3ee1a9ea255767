// Plugins that say what they compute: their operators in place of a plugin node.
#pragma once

#include <optional>
#include <vector>

#include "api/network/lower_context.h"
#include "api/plugin/adapters/adapter.h"
#include "tenon/plugin_expansion.h"

namespace tenon::api {

// Asks the registry's resources; set once by the process's registry, null in programs without one.
using ExpansionFinder = const PluginExpansion* (*)(const void* plugin);
ExpansionFinder& expansionFinder() noexcept;

// Of the adapter's object; null where it has none.
const PluginExpansion* expansionOf(PluginAdapter& adapter);

// The plugin's outputs. In a weakly typed network floating inputs of different types become f32 first.
std::vector<graph::ValueId> writeExpansion(const PluginExpansion& expansion, const PluginAdapter& adapter,
                                           LowerContext& context, int outputs);

}  // namespace tenon::api
