// Gets an engine: built from a model, or read from a file.
#include "engine.h"

#include "failure.h"
#include "files.h"
#include "log.h"
#include "network.h"
#include "plan_reader.h"
#include "plugins.h"
#include "process/interrupt.h"
#include "progress.h"

#include <NvOnnxParser.h>

#include <chrono>
#include <cstring>

namespace tenon::trtexec {

namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr double kMiB = 1 << 20;

void parseModel(nvonnxparser::IParser& parser, const std::string& path) {
  if (!fileExists(path)) {
    throw Failure("cannot open the file '{}' (--onnx): there is no such file", path);
  }
  info("Start parsing network model.");
  const Stopwatch watch;
  const auto verbosity = static_cast<int>(nvinfer1::ILogger::Severity::kINFO);
  if (!parser.parseFromFile(path.c_str(), verbosity)) {
    // The parser has logged each error by itself.
    throw Failure("the model '{}' could not be parsed; the messages above say why", path);
  }
  info("Finished parsing network model. Parse time: {:.6g}", watch.seconds());
}

//! Whether nothing of `data` came into the cache, although it is not what an empty cache looks like.
bool isFresh(nvinfer1::IBuilderConfig& config, const nvinfer1::ITimingCache& cache, std::string_view data) {
  const std::unique_ptr<nvinfer1::ITimingCache> empty(config.createTimingCache(nullptr, 0));
  const std::unique_ptr<nvinfer1::IHostMemory> nothing(empty == nullptr ? nullptr : empty->serialize());
  const std::unique_ptr<nvinfer1::IHostMemory> loaded(cache.serialize());
  if (nothing == nullptr || loaded == nullptr || loaded->size() != nothing->size()) {
    return false;
  }
  const bool same = std::memcmp(loaded->data(), nothing->data(), nothing->size()) == 0;
  return same && (data.size() != nothing->size() || std::memcmp(data.data(), nothing->data(), data.size()) != 0);
}

std::unique_ptr<nvinfer1::ITimingCache> loadTimingCache(nvinfer1::IBuilderConfig& config, const BuildOptions& options) {
  if (options.timingCacheFile.empty()) {
    return nullptr;
  }
  files::InputFile data;
  if (fileExists(options.timingCacheFile)) {
    data = readFile(options.timingCacheFile, "timing cache");
    info("Loaded {} bytes of timing cache from {}", data.size(), options.timingCacheFile);
  } else {
    info("There is no timing cache in {} yet; it is written after the build", options.timingCacheFile);
  }
  theLog().hold();
  std::unique_ptr<nvinfer1::ITimingCache> cache(config.createTimingCache(data.data(), data.size()));
  const std::string reason = theLog().stopHolding();
  if (data.size() != 0 && cache != nullptr && isFresh(config, *cache, data.bytes())) {
    // The builder starts from nothing then, and the file is written after the build, whatever it was.
    throw Failure(
        "the file '{}' holds no timing cache of this library, and would be overwritten; remove it or name another ({})",
        options.timingCacheFile, reason);
  }
  if (!reason.empty()) {
    warn("{}", reason);
  }
  if (cache == nullptr || !config.setTimingCache(*cache, false)) {
    throw Failure("the timing cache in '{}' is not usable here; the messages above say why", options.timingCacheFile);
  }
  return cache;
}

void saveTimingCache(const nvinfer1::IBuilderConfig& config, const BuildOptions& options) {
  if (options.timingCacheFile.empty()) {
    return;
  }
  const nvinfer1::ITimingCache* cache = config.getTimingCache();
  const std::unique_ptr<nvinfer1::IHostMemory> data(cache == nullptr ? nullptr : cache->serialize());
  if (data == nullptr) {
    throw Failure("the builder gives no timing cache for the file '{}'", options.timingCacheFile);
  }
  writeFile(options.timingCacheFile, data->data(), data->size(), "timing cache");
  info("Saved {} bytes of timing cache to {}", data->size(), options.timingCacheFile);
}

void setPluginsToSerialize(nvinfer1::IBuilderConfig& config, const SystemOptions& options) {
  std::vector<const char*> paths;
  for (const std::string& path : options.serializedPlugins) {
    paths.push_back(path.c_str());
  }
  config.setPluginsToSerialize(paths.data(), static_cast<int32_t>(paths.size()));
}

//! What was measured is kept however the build ends, and an engine is written even where its timings cannot be.
bool tryToSaveTimingCache(const nvinfer1::IBuilderConfig& config, const BuildOptions& options) {
  try {
    saveTimingCache(config, options);
    return true;
  } catch (const Failure& failure) {
    error("{}", failure.what());
    return false;
  }
}

}  // namespace

std::unique_ptr<nvinfer1::IHostMemory> buildPlan(const Options& options) {
  const tools::InterruptScope interrupt;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(theLog()));
  if (builder == nullptr) {
    throw Failure("the builder could not be made; the messages above say why");
  }
  loadDynamicPlugins(builder->getPluginRegistry(), options.system);
  const auto stronglyTyped = static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(
      builder->createNetworkV2(options.build.stronglyTyped ? 1U << stronglyTyped : 0U));
  if (network == nullptr) {
    throw Failure("the network could not be made; the messages above say why");
  }
  // The weights of the network stay in the parser, so it lives until the engine is built.
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, theLog()));
  if (parser == nullptr) {
    throw Failure("the ONNX parser could not be made; the messages above say why");
  }
  if (options.build.pluginOverride) {
    parser->setFlag(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
  }
  parseModel(*parser, options.model.onnx);
  if (tools::wasInterrupted()) {
    throw Failure("the build was cancelled by {} before it began; nothing was written", tools::interruptName());
  }
  setUpNetwork(*network, options.build);

  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
  setUpConfig(*config, options.build);
  setPluginsToSerialize(*config, options.system);
  setUpProfiles(*builder, *config, *network, options.build);
  const auto cache = loadTimingCache(*config, options.build);

  Progress progress(outputIsTerminal());
  config->setProgressMonitor(&progress);
  const Stopwatch watch;
  std::unique_ptr<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  theLog().setStatus("");
  const bool cacheSaved = tryToSaveTimingCache(*config, options.build);
  if (plan == nullptr && tools::wasInterrupted()) {
    throw Failure("the build was cancelled by {}; no engine was written{}", tools::interruptName(),
                  options.build.timingCacheFile.empty() ? ", and --timingCacheFile=<file> would have kept the timings"
                                                        : ", and the next build goes on from the timing cache");
  }
  if (plan == nullptr) {
    throw Failure("the engine could not be built; the messages above say why");
  }
  info("Engine built in {:.6g} sec.", watch.seconds());
  info("Created engine with size: {:.6g} MiB", static_cast<double>(plan->size()) / kMiB);
  if (!options.build.saveEngine.empty()) {
    writeFile(options.build.saveEngine, plan->data(), plan->size(), "engine");
    info("Saved the engine to {}", options.build.saveEngine);
  }
  if (!cacheSaved) {
    throw Failure("the timing cache could not be saved, as said above");
  }
  if (tools::wasInterrupted()) {
    throw Failure("ended by {} after the engine was built", tools::interruptName());
  }
  return plan;
}

namespace {

std::unique_ptr<nvinfer1::IRuntime> makeRuntime(const Options& options) {
  std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(theLog()));
  if (runtime == nullptr) {
    throw Failure("the runtime could not be made; the messages above say why");
  }
  if (!options.build.temporaryDirectory.empty()) {
    runtime->setTemporaryDirectory(options.build.temporaryDirectory.c_str());
  }
  if (options.build.tempfileControls) {
    runtime->setTempfileControlFlags(*options.build.tempfileControls);
  }
  loadDynamicPlugins(runtime->getPluginRegistry(), options.system);
  return runtime;
}

LoadedEngine checkedEngine(std::unique_ptr<nvinfer1::IRuntime> runtime, nvinfer1::ICudaEngine* engine,
                           const std::string& origin, const Stopwatch& watch) {
  LoadedEngine loaded{std::move(runtime), std::unique_ptr<nvinfer1::ICudaEngine>(engine)};
  if (engine == nullptr) {
    throw Failure("{} is not an engine that this library can load; the messages above say why", origin);
  }
  info("Engine deserialized in {:.6g} sec.", watch.seconds());
  return loaded;
}

}  // namespace

LoadedEngine deserialize(const void* plan, size_t bytes, const std::string& origin, const Options& options) {
  std::unique_ptr<nvinfer1::IRuntime> runtime = makeRuntime(options);
  const Stopwatch watch;
  nvinfer1::ICudaEngine* engine = runtime->deserializeCudaEngine(plan, bytes);
  return checkedEngine(std::move(runtime), engine, origin, watch);
}

LoadedEngine loadEngine(const Options& options) {
  const std::string& path = options.build.loadEngine;
  const std::string origin = fmt::format("the file '{}'", path);
  if (options.build.asyncFileReader) {
    PlanReader reader(path);
    std::unique_ptr<nvinfer1::IRuntime> runtime = makeRuntime(options);
    const Stopwatch watch;
    nvinfer1::ICudaEngine* engine = runtime->deserializeCudaEngine(reader);
    return checkedEngine(std::move(runtime), engine, origin, watch);
  }
  const files::InputFile data = readPlan(path);
  info("Loaded engine with size: {:.6g} MiB", static_cast<double>(data.size()) / kMiB);
  return deserialize(data.data(), data.size(), origin, options);
}

void timeDeserialize(const void* plan, size_t bytes, const std::string& origin, const Options& options) {
  constexpr int32_t kRuns = 20;
  constexpr double kLongEnough = 5;
  std::unique_ptr<nvinfer1::IRuntime> runtime = makeRuntime(options);
  double first = 0;
  double total = 0;
  int32_t runs = 0;
  // The first run pays for what the library sets up once.
  for (; runs <= kRuns && total < kLongEnough; ++runs) {
    const Stopwatch watch;
    const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan, bytes));
    if (engine == nullptr) {
      throw Failure("{} is not an engine that this library can load; the messages above say why", origin);
    }
    (runs == 0 ? first : total) += watch.seconds();
  }
  info("First deserialization time = {:.6g} milliseconds.", first * 1000);
  if (runs > 1) {
    info("Deserialization time = {:.6g} milliseconds (average of {} more).", total * 1000 / (runs - 1), runs - 1);
  }
}

}  // namespace tenon::trtexec
