// Plugins asked and called as a program does that has no network.
#pragma once

#include "support.h"

namespace tenon::test {

nv::IPluginV3OneRuntime& runtimeOf(nv::IPluginV3& plugin);
// Whether the plugin says so of operands of these types.
bool takes(Plugin& plugin, const Arrays& inputs);

}  // namespace tenon::test
