// IRuntime: loads plans.
#pragma once

#include <NvInferRuntime.h>

#include <optional>
#include <string>

#include "api/common/reporter.h"
#include "api/plugin/registry.h"
#include "runtime/engine.h"

namespace tenon::api {

class Runtime final : public nv::IRuntime, public nv::apiv::VRuntime {
 public:
  explicit Runtime(nv::ILogger* logger) : reporter_(logger) { mImpl = this; }

  nv::IRuntime* getPImpl() noexcept override { return this; }
  nv::ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept override;
  nv::ICudaEngine* deserializeCudaEngine(nv::IStreamReader& streamReader) noexcept override;
  void setDLACore(int32_t dlaCore) noexcept override;
  int32_t getDLACore() const noexcept override { return dlaCore_; }
  int32_t getNbDLACores() const noexcept override { return 0; }
  void setGpuAllocator(nv::IGpuAllocator* allocator) noexcept override { allocator_ = allocator; }
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override { reporter_.setRecorder(recorder); }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  nv::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override { return maxThreads_; }
  void setTemporaryDirectory(const char*) noexcept override;
  const char* getTemporaryDirectory() const noexcept override {
    return temporaryDirectory_ ? temporaryDirectory_->c_str() : nullptr;
  }
  void setTempfileControlFlags(nv::TempfileControlFlags flags) noexcept override;
  nv::TempfileControlFlags getTempfileControlFlags() const noexcept override { return tempfileFlags_; }
  nv::IPluginRegistry& getPluginRegistry() noexcept override { return registry_; }
  void setPluginRegistryParent(nv::IPluginRegistry* parent) noexcept override;
  nv::IRuntime* loadRuntime(const char* path) noexcept override;
  void setEngineHostCodeAllowed(bool allowed) noexcept override;
  bool getEngineHostCodeAllowed() const noexcept override { return hostCodeAllowed_; }
  nv::ICudaEngine* deserializeCudaEngineV2(nv::IStreamReaderV2& streamReader) noexcept override;

 private:
  template <typename Load>
  nv::ICudaEngine* load(Load&& load);

  mutable Reporter reporter_;
  PluginRegistry registry_{&processRegistry()};
  nv::IGpuAllocator* allocator_ = nullptr;
  int32_t dlaCore_ = -1;
  int32_t maxThreads_ = 1;
  std::optional<std::string> temporaryDirectory_;
  nv::TempfileControlFlags tempfileFlags_ = (1U << nv::EnumMax<nv::TempfileControlFlag>()) - 1;
  bool hostCodeAllowed_ = false;
};

}  // namespace tenon::api
