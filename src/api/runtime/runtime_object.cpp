// IRuntime: engines from bytes and streams.
#include "api/runtime/runtime_object.h"

#include "api/builder/device_choice.h"
#include "api/plugin/plugin_host.h"
#include "api/runtime/adapters.h"
#include "api/runtime/engine.h"

namespace tenon::api {

template <typename Load>
nv::ICudaEngine* Runtime::load(Load&& load) {
  auto loaded = std::make_shared<LoadedEngine>();
  if (allocator_ != nullptr) loaded->allocator = std::make_unique<GpuAllocatorAdapter>(*allocator_);
  installPluginHost();
  const CurrentRegistry current(registry_);
  runtime::LoadOptions options;
  options.hostCodeAllowed = hostCodeAllowed_;
  options.device = demandedDevice();
  options.allocator = loaded->allocator.get();
  loaded->engine = load(options);
  return new Engine(std::move(loaded), reporter_);
}

nv::ICudaEngine* Runtime::deserializeCudaEngine(const void* blob, std::size_t size) noexcept {
  return guarded(reporter_, "IRuntime::deserializeCudaEngine", static_cast<nv::ICudaEngine*>(nullptr), [&] {
    checkUser(blob != nullptr && size > 0, "the engine is empty: got {} bytes at {}; expected a serialized engine",
              size, blob == nullptr ? "a null address" : "an address");
    return load([&](const runtime::LoadOptions& options) {
      return runtime::Engine::load({static_cast<const std::byte*>(blob), size}, options, reporter_);
    });
  });
}

nv::ICudaEngine* Runtime::deserializeCudaEngine(nv::IStreamReader& streamReader) noexcept {
  return guarded(reporter_, "IRuntime::deserializeCudaEngine", static_cast<nv::ICudaEngine*>(nullptr), [&] {
    StreamReaderAdapter reader(streamReader);
    return load(
        [&](const runtime::LoadOptions& options) { return runtime::Engine::loadFrom(reader, options, reporter_); });
  });
}

nv::ICudaEngine* Runtime::deserializeCudaEngineV2(nv::IStreamReaderV2& streamReader) noexcept {
  return guarded(reporter_, "IRuntime::deserializeCudaEngine", static_cast<nv::ICudaEngine*>(nullptr), [&] {
    StreamReaderV2Adapter reader(streamReader);
    return load(
        [&](const runtime::LoadOptions& options) { return runtime::Engine::loadFrom(reader, options, reporter_); });
  });
}

bool Runtime::setMaxThreads(int32_t maxThreads) noexcept {
  return guarded(reporter_, "IRuntime::setMaxThreads", false, [&] {
    if (maxThreads < 1) return false;
    if (maxThreads != maxThreads_)
      noEffect(reporter_, "IRuntime::setMaxThreads", "an engine is loaded by as many threads as its work has use for");
    maxThreads_ = maxThreads;
    return true;
  });
}

void Runtime::setDLACore(int32_t dlaCore) noexcept {
  guarded(reporter_, "IRuntime::setDLACore", [&] {
    if (dlaCore != dlaCore_) noEffect(reporter_, "IRuntime::setDLACore", "there is no DLA");
    dlaCore_ = dlaCore;
  });
}

void Runtime::setTemporaryDirectory(const char* path) noexcept {
  guarded(reporter_, "IRuntime::setTemporaryDirectory", [&] {
    if (path != nullptr)
      noEffect(reporter_, "IRuntime::setTemporaryDirectory", "the runtime writes no temporary files");
    temporaryDirectory_.reset();
    if (path != nullptr) temporaryDirectory_ = path;
  });
}

void Runtime::setTempfileControlFlags(nv::TempfileControlFlags flags) noexcept {
  guarded(reporter_, "IRuntime::setTempfileControlFlags", [&] {
    if (flags != tempfileFlags_)
      noEffect(reporter_, "IRuntime::setTempfileControlFlags", "the runtime writes no temporary files");
    tempfileFlags_ = flags;
  });
}

void Runtime::setEngineHostCodeAllowed(bool allowed) noexcept { hostCodeAllowed_ = allowed; }

void Runtime::setPluginRegistryParent(nv::IPluginRegistry* parent) noexcept { registry_.setParent(parent); }

nv::IRuntime* Runtime::loadRuntime(const char*) noexcept {
  return guarded(reporter_, "IRuntime::loadRuntime", static_cast<nv::IRuntime*>(nullptr),
                 []() -> nv::IRuntime* { notSupported("IRuntime::loadRuntime"); });
}

}  // namespace tenon::api
