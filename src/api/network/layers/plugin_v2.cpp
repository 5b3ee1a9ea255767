// IPluginV2Layer.
#include "api/network/plugin_layer_of.h"

namespace tenon::api {

LayerInfo layerInfo_plugin_v2() {
  return describeLayer<
      PluginLayerOf<nv::IPluginV2Layer, nv::apiv::VPluginV2Layer, nv::LayerType::kPLUGIN_V2, &pluginV2>>();
}

}  // namespace tenon::api
