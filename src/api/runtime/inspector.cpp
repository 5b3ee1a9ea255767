// IEngineInspector over the descriptions that the runtime's engine gives.
#include "api/runtime/inspector.h"

#include "api/runtime/context.h"

namespace tenon::api {

bool EngineInspector::setExecutionContext(const nv::IExecutionContext* context) noexcept {
  return guarded(reporter_, "IEngineInspector::setExecutionContext", false, [&] {
    const auto* ours = dynamic_cast<const ExecutionContext*>(context);
    checkUser(context == nullptr || ours != nullptr, "the context was not created by this library");
    checkUser(context == nullptr || ours->isOf(*loaded_->engine),
              "the context belongs to another engine than the inspector; expected a context of the engine '{}'",
              loaded_->engine->plan().name);
    context_ = context;
    return true;
  });
}

int EngineInspector::profile() const {
  const auto* context = dynamic_cast<const ExecutionContext*>(context_);
  return context != nullptr ? context->profile() : 0;
}

const SymbolValues* EngineInspector::symbols() const {
  const auto* context = dynamic_cast<const ExecutionContext*>(context_);
  return context != nullptr ? &context->symbols() : nullptr;
}

template <typename Json, typename Text>
const char* EngineInspector::show(nv::LayerInformationFormat format, Json&& json, Text&& text) const {
  text_ = checkedEnum(format, "format") == nv::LayerInformationFormat::kJSON ? json() : text();
  if (loaded_->engine->plan().profilingVerbosity == static_cast<int32_t>(nv::ProfilingVerbosity::kNONE)) {
    reporter_.info(
        "The engine '{}' was built with the profiling verbosity kNONE and holds no layer information; build it with "
        "kDETAILED to see its layers.",
        loaded_->engine->plan().name);
  }
  return text_.c_str();
}

const char* EngineInspector::getLayerInformation(int32_t layerIndex, nv::LayerInformationFormat format) const noexcept {
  return guarded(reporter_, "IEngineInspector::getLayerInformation", static_cast<const char*>(nullptr), [&] {
    const auto& engine = *loaded_->engine;
    const int layers = engine.layerCount(profile());
    checkUser(layerIndex >= 0 && layerIndex < layers, "there is no layer {}; the engine has {}", layerIndex, layers);
    return show(
        format, [&] { return engine.layerJson(profile(), layerIndex, symbols()); },
        [&] { return engine.layerText(profile(), layerIndex, symbols()); });
  });
}

const char* EngineInspector::getEngineInformation(nv::LayerInformationFormat format) const noexcept {
  return guarded(reporter_, "IEngineInspector::getEngineInformation", static_cast<const char*>(nullptr), [&] {
    const auto& engine = *loaded_->engine;
    return show(
        format, [&] { return engine.engineJson(profile(), symbols()); },
        [&] { return engine.engineText(profile(), symbols()); });
  });
}

}  // namespace tenon::api
