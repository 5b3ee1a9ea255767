// The layer of a plugin of one interface.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "api/network/lower_context.h"
#include "api/network/plugin_layer.h"
#include "api/plugin/adapters/live_plugin.h"

namespace tenon::api {

// `kPluginOf`: from an adapter to the user's plugin.
template <typename Interface, typename Table, nv::LayerType kLayerType, auto kPluginOf>
class PluginLayerOf final : public LayerOf<Interface, Table, kLayerType>, public PluginLayer {
 public:
  using LayerOf<Interface, Table, kLayerType>::LayerOf;
  decltype(kPluginOf(std::declval<PluginAdapter&>())) getPlugin() noexcept override {
    return kPluginOf(*plugin_->adapter);
  }
  int outputCount() const override { return outputCount_; }
  bool isShapeInput(int index) const override { return index >= inputs_; }

  void take(std::shared_ptr<SharedPlugin> plugin, int inputs) override {
    plugin_ = std::move(plugin);
    inputs_ = inputs;
    outputCount_ = plugin_->adapter->outputCount();
    this->makeOutputs();
  }
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return lowerPlugin(*this, context, plugin_, inputs_);
  }

 private:
  std::shared_ptr<SharedPlugin> plugin_;
  int inputs_ = 0;
  int outputCount_ = 0;  // none until it has its plugin
};

}  // namespace tenon::api
