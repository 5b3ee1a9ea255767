// What the two kinds of plugin layers share.
#pragma once

#include <memory>
#include <vector>

#include "api/network/layer.h"

namespace tenon::api {

struct SharedPlugin;

// The layer's node: types and shapes as the plugin gives them for the first `inputs` operands; the others are shape
// inputs, whose values it is told.
std::vector<graph::ValueId> lowerPlugin(const LayerBase& layer, LowerContext& context,
                                        const std::shared_ptr<SharedPlugin>& plugin, int inputs);

// How a new plugin layer gets its clone of the plugin; Network::addPluginV2 and addPluginV3.
class PluginLayer {
 public:
  virtual ~PluginLayer() = default;
  virtual void take(std::shared_ptr<SharedPlugin> plugin, int inputs) = 0;
};

}  // namespace tenon::api
