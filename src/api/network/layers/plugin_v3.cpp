// IPluginV3Layer.
#include "api/network/lower_context.h"
#include "api/network/plugin_layer.h"
#include "api/plugin/adapters/live_plugin.h"

namespace tenon::api {
namespace {

class PluginV3Layer final : public LayerOf<nv::IPluginV3Layer, nv::apiv::VPluginV3Layer, nv::LayerType::kPLUGIN_V3>,
                            public PluginLayer {
 public:
  using LayerOf::LayerOf;
  nv::IPluginV3& getPlugin() noexcept override { return pluginV3(*plugin_->adapter); }
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

LayerInfo layerInfo_plugin_v3() { return describeLayer<PluginV3Layer>(); }

}  // namespace tenon::api
