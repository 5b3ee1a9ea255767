// Plugins on the host.
#include "compile/tactics/plugin_tactic.h"

namespace tenon::backends::cpu {

const compile::Tactic& tactic_plugin() {
  static const compile::PluginTactic kTactic("cpu", "cpu.plugin");
  return kTactic;
}

}  // namespace tenon::backends::cpu
