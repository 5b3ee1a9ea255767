// The functions of INetworkDefinition that add plugins.
#include "api/network/network.h"
#include "api/network/plugin_layer.h"
#include "api/plugin/adapters/live_plugin.h"

namespace tenon::api {

template <typename I, typename P>
I* Network::addPlugin(const char* call, nv::LayerType type, std::span<nv::ITensor* const> inputs,
                      std::span<nv::ITensor* const> shapeInputs, P& plugin) noexcept {
  return guarded(reporter_, call, static_cast<I*>(nullptr), [&] {
    auto shared = std::make_shared<SharedPlugin>();
    shared->adapter = adaptClone(plugin);
    std::vector<nv::ITensor*> all(inputs.begin(), inputs.end());
    all.insert(all.end(), shapeInputs.begin(), shapeInputs.end());
    LayerBase& layer = create(type, all);
    try {
      dynamic_cast<PluginLayer&>(layer).take(std::move(shared), static_cast<int>(inputs.size()));
      return &dynamic_cast<I&>(layer.interface());
    } catch (...) {
      dropLastLayer();
      throw;
    }
  });
}

namespace {

// The caller's list; UserError where it is none.
std::span<nv::ITensor* const> listOf(Reporter& reporter, const char* call, nv::ITensor* const* tensors, int32_t count,
                                     bool& isList) {
  isList = guarded(reporter, call, false, [&] {
    checkUser(count >= 0, "the number of inputs is {}; expected 0 or more", count);
    checkUser(count == 0 || tensors != nullptr, "the list of {} inputs is null", count);
    return true;
  });
  return isList && count > 0 ? std::span(tensors, static_cast<size_t>(count)) : std::span<nv::ITensor* const>();
}

}  // namespace

nv::IPluginV2Layer* Network::addPluginV2(nv::ITensor* const* inputs, int32_t nbInputs, nv::IPluginV2& plugin) noexcept {
  constexpr const char* kCall = "INetworkDefinition::addPluginV2";
  bool isList = false;
  const auto list = listOf(reporter_, kCall, inputs, nbInputs, isList);
  if (!isList) return nullptr;
  return addPlugin<nv::IPluginV2Layer>(kCall, nv::LayerType::kPLUGIN_V2, list, {}, plugin);
}

nv::IPluginV3Layer* Network::addPluginV3(nv::ITensor* const* inputs, int32_t nbInputs, nv::ITensor* const* shapeInputs,
                                         int32_t nbShapeInputs, nv::IPluginV3& plugin) noexcept {
  constexpr const char* kCall = "INetworkDefinition::addPluginV3";
  bool isList = false;
  bool areShapes = false;
  const auto list = listOf(reporter_, kCall, inputs, nbInputs, isList);
  const auto shapes = listOf(reporter_, kCall, shapeInputs, nbShapeInputs, areShapes);
  if (!isList || !areShapes) return nullptr;
  return addPlugin<nv::IPluginV3Layer>(kCall, nv::LayerType::kPLUGIN_V3, list, shapes, plugin);
}

}  // namespace tenon::api
