// IBuilder: checks network and configuration, hands the graph to the build stage, returns the plan.
#include "api/builder/builder.h"

#include "api/builder/algorithm_selector.h"
#include "api/builder/build_options.h"
#include "api/builder/device_choice.h"
#include "api/builder/timing_cache.h"
#include "api/builder/type_constraints.h"
#include "api/common/hand_out.h"
#include "api/common/host_memory.h"
#include "api/network/network.h"
#include "api/plugin/adapters/live_plugin.h"
#include "api/plugin/embedded.h"
#include "api/plugin/plugin_host.h"
#include "api/runtime/engine.h"
#include "compile/builder.h"
#include "ops/op/size.h"
#include "ops/within.h"
#include "plan/file.h"

namespace tenon::api {
namespace {

using nv::BuilderFlag;

class MonitoredProgress final : public compile::Progress {
 public:
  explicit MonitoredProgress(nv::IProgressMonitor& monitor) : monitor_(monitor) {}
  void begin(const std::string& phase, const std::string& parent, int steps) override {
    monitor_.phaseStart(phase.c_str(), parent.empty() ? nullptr : parent.c_str(), steps);
  }
  bool step(const std::string& phase, int step) override { return monitor_.stepComplete(phase.c_str(), step); }
  void end(const std::string& phase) override { monitor_.phaseFinish(phase.c_str()); }

 private:
  nv::IProgressMonitor& monitor_;
};

const Network& ourNetwork(const nv::INetworkDefinition& network) {
  const auto* ours = dynamic_cast<const Network*>(&network);
  checkUser(ours != nullptr, "the network was not created by this library");
  return *ours;
}

const BuilderConfig& ourConfig(const nv::IBuilderConfig& config) {
  const auto* ours = dynamic_cast<const BuilderConfig*>(&config);
  checkUser(ours != nullptr, "the configuration was not created by this library");
  return *ours;
}

std::map<std::string, std::string> metadataOf(const Network& network) {
  std::map<std::string, std::string> result;
  for (const auto& layer : network.layers()) {
    if (*layer->getMetadata() != '\0') result.emplace(layer->name(), layer->getMetadata());
  }
  return result;
}

// Profiles of the configuration for the network's dynamic inputs. A network without any needs none.
std::vector<std::map<std::string, plan::InputRange>> resolveProfiles(const Network& network,
                                                                     const BuilderConfig& config) {
  std::vector<std::map<std::string, plan::InputRange>> result;
  for (const OptimizationProfile* profile : config.profiles()) {
    result.push_back(profile->resolve(network, static_cast<int>(result.size())));
  }
  if (!result.empty()) return result;
  for (const auto& input : network.inputs()) {
    const auto type = input->inputType();
    if (isConstant(type.shape) && !network.isShapeTensor(*input)) continue;
    throw CodedError(
        nv::ErrorCode::kINVALID_CONFIG,
        "input '{}' {} is dynamic or a shape tensor, and the configuration has no optimization profile; make one with "
        "createOptimizationProfile(), set its dimensions, and add it with "
        "addOptimizationProfile()",
        input->name(), text(input->getDimensions()));
  }
  return result;
}

// The libraries that the caller's tactic sources leave out, by the names that tactics have.
std::vector<std::string> excludedLibraries(const BuilderConfig& config) {
  if (!config.tacticSourcesAreSet()) return {};
  constexpr std::pair<nv::TacticSource, const char*> kLibraries[] = {{nv::TacticSource::kCUBLAS_LT, "cublaslt"},
                                                                     {nv::TacticSource::kCUDNN, "cudnn"}};
  std::vector<std::string> result;
  for (const auto& [source, library] : kLibraries) {
    if ((config.getTacticSources() >> static_cast<uint32_t>(source) & 1U) == 0) result.emplace_back(library);
  }
  return result;
}

bool isDetailed(const tenon::compile::BuildOptions& options) {
  return options.profilingVerbosity == static_cast<int>(nv::ProfilingVerbosity::kDETAILED);
}

// What a profile says of all extents, those too that bodies of loops and conditionals compute: as they are expected,
// and at most as large as memory is planned for.
tenon::compile::ProfileSymbols symbolsOf(const graph::Graph& graph,
                                         const std::map<std::string, plan::InputRange>& profile) {
  auto symbols = tenon::compile::bindProfile(graph, profile);
  const auto add = [&](const ops::RegionNode& node) {
    const auto* size = node.op.as<ops::Size>();
    if (size == nullptr) return;
    const auto most = ops::Size::planned(size->opt, size->upper);
    symbols.bounds[size->symbol] = {0, most.bounds(symbols.bounds).high};
    symbols.opt[size->symbol] = size->opt.evaluate(symbols.opt);
  };
  for (const auto id : graph.order()) ops::forEachWithin(graph.node(id).op, add);
  return symbols;
}

// Plugin layers of the graph learn what shapes the build is for, and say what the inspector shows.
// They live as long as the result.
std::vector<std::shared_ptr<ops::PluginObject>> preparePlugins(const graph::Graph& graph,
                                                               tenon::compile::BuildOptions& options, bool mayAlias) {
  std::vector<std::shared_ptr<ops::PluginObject>> result;
  std::vector<tenon::compile::ProfileSymbols> symbols;  // by profile
  const auto prepare = [&](const ops::Plugin& plugin) {
    checkUser(mayAlias || plugin.aliases.empty(),
              "layer '{}': outputs of plugin '{}' share the memory of inputs (getAliasedInput), which needs "
              "IBuilderConfig::setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, true)",
              plugin.layer, plugin.type);
    auto& live = dynamic_cast<LivePlugin&>(*plugin.object);
    if (symbols.empty()) {
      for (const auto& profile : options.profiles) symbols.push_back(symbolsOf(graph, profile));
      if (symbols.empty()) symbols.push_back(symbolsOf(graph, {}));
    }
    live.setProfiles(symbols);
    if (auto metadata = live.metadata(); isDetailed(options) && !metadata.empty())
      options.layerMetadata.emplace(live.layer(), std::move(metadata));  // the caller's own goes first
    result.push_back(plugin.object);
  };
  for (const auto id : graph.order()) ops::forEachOf<ops::Plugin>(graph.node(id).op, prepare);
  return result;
}

}  // namespace

bool Builder::platformHasFastFp16() const noexcept {
  return guarded(reporter_, "IBuilder::platformHasFastFp16", false, [] { return chosenDevice() == "cuda"; });
}

bool Builder::platformHasFastInt8() const noexcept {
  return guarded(reporter_, "IBuilder::platformHasFastInt8", false, [] { return chosenDevice() == "cuda"; });
}

bool Builder::platformHasTf32() const noexcept {
  return guarded(reporter_, "IBuilder::platformHasTf32", false, [] { return chosenDevice() == "cuda"; });
}

nv::IBuilderConfig* Builder::createBuilderConfig() noexcept {
  return guarded(reporter_, "IBuilder::createBuilderConfig", static_cast<nv::IBuilderConfig*>(nullptr),
                 [&] { return handOut<nv::IBuilderConfig, BuilderConfig>(reporter_); });
}

nv::INetworkDefinition* Builder::createNetworkV2(nv::NetworkDefinitionCreationFlags flags) noexcept {
  return guarded(reporter_, "IBuilder::createNetworkV2", static_cast<nv::INetworkDefinition*>(nullptr), [&] {
    constexpr auto kKnown = (1U << nv::EnumMax<nv::NetworkDefinitionCreationFlag>()) - 1;
    checkUser((flags & ~kKnown) == 0,
              "the flags {:#x} have bits that are not a NetworkDefinitionCreationFlag; expected bits of "
              "{:#x}",
              flags, kKnown);
    return handOut<nv::INetworkDefinition, Network>(*this, reporter_, flags);
  });
}

nv::IOptimizationProfile* Builder::createOptimizationProfile() noexcept {
  return guarded(reporter_, "IBuilder::createOptimizationProfile", static_cast<nv::IOptimizationProfile*>(nullptr),
                 [&] {
                   profiles_.push_back(std::make_unique<OptimizationProfile>(reporter_));
                   return static_cast<nv::IOptimizationProfile*>(profiles_.back().get());
                 });
}

bool Builder::setMaxThreads(int32_t maxThreads) noexcept {
  return guarded(reporter_, "IBuilder::setMaxThreads", false, [&] {
    if (maxThreads < 1) return false;
    if (maxThreads != maxThreads_)
      noEffect(reporter_, "IBuilder::setMaxThreads", "a build takes as many threads as its work has use for");
    maxThreads_ = maxThreads;
    return true;
  });
}

// Profiles stay: configurations refer to them.
void Builder::reset() noexcept {
  allocator_ = nullptr;
  maxThreads_ = 1;
  reporter_.setRecorder(nullptr);
}

plan::Plan Builder::build(nv::INetworkDefinition& network, nv::IBuilderConfig& config) {
  const Network& ours = ourNetwork(network);
  const BuilderConfig& options = ourConfig(config);
  options.check();
  compile::BuildOptions build;
  build.device = chosenDevice();
  for (const auto& line : idleOptions({options, ours, build.device != "cuda"})) reporter_.warning("{}", line);
  build.types = typeOptions(ours, options, reporter_);
  build.profiles = resolveProfiles(ours, options);
  graph::Graph graph = ours.assemble(fixSymbols(ours, build.profiles));
  build.optimizationLevel = options.getBuilderOptimizationLevel();
  build.workspaceLimit = options.workspaceLimit().value_or(UINT64_MAX);
  build.averageTimingIterations = options.getAvgTimingIterations();
  build.maxTactics = options.getMaxNbTactics();
  build.auxStreams = options.getMaxAuxStreams();
  build.profilingVerbosity = static_cast<int>(options.getProfilingVerbosity());
  build.directIo = options.getFlag(BuilderFlag::kDIRECT_IO);
  build.errorOnTimingCacheMiss = options.getFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  build.editableTimingCache = options.getFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  if (options.getProfilingVerbosity() == nv::ProfilingVerbosity::kDETAILED) build.layerMetadata = metadataOf(ours);
  build.excludedLibraries = excludedLibraries(options);
  if (ours.debugsUnfused()) {
    for (const auto& layer : ours.layers()) {
      for (const auto& tensor : layer->outputs()) build.unfusedDebug.insert(tensor->name());
    }
  }
  build.monitorMemory = options.getFlag(BuilderFlag::kMONITOR_MEMORY);
  build.tf32 = build.device == "cuda" && options.getFlag(BuilderFlag::kTF32);
  build.log = &reporter_;
  if (options.timingCache() != nullptr && !options.getFlag(BuilderFlag::kDISABLE_TIMING_CACHE)) {
    build.timingCache = &options.timingCache()->cache();
  }
  std::unique_ptr<MonitoredProgress> progress;
  if (nv::IProgressMonitor* monitor = options.getProgressMonitor(); monitor != nullptr) {
    progress = std::make_unique<MonitoredProgress>(*monitor);
    build.progress = progress.get();
  }
  std::unique_ptr<AlgorithmSelector> selector;
  if (nv::IAlgorithmSelector* user = options.getAlgorithmSelector(); user != nullptr) {
    selector = std::make_unique<AlgorithmSelector>(*user, options.getFlag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS));
    build.selector = selector.get();
  }
  installPluginHost();
  const auto plugins =
      preparePlugins(graph, build, options.getPreviewFeature(nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03));
  plan::Plan plan = tenon::compile::build(std::move(graph), build);
  sealPlugins(plan);
  std::vector<std::string> libraries;
  for (int32_t i = 0; i < options.getNbPluginsToSerialize(); ++i)
    libraries.emplace_back(options.getPluginToSerialize(i));
  embedLibraries(plan, libraries);
  plan.apiVersion = static_cast<int32_t>(NV_TENSORRT_VERSION);
  return plan;
}

nv::IHostMemory* Builder::buildSerializedNetwork(nv::INetworkDefinition& network, nv::IBuilderConfig& config) noexcept {
  return guarded(reporter_, "IBuilder::buildSerializedNetwork", static_cast<nv::IHostMemory*>(nullptr),
                 [&] { return handOut<nv::IHostMemory, HostMemory>(plan::write(build(network, config))); });
}

bool Builder::isNetworkSupported(const nv::INetworkDefinition& network,
                                 const nv::IBuilderConfig& config) const noexcept {
  return guarded(reporter_, "IBuilder::isNetworkSupported", false, [&] {
    const Network& ours = ourNetwork(network);
    const BuilderConfig& options = ourConfig(config);
    options.check();
    NullLog silent;
    typeOptions(ours, options, silent);
    auto profiles = resolveProfiles(ours, options);
    ours.assemble(fixSymbols(ours, profiles));
    return true;
  });
}

nv::ICudaEngine* Builder::buildEngineWithConfig(nv::INetworkDefinition& network, nv::IBuilderConfig& config) noexcept {
  return guarded(reporter_, "IBuilder::buildEngineWithConfig", static_cast<nv::ICudaEngine*>(nullptr), [&] {
    const CurrentRegistry current(registry_);  // where the engine finds the creators of its plugins
    return makeEngine(build(network, config), reporter_, allocator_);
  });
}

bool Builder::buildSerializedNetworkToStream(nv::INetworkDefinition& network, nv::IBuilderConfig& config,
                                             nv::IStreamWriter& writer) noexcept {
  return guarded(reporter_, "IBuilder::buildSerializedNetworkToStream", false, [&] {
    const auto bytes = plan::write(build(network, config));
    size_t done = 0;
    while (done < bytes.size()) {
      const int64_t wrote = writer.write(bytes.data() + done, static_cast<int64_t>(bytes.size() - done));
      checkUser(wrote > 0 && static_cast<size_t>(wrote) <= bytes.size() - done,
                "the stream writer wrote {} of {} bytes and then returned {}", done, bytes.size(), wrote);
      done += static_cast<size_t>(wrote);
    }
    return true;
  });
}

nv::IHostMemory* Builder::buildSerializedNetworkWithKernelText(nv::INetworkDefinition& network,
                                                               nv::IBuilderConfig& config,
                                                               nv::IHostMemory*& kernelText) noexcept {
  kernelText = nullptr;  // text of ahead-of-time Python kernels, of which this library has none
  return buildSerializedNetwork(network, config);
}

}  // namespace tenon::api
