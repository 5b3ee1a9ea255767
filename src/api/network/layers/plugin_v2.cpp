// IPluginV2Layer.
#include "api/network/lower_context.h"
#include "api/network/plugin_layer.h"
#include "api/plugin/adapters/live_plugin.h"

namespace tenon::api {
namespace {

class PluginV2Layer final : public LayerOf<nv::IPluginV2Layer, nv::apiv::VPluginV2Layer, nv::LayerType::kPLUGIN_V2>,
                            public PluginLayer {
 public:
  using LayerOf::LayerOf;
  nv::IPluginV2& getPlugin() noexcept override { return pluginV2(*plugin_->adapter); }
  int outputCount() const override { return outputCount_; }
  bool isShapeInput(int index) const override { return index >= inputs_; }

  void take(std::shared_ptr<SharedPlugin> plugin, int inputs) override {
    plugin_ = std::move(plugin);
    inputs_ = inputs;
    outputCount_ = plugin_->adapter->outputCount();
    makeOutputs();
  }
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return lowerPlugin(*this, context, plugin_, inputs_);
  }

 private:
  std::shared_ptr<SharedPlugin> plugin_;
  int inputs_ = 0;
  int outputCount_ = 0;  // none until it has its plugin
};

}  // namespace

LayerInfo layerInfo_plugin_v2() { return describeLayer<PluginV2Layer>(); }

}  // namespace tenon::api
