// IBuilder: makes networks, configurations, profiles, and plans from them.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <vector>

#include "api/builder/builder_config.h"
#include "api/builder/optimization_profile.h"
#include "api/common/reporter.h"
#include "api/plugin/registry.h"
#include "plan/program.h"

namespace tenon::api {

class Builder final : public nv::IBuilder, public nv::apiv::VBuilder {
 public:
  explicit Builder(nv::ILogger* logger) : reporter_(logger) { mImpl = this; }

  bool platformHasFastFp16() const noexcept override;
  bool platformHasFastInt8() const noexcept override;
  bool platformHasTf32() const noexcept override;
  int32_t getMaxDLABatchSize() const noexcept override { return 0; }
  int32_t getNbDLACores() const noexcept override { return 0; }
  void setGpuAllocator(nv::IGpuAllocator* allocator) noexcept override { allocator_ = allocator; }
  nv::IBuilderConfig* createBuilderConfig() noexcept override;
  nv::INetworkDefinition* createNetworkV2(nv::NetworkDefinitionCreationFlags flags) noexcept override;
  nv::IOptimizationProfile* createOptimizationProfile() noexcept override;
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override { reporter_.setRecorder(recorder); }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  void reset() noexcept override;
  nv::IHostMemory* buildSerializedNetwork(nv::INetworkDefinition& network,
                                          nv::IBuilderConfig& config) noexcept override;
  bool isNetworkSupported(const nv::INetworkDefinition& network,
                          const nv::IBuilderConfig& config) const noexcept override;
  nv::ILogger* getLogger() const noexcept override { return reporter_.logger(); }
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override { return maxThreads_; }
  nv::IPluginRegistry& getPluginRegistry() noexcept override { return registry_; }
  nv::ICudaEngine* buildEngineWithConfig(nv::INetworkDefinition& network, nv::IBuilderConfig& config) noexcept override;
  bool buildSerializedNetworkToStream(nv::INetworkDefinition& network, nv::IBuilderConfig& config,
                                      nv::IStreamWriter& writer) noexcept override;
  nv::IHostMemory* buildSerializedNetworkWithKernelText(nv::INetworkDefinition& network, nv::IBuilderConfig& config,
                                                        nv::IHostMemory*& kernelText) noexcept override;

 private:
  plan::Plan build(nv::INetworkDefinition& network, nv::IBuilderConfig& config);

  mutable Reporter reporter_;
  PluginRegistry registry_{&processRegistry()};
  nv::IGpuAllocator* allocator_ = nullptr;
  int32_t maxThreads_ = 1;
  std::vector<std::unique_ptr<OptimizationProfile>> profiles_;
};

}  // namespace tenon::api
