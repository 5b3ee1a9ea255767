// How the network makes a layer: from the table of layer files, configured through the layer's own setters.
#pragma once

#include "api/network/construct.h"
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

template <typename T, typename Owner, typename Configure>
T* Network::addBoundary(const char* call, Owner& owner, nv::ITensor& tensor, Configure&& configure) noexcept {
  return guarded(reporter_, call, static_cast<T*>(nullptr), [&] {
    Construct& construct = owner;
    Tensor* const inputs[] = {&own(tensor)};
    LayerBase& added = attach(std::make_unique<T>(*this, nextLayerName(T::kType), construct, owner), inputs);
    auto& layer = static_cast<T&>(added);
    try {
      construct.add(added);
      configure(layer);
      return &layer;
    } catch (...) {
      construct.drop(added);
      dropLastLayer();
      throw;
    }
  });
}

}  // namespace tenon::api
