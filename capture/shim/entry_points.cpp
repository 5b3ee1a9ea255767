// What the shim exports: every entry point of libnvinfer, forwarded; builder and registry are handed out wrapped.
#include <NvInfer.h>

#include <mutex>
#include <string>

#include "shim/library.h"
#include "shim/recorder.h"
#include "shim/settings.h"
#include "shim/text.h"
#include "shim/users.h"
#include "shim/wrappers.h"
#include "wrappers_generated.h"

namespace tenon::capture {
namespace {

template <typename R, typename... P>
R forwarded(const char* name, P... values) {
  auto* function = reinterpret_cast<R (*)(P...)>(entryPoint(name));
  return function != nullptr ? function(values...) : R{};
}

void* createBuilder(nvinfer1::ILogger* logger, int32_t version) {
  Recorder& recorder = Recorder::instance();
  std::lock_guard lock(recorder.order());
  uint64_t loggerId = 0;
  nvinfer1::ILogger* standIn = standInFor(logger, loggerId);
  const size_t place = recorder.reserve({});
  void* real = forwarded<void*>("createInferBuilder_INTERNAL", static_cast<void*>(standIn), version);
  std::string line = "{\"m\":\"createInferBuilder\",\"a\":[";
  line += loggerId != 0 ? std::to_string(loggerId) : "null";
  line += "," + std::to_string(version) + "],\"r\":";
  if (real == nullptr) {
    recorder.fill(place, line + "null}");
    return nullptr;
  }
  bool made = false;
  Object* wrapper = wrapperOf(real, kClass_IBuilder, nullptr, true, made);
  recorder.fill(place, line + std::to_string(wrapper->id) + ",\"new\":\"IBuilder\"}");
  return wrapper->face;
}

// After the application's own exit handlers, or when its library is unloaded.
struct AtExit {
  ~AtExit() { Recorder::instance().flushAtExit(); }
} atExit;

}  // namespace
}  // namespace tenon::capture

using namespace tenon::capture;

extern "C" {

TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  return settings().wraps() ? createBuilder(static_cast<nvinfer1::ILogger*>(logger), version)
                            : forwarded<void*>("createInferBuilder_INTERNAL", logger, version);
}

TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  return forwarded<void*>("createInferRuntime_INTERNAL", logger, version);
}

TENSORRTAPI void* createInferRefitter_INTERNAL(void* engine, void* logger, int32_t version) noexcept {
  return forwarded<void*>("createInferRefitter_INTERNAL", engine, logger, version);
}

TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return wrapRegistry(forwarded<nvinfer1::IPluginRegistry*>("getPluginRegistry"));
}

TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept {
  uint64_t id = 0;
  return originalOf(forwarded<nvinfer1::ILogger*>("getLogger"), id);
}

TENSORRTAPI int32_t getInferLibVersion() noexcept { return forwarded<int32_t>("getInferLibVersion"); }
TENSORRTAPI int32_t getInferLibMajorVersion() noexcept { return forwarded<int32_t>("getInferLibMajorVersion"); }
TENSORRTAPI int32_t getInferLibMinorVersion() noexcept { return forwarded<int32_t>("getInferLibMinorVersion"); }
TENSORRTAPI int32_t getInferLibPatchVersion() noexcept { return forwarded<int32_t>("getInferLibPatchVersion"); }
TENSORRTAPI int32_t getInferLibBuildVersion() noexcept { return forwarded<int32_t>("getInferLibBuildVersion"); }

}  // extern "C"

namespace nvinfer1 {

extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept {
  return wrapRegistry(forwarded<IPluginRegistry*>("getBuilderPluginRegistry", capability));
}

extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept {
  return forwarded<bool>("setInternalLibraryPath", path);
}

extern "C" TRT_DEPRECATED_API safe::IPluginRegistry* getBuilderSafePluginRegistry(
    EngineCapability capability) noexcept {
  return forwarded<safe::IPluginRegistry*>("getBuilderSafePluginRegistry", capability);
}

}  // namespace nvinfer1
