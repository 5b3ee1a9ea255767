// IExecutionContext over the runtime's context.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <string>
#include <vector>

#include "api/common/reporter.h"
#include "api/runtime/adapters.h"
#include "api/runtime/engine.h"
#include "api/runtime/in_use.h"
#include "runtime/context.h"

namespace tenon::api {

class ExecutionContext final : public nv::IExecutionContext, public nv::apiv::VExecutionContext {
 public:
  ExecutionContext(const Engine& engine, std::shared_ptr<const LoadedEngine> loaded,
                   const runtime::ContextOptions& options, Reporter& parent, nv::IRuntimeConfig* config);

  nv::IExecutionContext* getPImpl() noexcept override { return this; }
  void setDebugSync(bool sync) noexcept override { debugSync_ = sync; }
  bool getDebugSync() const noexcept override { return debugSync_; }
  void setProfiler(nv::IProfiler*) noexcept override;
  nv::IProfiler* getProfiler() const noexcept override { return profiler_; }
  const nv::ICudaEngine& getEngine() const noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override { return name_.c_str(); }
  void setDeviceMemory(void* memory) noexcept override;
  int32_t getOptimizationProfile() const noexcept override;
  bool allInputDimensionsSpecified() const noexcept override;
  bool allInputShapesSpecified() const noexcept override;
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override { reporter_.setRecorder(recorder); }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  bool executeV2(void* const* bindings) noexcept override;
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept override;
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept override;
  bool getEnqueueEmitsProfile() const noexcept override;
  bool reportToProfiler() const noexcept override;
  bool setInputShape(const char* tensorName, const nv::Dims& dims) noexcept override;
  nv::Dims getTensorShape(const char* tensorName) const noexcept override;
  nv::Dims getTensorStrides(const char* tensorName) const noexcept override;
  bool setTensorAddress(const char* tensorName, void* data) noexcept override;
  const void* getTensorAddress(const char* tensorName) const noexcept override;
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept override;
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept override;
  int32_t inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept override;
  bool setInputConsumedEvent(cudaEvent_t event) noexcept override;
  cudaEvent_t getInputConsumedEvent() const noexcept override;
  void* getOutputTensorAddress(const char* tensorName) const noexcept override;
  bool setOutputAllocator(const char* tensorName, nv::IOutputAllocator* outputAllocator) noexcept override;
  nv::IOutputAllocator* getOutputAllocator(const char* name) noexcept override;
  int64_t getMaxOutputSize(const char* tensorName) const noexcept override;
  bool setTemporaryStorageAllocator(nv::IGpuAllocator* allocator) noexcept override;
  nv::IGpuAllocator* getTemporaryStorageAllocator() const noexcept override { return nullptr; }
  bool enqueueV3(cudaStream_t stream) noexcept override;
  void setPersistentCacheLimit(size_t size) noexcept override;
  size_t getPersistentCacheLimit() const noexcept override { return persistentCacheLimit_; }
  bool setNvtxVerbosity(nv::ProfilingVerbosity verbosity) noexcept override;
  nv::ProfilingVerbosity getNvtxVerbosity() const noexcept override { return nvtxVerbosity_; }
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept override;
  bool setDebugListener(nv::IDebugListener* listener) noexcept override;
  nv::IDebugListener* getDebugListener() noexcept override { return debugListener_; }
  bool setTensorDebugState(const char* name, bool flag) noexcept override;
  bool getDebugState(const char* name) const noexcept override;
  bool setAllTensorsDebugState(bool flag) noexcept override;
  size_t updateDeviceMemorySizeForShapes() noexcept override;
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept override;
  nv::IRuntimeConfig* getRuntimeConfig() const noexcept override { return config_; }
  bool setUnfusedTensorsDebugState(bool flag) noexcept override;
  bool getUnfusedTensorsDebugState() const noexcept override { return context_.unfusedDebugTensors(); }
  bool setCommunicator(void* communicator) noexcept override;

  int profile() const noexcept { return context_.profile(); }
  bool isOf(const runtime::Engine& engine) const noexcept { return &context_.engine() == &engine; }
  // What the shapes given so far say about the engine's symbols.
  const SymbolValues& symbols() const { return context_.symbols(); }

 private:
  int find(const char* tensorName) const;  // UserError for names of no input or output
  int findInput(const char* tensorName) const;
  int findOutput(const char* tensorName) const;
  bool wait(const char* call, cudaStream_t stream) const noexcept;
  // The one way into the runtime's context, which belongs to one thread at a time.
  template <typename R, typename Body>
  R ask(const char* call, R fallback, Body&& body) const noexcept {
    return guarded(reporter_, call, fallback, [&] {
      const InUse alone(occupant_, "the context");
      return body();
    });
  }
  template <typename Body>
  void tell(const char* call, Body&& body) noexcept {
    guarded(reporter_, call, [&] {
      const InUse alone(occupant_, "the context");
      body();
    });
  }

  const Engine& engine_;
  mutable Reporter reporter_;
  mutable Occupant occupant_{};
  std::shared_ptr<const LoadedEngine> loaded_;
  // Adapters outlive the context that calls them.
  std::unique_ptr<ProfilerAdapter> profilerAdapter_;
  std::unique_ptr<DebugAdapter> debugAdapter_;
  std::vector<std::unique_ptr<OutputAllocatorAdapter>> outputAllocators_;  // by input or output
  mutable runtime::Context context_;
  nv::IRuntimeConfig* config_;
  nv::IProfiler* profiler_ = nullptr;
  nv::IDebugListener* debugListener_ = nullptr;
  std::string name_;
  bool debugSync_ = false;
  size_t persistentCacheLimit_ = 0;
  nv::ProfilingVerbosity nvtxVerbosity_;
};

}  // namespace tenon::api
