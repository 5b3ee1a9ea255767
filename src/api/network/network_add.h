// How the network makes a layer: from the table of layer files, configured through the layer's own setters.
#pragma once

#include "api/network/network.h"

namespace tenon::api {

// `configure` may throw; the network is then as before.
template <typename I, typename Configure>
I* Network::add(const char* call, nv::LayerType type, std::initializer_list<nv::ITensor*> inputs,
                Configure&& configure) noexcept {
  return guarded(reporter_, call, static_cast<I*>(nullptr), [&] {
    LayerBase& layer = create(type, {inputs.begin(), inputs.size()});
    try {
      auto& result = static_cast<I&>(layer.interface());
      configure(result);
      return &result;
    } catch (...) {
      dropLastLayer();
      throw;
    }
  });
}

}  // namespace tenon::api
