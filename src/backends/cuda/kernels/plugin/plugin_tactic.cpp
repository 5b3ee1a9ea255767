// Plugins on a GPU.
#include "compile/tactics/plugin_tactic.h"

namespace tenon::backends::cuda {

const compile::Tactic& tactic_plugin() {
  static const compile::PluginTactic kTactic("cuda", "cuda.plugin", true);
  return kTactic;
}

}  // namespace tenon::backends::cuda
