// Options of a build: setters with their checks, and defaults. build_options.cpp says what a build does with them.
#include "api/builder/builder_config.h"

#include <unistd.h>

#include <algorithm>

#include "api/builder/timing_cache.h"

namespace tenon::api {
namespace {

std::size_t physicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long bytes = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) : SIZE_MAX;
}

}  // namespace

BuilderConfig::BuilderConfig(Reporter& parent) : reporter_(parent.logger(), parent.recorder()) { mImpl = this; }

BuilderConfig::~BuilderConfig() noexcept = default;

void BuilderConfig::setAvgTimingIterations(int32_t avgTiming) noexcept {
  guarded(reporter_, "IBuilderConfig::setAvgTimingIterations", [&] {
    checkUser(avgTiming > 0, "the number of iterations is {}; expected at least 1", avgTiming);
    options_.averageTiming = avgTiming;
  });
}

void BuilderConfig::setEngineCapability(nv::EngineCapability capability) noexcept {
  setEnum("IBuilderConfig::setEngineCapability", options_.capability, capability);
}

void BuilderConfig::setFlag(nv::BuilderFlag flag) noexcept {
  guarded(reporter_, "IBuilderConfig::setFlag", [&] { options_.flags |= bit(checkedEnum(flag, "builder flag")); });
}

void BuilderConfig::setDeviceType(const nv::ILayer* layer, nv::DeviceType deviceType) noexcept {
  guarded(reporter_, "IBuilderConfig::setDeviceType", [&] {
    checkUser(layer != nullptr, "the layer is null");
    options_.devices[layer] = checkedEnum(deviceType, "device type");
  });
}

nv::DeviceType BuilderConfig::getDeviceType(const nv::ILayer* layer) const noexcept {
  const auto found = options_.devices.find(layer);
  return found != options_.devices.end() ? found->second : options_.defaultDevice;
}

void BuilderConfig::setDefaultDeviceType(nv::DeviceType deviceType) noexcept {
  setEnum("IBuilderConfig::setDefaultDeviceType", options_.defaultDevice, deviceType);
}

void BuilderConfig::reset() noexcept {
  guarded(reporter_, "IBuilderConfig::reset", [&] { options_ = Options(); });
}

int32_t BuilderConfig::addOptimizationProfile(const nv::IOptimizationProfile* profile) noexcept {
  return guarded(reporter_, "IBuilderConfig::addOptimizationProfile", -1, [&] {
    const auto* ours = dynamic_cast<const OptimizationProfile*>(profile);
    checkUser(ours != nullptr, "the profile is null or was not created by this library");
    checkUser(ours->isValid(), "the profile is not valid: each input needs min <= opt <= max");
    options_.profiles.push_back(ours);
    return getNbOptimizationProfiles() - 1;
  });
}

void BuilderConfig::setProfilingVerbosity(nv::ProfilingVerbosity verbosity) noexcept {
  setEnum("IBuilderConfig::setProfilingVerbosity", options_.verbosity, verbosity);
}

bool BuilderConfig::setCalibrationProfile(const nv::IOptimizationProfile* profile) noexcept {
  options_.calibrationProfile = profile;
  return profile != nullptr && profile->isValid();
}

bool BuilderConfig::setTacticSources(nv::TacticSources tacticSources) noexcept {
  return guarded(reporter_, "IBuilderConfig::setTacticSources", false, [&] {
    constexpr nv::TacticSources kAll = (1U << nv::EnumMax<nv::TacticSource>()) - 1;
    checkUser((tacticSources & ~kAll) == 0,
              "the mask {:#x} has bits that are not a tactic source; expected bits of {:#x}", tacticSources, kAll);
    options_.tacticSources = tacticSources;
    options_.tacticSourcesAreSet = true;
    return true;
  });
}

nv::ITimingCache* BuilderConfig::createTimingCache(const void* blob, std::size_t size) const noexcept {
  return guarded(reporter_, "IBuilderConfig::createTimingCache", static_cast<nv::ITimingCache*>(nullptr), [&] {
    checkUser(blob != nullptr || size == 0, "{} bytes are given at a null address", size);
    auto cache = std::make_unique<TimingCacheObject>(reporter_);
    cache->read(blob, size);
    return static_cast<nv::ITimingCache*>(cache.release());
  });
}

bool BuilderConfig::setTimingCache(const nv::ITimingCache& cache, bool) noexcept {
  return guarded(reporter_, "IBuilderConfig::setTimingCache", false, [&] {
    // The build adds to the caller's cache, which the interface passes as const.
    auto* ours = dynamic_cast<TimingCacheObject*>(const_cast<nv::ITimingCache*>(&cache));
    checkUser(ours != nullptr, "the timing cache was not created by this library");
    options_.timingCache = ours;
    return true;
  });
}

const nv::ITimingCache* BuilderConfig::getTimingCache() const noexcept { return options_.timingCache; }

void BuilderConfig::setMemoryPoolLimit(nv::MemoryPoolType pool, std::size_t poolSize) noexcept {
  guarded(reporter_, "IBuilderConfig::setMemoryPoolLimit",
          [&] { options_.pools[checkedEnum(pool, "memory pool")] = poolSize; });
}

std::size_t BuilderConfig::getMemoryPoolLimit(nv::MemoryPoolType pool) const noexcept {
  const auto found = options_.pools.find(pool);
  if (found != options_.pools.end()) return found->second;
  switch (pool) {
    case nv::MemoryPoolType::kDLA_MANAGED_SRAM: return 0;
    case nv::MemoryPoolType::kDLA_LOCAL_DRAM: return std::size_t{1} << 30;
    case nv::MemoryPoolType::kDLA_GLOBAL_DRAM: return std::size_t{1} << 29;
    case nv::MemoryPoolType::kTACTIC_SHARED_MEMORY: return std::size_t{1} << 30;
    default: return physicalMemory();
  }
}

std::optional<uint64_t> BuilderConfig::workspaceLimit() const noexcept {
  const auto found = options_.pools.find(nv::MemoryPoolType::kWORKSPACE);
  if (found == options_.pools.end()) return std::nullopt;
  return found->second;
}

void BuilderConfig::setPreviewFeature(nv::PreviewFeature feature, bool enable) noexcept {
  guarded(reporter_, "IBuilderConfig::setPreviewFeature", [&] {
    const uint32_t mask = bit(checkedEnum(feature, "preview feature"));
    options_.previewFeatures = enable ? options_.previewFeatures | mask : options_.previewFeatures & ~mask;
  });
}

void BuilderConfig::setBuilderOptimizationLevel(int32_t level) noexcept {
  guarded(reporter_, "IBuilderConfig::setBuilderOptimizationLevel", [&] {
    checkUser(level >= 0, "optimization level {}; expected 0 to 5", level);
    options_.optimizationLevel = level > 5 ? 5 : level;
  });
}

void BuilderConfig::setHardwareCompatibilityLevel(nv::HardwareCompatibilityLevel level) noexcept {
  setEnum("IBuilderConfig::setHardwareCompatibilityLevel", options_.hardware, level);
}

void BuilderConfig::setPluginsToSerialize(const char* const* paths, int32_t nbPaths) noexcept {
  guarded(reporter_, "IBuilderConfig::setPluginsToSerialize", [&] {
    checkUser(nbPaths >= 0 && (paths != nullptr || nbPaths == 0), "{} paths are given at a null address", nbPaths);
    std::vector<std::string> plugins;
    for (int32_t i = 0; i < nbPaths; ++i) plugins.emplace_back(orEmpty(paths[i]));
    options_.plugins = std::move(plugins);
  });
}

const char* BuilderConfig::getPluginToSerialize(int32_t index) const noexcept {
  if (index < 0 || index >= getNbPluginsToSerialize()) return nullptr;
  return options_.plugins[static_cast<size_t>(index)].c_str();
}

void BuilderConfig::setRuntimePlatform(nv::RuntimePlatform platform) noexcept {
  setEnum("IBuilderConfig::setRuntimePlatform", options_.platform, platform);
}

bool BuilderConfig::setTilingOptimizationLevel(nv::TilingOptimizationLevel level) noexcept {
  return guarded(reporter_, "IBuilderConfig::setTilingOptimizationLevel", false, [&] {
    options_.tiling = checkedEnum(level, "tiling optimization level");
    return true;
  });
}

bool BuilderConfig::setL2LimitForTiling(int64_t size) noexcept {
  if (size < -1) return false;
  options_.l2Limit = size;
  return true;
}

bool BuilderConfig::setRemoteAutoTuningConfig(const char*) noexcept {
  return guarded(reporter_, "IBuilderConfig::setRemoteAutoTuningConfig", false,
                 []() -> bool { notSupported("IBuilderConfig::setRemoteAutoTuningConfig"); });
}

bool BuilderConfig::wantsDla() const noexcept {
  return options_.defaultDevice == nv::DeviceType::kDLA ||
         std::any_of(options_.devices.begin(), options_.devices.end(),
                     [](const auto& entry) { return entry.second == nv::DeviceType::kDLA; });
}

}  // namespace tenon::api
