// IEngineInspector over the descriptions that the runtime's engine gives.
#include "api/runtime/inspector.h"

#include "api/runtime/context.h"

namespace tenon::api {

bool EngineInspector::setExecutionContext(const nv::IExecutionContext* context) noexcept {
  return guarded(reporter_, "IEngineInspector::setExecutionContext", false, [&] {
    checkUser(context == nullptr || dynamic_cast<const ExecutionContext*>(context) != nullptr,
              "the context is none of this library");
    context_ = context;
    return true;
  });
}

int EngineInspector::profile() const {
  const auto* context = dynamic_cast<const ExecutionContext*>(context_);
  return context != nullptr ? context->profile() : 0;
}

const char* EngineInspector::getLayerInformation(int32_t layerIndex,
                                                 nv::LayerInformationFormat format) const noexcept {
  return guarded(reporter_, "IEngineInspector::getLayerInformation", static_cast<const char*>(nullptr), [&] {
    const auto& engine = *loaded_->engine;
    const int layers = engine.layerCount(profile());
    checkUser(layerIndex >= 0 && layerIndex < layers, "there is no layer {}; the engine has {}", layerIndex, layers);
    const bool json = checkedEnum(format, "format") == nv::LayerInformationFormat::kJSON;
    text_ = json ? engine.layerJson(profile(), layerIndex) : engine.layerText(profile(), layerIndex);
    return text_.c_str();
  });
}

const char* EngineInspector::getEngineInformation(nv::LayerInformationFormat format) const noexcept {
  return guarded(reporter_, "IEngineInspector::getEngineInformation", static_cast<const char*>(nullptr), [&] {
    const auto& engine = *loaded_->engine;
    const bool json = checkedEnum(format, "format") == nv::LayerInformationFormat::kJSON;
    text_ = json ? engine.engineJson(profile()) : engine.engineText(profile());
    return text_.c_str();
  });
}

}  // namespace tenon::api
