// IBuilderConfig: options of a build, kept as they are set and checked when the build begins.
#pragma once

#include <NvInfer.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/builder/optimization_profile.h"
#include "api/common/convert.h"
#include "api/common/reporter.h"

namespace tenon::api {

class TimingCacheObject;

class BuilderConfig final : public nv::IBuilderConfig, public nv::apiv::VBuilderConfig {
 public:
  explicit BuilderConfig(Reporter& parent);
  ~BuilderConfig() noexcept override;

  void setAvgTimingIterations(int32_t avgTiming) noexcept override;
  int32_t getAvgTimingIterations() const noexcept override { return options_.averageTiming; }
  void setEngineCapability(nv::EngineCapability capability) noexcept override;
  nv::EngineCapability getEngineCapability() const noexcept override { return options_.capability; }
  void setInt8Calibrator(nv::IInt8Calibrator* calibrator) noexcept override { options_.calibrator = calibrator; }
  nv::IInt8Calibrator* getInt8Calibrator() const noexcept override { return options_.calibrator; }
  void setFlags(nv::BuilderFlags flags) noexcept override { options_.flags = flags; }
  nv::BuilderFlags getFlags() const noexcept override { return options_.flags; }
  void clearFlag(nv::BuilderFlag flag) noexcept override { options_.flags &= ~bit(flag); }
  void setFlag(nv::BuilderFlag flag) noexcept override;
  bool getFlag(nv::BuilderFlag flag) const noexcept override { return (options_.flags & bit(flag)) != 0; }
  void setDeviceType(const nv::ILayer* layer, nv::DeviceType deviceType) noexcept override;
  nv::DeviceType getDeviceType(const nv::ILayer* layer) const noexcept override;
  bool isDeviceTypeSet(const nv::ILayer* layer) const noexcept override { return options_.devices.count(layer) != 0; }
  void resetDeviceType(const nv::ILayer* layer) noexcept override { options_.devices.erase(layer); }
  bool canRunOnDLA(const nv::ILayer*) const noexcept override { return false; }
  void setDLACore(int32_t dlaCore) noexcept override { options_.dlaCore = dlaCore; }
  int32_t getDLACore() const noexcept override { return options_.dlaCore; }
  void setDefaultDeviceType(nv::DeviceType deviceType) noexcept override;
  nv::DeviceType getDefaultDeviceType() const noexcept override { return options_.defaultDevice; }
  void reset() noexcept override;
  void setProfileStream(const cudaStream_t stream) noexcept override { options_.profileStream = stream; }
  cudaStream_t getProfileStream() const noexcept override { return options_.profileStream; }
  int32_t addOptimizationProfile(const nv::IOptimizationProfile* profile) noexcept override;
  int32_t getNbOptimizationProfiles() const noexcept override { return static_cast<int32_t>(options_.profiles.size()); }
  void setProfilingVerbosity(nv::ProfilingVerbosity verbosity) noexcept override;
  nv::ProfilingVerbosity getProfilingVerbosity() const noexcept override { return options_.verbosity; }
  void setAlgorithmSelector(nv::IAlgorithmSelector* selector) noexcept override { options_.selector = selector; }
  nv::IAlgorithmSelector* getAlgorithmSelector() const noexcept override { return options_.selector; }
  bool setCalibrationProfile(const nv::IOptimizationProfile* profile) noexcept override;
  const nv::IOptimizationProfile* getCalibrationProfile() noexcept override { return options_.calibrationProfile; }
  void setQuantizationFlags(nv::QuantizationFlags flags) noexcept override { options_.quantizationFlags = flags; }
  nv::QuantizationFlags getQuantizationFlags() const noexcept override { return options_.quantizationFlags; }
  void clearQuantizationFlag(nv::QuantizationFlag flag) noexcept override { options_.quantizationFlags &= ~bit(flag); }
  void setQuantizationFlag(nv::QuantizationFlag flag) noexcept override { options_.quantizationFlags |= bit(flag); }
  bool getQuantizationFlag(nv::QuantizationFlag flag) const noexcept override {
    return (options_.quantizationFlags & bit(flag)) != 0;
  }
  bool setTacticSources(nv::TacticSources tacticSources) noexcept override;
  nv::TacticSources getTacticSources() const noexcept override { return options_.tacticSources; }
  nv::ITimingCache* createTimingCache(const void* blob, std::size_t size) const noexcept override;
  bool setTimingCache(const nv::ITimingCache& cache, bool ignoreMismatch) noexcept override;
  const nv::ITimingCache* getTimingCache() const noexcept override;
  void setMemoryPoolLimit(nv::MemoryPoolType pool, std::size_t poolSize) noexcept override;
  std::size_t getMemoryPoolLimit(nv::MemoryPoolType pool) const noexcept override;
  void setPreviewFeature(nv::PreviewFeature feature, bool enable) noexcept override;
  bool getPreviewFeature(nv::PreviewFeature feature) const noexcept override {
    return (options_.previewFeatures & bit(feature)) != 0;
  }
  void setBuilderOptimizationLevel(int32_t level) noexcept override;
  int32_t getBuilderOptimizationLevel() const noexcept override { return options_.optimizationLevel; }
  void setHardwareCompatibilityLevel(nv::HardwareCompatibilityLevel level) noexcept override;
  nv::HardwareCompatibilityLevel getHardwareCompatibilityLevel() const noexcept override { return options_.hardware; }
  void setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept override;
  const char* getPluginToSerialize(int32_t index) const noexcept override;
  int32_t getNbPluginsToSerialize() const noexcept override { return static_cast<int32_t>(options_.plugins.size()); }
  void setMaxAuxStreams(int32_t nbStreams) noexcept override { options_.maxAuxStreams = nbStreams; }
  int32_t getMaxAuxStreams() const noexcept override { return options_.maxAuxStreams; }
  void setProgressMonitor(nv::IProgressMonitor* monitor) noexcept override { options_.monitor = monitor; }
  nv::IProgressMonitor* getProgressMonitor() const noexcept override { return options_.monitor; }
  void setRuntimePlatform(nv::RuntimePlatform platform) noexcept override;
  nv::RuntimePlatform getRuntimePlatform() const noexcept override { return options_.platform; }
  void setMaxNbTactics(int32_t maxTactics) noexcept override { options_.maxTactics = maxTactics; }
  int32_t getMaxNbTactics() const noexcept override { return options_.maxTactics; }
  bool setTilingOptimizationLevel(nv::TilingOptimizationLevel level) noexcept override;
  nv::TilingOptimizationLevel getTilingOptimizationLevel() const noexcept override { return options_.tiling; }
  bool setL2LimitForTiling(int64_t size) noexcept override;
  int64_t getL2LimitForTiling() const noexcept override { return options_.l2Limit; }
  bool setRemoteAutoTuningConfig(const char* config) noexcept override;
  const char* getRemoteAutoTuningConfig() const noexcept override { return options_.remoteTuning.c_str(); }

  const std::vector<const OptimizationProfile*>& profiles() const noexcept { return options_.profiles; }
  TimingCacheObject* timingCache() const noexcept { return options_.timingCache; }
  // The workspace limit in bytes, when one was set.
  std::optional<uint64_t> workspaceLimit() const noexcept;
  bool poolLimitIsSet(nv::MemoryPoolType pool) const noexcept { return options_.pools.count(pool) != 0; }
  bool tacticSourcesAreSet() const noexcept { return options_.tacticSourcesAreSet; }
  const nv::IOptimizationProfile* calibrationProfile() const noexcept { return options_.calibrationProfile; }
  bool wantsDla() const noexcept;  // of any layer
  // UserError or Unsupported, by name, for what no build can satisfy.
  void check() const;

  // What the getter says as long as nothing is set: TensorRT's. The build then takes every source it has.
  static constexpr nv::TacticSources kDefaultTacticSources =
      1U << static_cast<uint32_t>(nv::TacticSource::kEDGE_MASK_CONVOLUTIONS) |
      1U << static_cast<uint32_t>(nv::TacticSource::kJIT_CONVOLUTIONS);

 private:
  template <typename E>
  static uint32_t bit(E value) noexcept {
    return 1U << static_cast<uint32_t>(value);
  }
  template <typename E>
  void setEnum(const char* call, E& field, E value) noexcept {
    guarded(reporter_, call, [&] { field = checkedEnum(value, "value"); });
  }

  // All that reset() restores.
  struct Options {
    int32_t averageTiming = 1;
    nv::EngineCapability capability = nv::EngineCapability::kSTANDARD;
    nv::IInt8Calibrator* calibrator = nullptr;
    nv::BuilderFlags flags = bit(nv::BuilderFlag::kTF32);
    std::map<const nv::ILayer*, nv::DeviceType> devices;
    nv::DeviceType defaultDevice = nv::DeviceType::kGPU;
    int32_t dlaCore = -1;
    cudaStream_t profileStream = nullptr;
    std::vector<const OptimizationProfile*> profiles;
    nv::ProfilingVerbosity verbosity = nv::ProfilingVerbosity::kLAYER_NAMES_ONLY;
    nv::IAlgorithmSelector* selector = nullptr;
    const nv::IOptimizationProfile* calibrationProfile = nullptr;
    nv::QuantizationFlags quantizationFlags = 0;
    nv::TacticSources tacticSources = kDefaultTacticSources;
    bool tacticSourcesAreSet = false;
    TimingCacheObject* timingCache = nullptr;
    std::map<nv::MemoryPoolType, std::size_t> pools;
    uint32_t previewFeatures = bit(nv::PreviewFeature::kPROFILE_SHARING_0806);
    int32_t optimizationLevel = 3;
    nv::HardwareCompatibilityLevel hardware = nv::HardwareCompatibilityLevel::kNONE;
    std::vector<std::string> plugins;
    int32_t maxAuxStreams = -1;
    nv::IProgressMonitor* monitor = nullptr;
    nv::RuntimePlatform platform = nv::RuntimePlatform::kSAME_AS_BUILD;
    int32_t maxTactics = -1;
    nv::TilingOptimizationLevel tiling = nv::TilingOptimizationLevel::kNONE;
    int64_t l2Limit = -1;
    std::string remoteTuning;
  };

  mutable Reporter reporter_;
  Options options_;
};

}  // namespace tenon::api
