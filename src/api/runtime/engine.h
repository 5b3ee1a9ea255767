// ICudaEngine over the runtime's engine.
#pragma once

#include <NvInferRuntime.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/common/reporter.h"
#include "api/common/tensor_formats.h"
#include "api/runtime/adapters.h"
#include "plan/program.h"
#include "runtime/engine.h"

namespace tenon::api {

// The runtime's engine together with what it refers to; engine objects and contexts share it.
struct LoadedEngine {
  std::unique_ptr<GpuAllocatorAdapter> allocator;  // null: the device's own memory
  std::shared_ptr<const runtime::Engine> engine;
};

class Engine final : public nv::ICudaEngine, public nv::apiv::VCudaEngine {
 public:
  Engine(std::shared_ptr<const LoadedEngine> loaded, Reporter& parent);

  nv::ICudaEngine* getPImpl() noexcept override { return this; }
  int32_t getNbLayers() const noexcept override;
  nv::IHostMemory* serialize() const noexcept override;
  nv::IExecutionContext* createExecutionContext(nv::ExecutionContextAllocationStrategy strategy) noexcept override;
  nv::IExecutionContext* createExecutionContextWithoutDeviceMemory() noexcept override;
  size_t getDeviceMemorySize() const noexcept override;
  bool isRefittable() const noexcept override;
  const char* getName() const noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override;
  const int32_t* getProfileTensorValues(const char* tensorName, int32_t profileIndex,
                                        nv::OptProfileSelector select) const noexcept override;
  nv::EngineCapability getEngineCapability() const noexcept override { return nv::EngineCapability::kSTANDARD; }
  void setErrorRecorder(nv::IErrorRecorder* recorder) noexcept override { reporter_.setRecorder(recorder); }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return reporter_.recorder(); }
  bool hasImplicitBatchDimension() const noexcept override { return false; }
  nv::TacticSources getTacticSources() const noexcept override;
  nv::ProfilingVerbosity getProfilingVerbosity() const noexcept override;
  nv::IEngineInspector* createEngineInspector() const noexcept override;
  nv::Dims getTensorShape(const char* tensorName) const noexcept override;
  nv::DataType getTensorDataType(const char* tensorName) const noexcept override;
  nv::TensorLocation getTensorLocation(const char* tensorName) const noexcept override;
  bool isShapeInferenceIO(const char* tensorName) const noexcept override;
  nv::TensorIOMode getTensorIOMode(const char* tensorName) const noexcept override;
  int32_t getTensorBytesPerComponent(const char* tensorName) const noexcept override;
  int32_t getTensorComponentsPerElement(const char* tensorName) const noexcept override;
  nv::TensorFormat getTensorFormat(const char* tensorName) const noexcept override;
  const char* getTensorFormatDesc(const char* tensorName) const noexcept override;
  int32_t getTensorVectorizedDim(const char* tensorName) const noexcept override;
  nv::Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                           nv::OptProfileSelector select) const noexcept override;
  int32_t getNbIOTensors() const noexcept override;
  const char* getIOTensorName(int32_t index) const noexcept override;
  nv::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override {
    return nv::HardwareCompatibilityLevel::kNONE;
  }
  int32_t getNbAuxStreams() const noexcept override;
  int32_t getTensorBytesPerComponentV2(const char* tensorName, int32_t profileIndex) const noexcept override;
  int32_t getTensorComponentsPerElementV2(const char* tensorName, int32_t profileIndex) const noexcept override;
  nv::TensorFormat getTensorFormatV2(const char* tensorName, int32_t profileIndex) const noexcept override;
  const char* getTensorFormatDescV2(const char* tensorName, int32_t profileIndex) const noexcept override;
  int32_t getTensorVectorizedDimV2(const char* tensorName, int32_t profileIndex) const noexcept override;
  nv::ISerializationConfig* createSerializationConfig() noexcept override;
  nv::IHostMemory* serializeWithConfig(nv::ISerializationConfig& config) const noexcept override;
  size_t getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept override;
  nv::IRefitter* createRefitter(nv::ILogger& logger) noexcept override;
  bool setWeightStreamingBudget(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudget() const noexcept override { return 0; }
  int64_t getMinimumWeightStreamingBudget() const noexcept override { return 0; }
  int64_t getStreamableWeightsSize() const noexcept override { return 0; }
  bool isDebugTensor(const char* name) const noexcept override;
  bool setWeightStreamingBudgetV2(int64_t gpuMemoryBudget) noexcept override;
  int64_t getWeightStreamingBudgetV2() const noexcept override { return 0; }
  int64_t getWeightStreamingAutomaticBudget() const noexcept override { return 0; }
  int64_t getWeightStreamingScratchMemorySize() const noexcept override { return 0; }
  int64_t getDeviceMemorySizeV2() const noexcept override;
  int64_t getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept override;
  const int64_t* getProfileTensorValuesV2(const char* tensorName, int32_t profileIndex,
                                          nv::OptProfileSelector select) const noexcept override;
  nv::IExecutionContext* createExecutionContextWithRuntimeConfig(nv::IRuntimeConfig* runtimeConfig) noexcept override;
  nv::IRuntimeConfig* createRuntimeConfig() noexcept override;
  int64_t getEngineStat(nv::EngineStat stat) const noexcept override;
  const char* getAliasedInputTensor(const char* tensorName) const noexcept override;

  const runtime::Engine& engine() const noexcept { return *loaded_->engine; }

 private:
  // Index into the inputs and outputs; UserError for names of none.
  int find(const char* tensorName) const;
  const plan::Io& io(const char* tensorName) const;
  int checkedProfile(int32_t profileIndex) const;
  FormatFacts formatOf(const char* tensorName, int32_t profileIndex) const;
  const std::vector<int64_t>& profileValues(const char* tensorName, int32_t profileIndex,
                                            nv::OptProfileSelector select) const;
  nv::IExecutionContext* makeContext(nv::ExecutionContextAllocationStrategy strategy, nv::IRuntimeConfig* config) const;
  template <typename R, typename Body>
  R ask(const char* call, R fallback, Body&& body) const noexcept {
    return guarded(reporter_, call, fallback, body);
  }

  mutable Reporter reporter_;
  std::shared_ptr<const LoadedEngine> loaded_;
  std::vector<std::string> formatTexts_;  // by input or output
  mutable std::mutex narrowMutex_;
  mutable std::map<const std::vector<int64_t>*, std::vector<int32_t>> narrowValues_;  // for the 32-bit getter
};

// Loads a plan that was just built.
nv::ICudaEngine* makeEngine(plan::Plan plan, Reporter& reporter, nv::IGpuAllocator* allocator);

}  // namespace tenon::api
