// IPluginV3Layer.
#include "api/network/plugin_layer_of.h"

namespace tenon::api {

LayerInfo layerInfo_plugin_v3() {
  return describeLayer<
      PluginLayerOf<nv::IPluginV3Layer, nv::apiv::VPluginV3Layer, nv::LayerType::kPLUGIN_V3, &pluginV3>>();
}

}  // namespace tenon::api
