// The C functions of libnvinfer: factories, version, registry, logger.
#include <NvInfer.h>

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "api/builder/builder.h"
#include "api/common/convert.h"
#include "api/common/hand_out.h"
#include "api/common/reporter.h"
#include "api/plugin/registry.h"
#include "api/runtime/runtime_object.h"
#include "core/environment.h"

namespace tenon::api {
namespace {

// Each variable of the environment that is ignored, once.
void reportIgnoredSettings(Reporter& reporter) {
  static std::mutex mutex;
  static auto* const reported = new std::set<std::string>;  // builders are made until the process ends
  const auto ignored = ignoredSettings();
  if (ignored.empty()) return;  // nothing to lock, which a fork could find locked
  const std::lock_guard lock(mutex);
  for (const auto& text : ignored) {
    if (reported->insert(text).second) reporter.warning("{}", text);
  }
}

// Makes an object whose public interface is I; what it returns is an untyped pointer to that.
template <typename T, typename I>
void* create(const char* call, void* logger, int32_t version) noexcept {
  auto* typed = static_cast<nv::ILogger*>(logger);
  Reporter reporter(typed != nullptr ? typed : processLogger());
  return guarded(reporter, call, static_cast<void*>(nullptr), [&]() -> void* {
    checkUser(typed != nullptr, "the logger is null");
    checkVersion(version);
    noteLogger(typed);
    reportIgnoredSettings(reporter);
    return handOut<I, T>(typed);
  });
}

}  // namespace
}  // namespace tenon::api

using namespace tenon::api;

extern "C" {

TENSORRTAPI void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  return create<Builder, nvinfer1::IBuilder>("createInferBuilder", logger, version);
}

TENSORRTAPI void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  return create<Runtime, nvinfer1::IRuntime>("createInferRuntime", logger, version);
}

TENSORRTAPI void* createInferRefitter_INTERNAL(void* /*engine*/, void* logger, int32_t version) noexcept {
  Reporter reporter(static_cast<nvinfer1::ILogger*>(logger));
  return guarded(reporter, "createInferRefitter", static_cast<void*>(nullptr), [&]() -> void* {
    checkVersion(version);
    noteLogger(static_cast<nvinfer1::ILogger*>(logger));
    notSupported("IRefitter");
  });
}

TENSORRTAPI nvinfer1::IPluginRegistry* getPluginRegistry() noexcept { return &processRegistry(); }

TENSORRTAPI nvinfer1::ILogger* getLogger() noexcept { return processLogger(); }

TENSORRTAPI int32_t getInferLibVersion() noexcept { return static_cast<int32_t>(NV_TENSORRT_VERSION); }
TENSORRTAPI int32_t getInferLibMajorVersion() noexcept { return NV_TENSORRT_MAJOR; }
TENSORRTAPI int32_t getInferLibMinorVersion() noexcept { return NV_TENSORRT_MINOR; }
TENSORRTAPI int32_t getInferLibPatchVersion() noexcept { return NV_TENSORRT_PATCH; }
TENSORRTAPI int32_t getInferLibBuildVersion() noexcept { return NV_TENSORRT_BUILD; }

}  // extern "C"

namespace nvinfer1 {

extern "C" TENSORRTAPI IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept {
  return capability == EngineCapability::kSTANDARD ? &processRegistry() : nullptr;
}

extern "C" TENSORRTAPI bool setInternalLibraryPath(const AsciiChar* path) noexcept {
  return path != nullptr && *path != '\0';  // nothing is loaded from there: the library is one piece
}

extern "C" TRT_DEPRECATED_API safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability) noexcept {
  return nullptr;
}

}  // namespace nvinfer1
