// Objects of the library that live until the process ends: destroyed by static objects that began before or after the
// library was used, used by them, or used by other threads at that moment.
#include <NvInferPlugin.h>
#include <NvOnnxParser.h>

#include <chrono>
#include <string>
#include <thread>

#include "support.h"

namespace {

using namespace tenon::test;

class Creator final : public nv::IPluginCreatorV3One {
 public:
  nv::AsciiChar const* getPluginName() const noexcept override { return "life_test"; }
  nv::AsciiChar const* getPluginVersion() const noexcept override { return "1"; }
  nv::AsciiChar const* getPluginNamespace() const noexcept override { return ""; }
  nv::PluginFieldCollection const* getFieldNames() noexcept override { return &fields_; }
  nv::IPluginV3* createPlugin(nv::AsciiChar const*, nv::PluginFieldCollection const*,
                              nv::TensorRTPhase) noexcept override {
    return nullptr;
  }

 private:
  nv::PluginFieldCollection fields_{};
};

// One object of each kind.
struct Everything {
  explicit Everything(const std::string& model) {
    builder.reset(nv::createInferBuilder(log));
    require(builder != nullptr, "make a builder");
    parsed.reset(builder->createNetworkV2(0));
    parser.reset(nvonnxparser::createParser(*parsed, log));
    require(parser->parseFromFile(model.c_str(), 2), "parse");
    config.reset(builder->createBuilderConfig());
    cache.reset(config->createTimingCache(nullptr, 0));
    plan = network.build(*builder, 1, cache.get());
    require(plan != nullptr, "build");
    runtime.reset(nv::createInferRuntime(log));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    require(engine != nullptr, "load");
    context.reset(engine->createExecutionContext());
    inspector.reset(engine->createEngineInspector());
    require(cudaStreamCreate(&stream) == cudaSuccess, "make a stream");
    require(getPluginRegistry()->registerCreator(creator, ""), "register a creator");
    require(initLibNvInferPlugins(&log, ""), "register the standard plugins");
    run();
  }
  void run() { require(answersRight(network, *context), "right answers"); }

  void destroyMakersFirst() {
    runtime.reset();
    builder.reset();
    engine.reset();
    plan.reset();
    context.reset();
  }

  PrintingLog log;
  Creator creator;
  SmallNetwork network;
  std::unique_ptr<nv::IBuilder> builder;
  std::unique_ptr<nv::INetworkDefinition> parsed;
  std::unique_ptr<nvonnxparser::IParser> parser;
  std::unique_ptr<nv::IBuilderConfig> config;
  std::unique_ptr<nv::ITimingCache> cache;
  std::unique_ptr<nv::IHostMemory> plan;
  std::unique_ptr<nv::IRuntime> runtime;
  std::unique_ptr<nv::ICudaEngine> engine;
  std::unique_ptr<nv::IExecutionContext> context;
  std::unique_ptr<nv::IEngineInspector> inspector;
  cudaStream_t stream = nullptr;
};

enum class AtExit { kNothing, kDestroyMakersFirst, kUse };

// Begun before main, so that it ends after every static object that the library makes on the way.
struct Holder {
  ~Holder() {
    if (atExit == AtExit::kDestroyMakersFirst) everything->destroyMakersFirst();
    if (atExit == AtExit::kUse) use();
  }
  // Not executions: oneDNN's own static objects are gone by now.
  void use() const {
    const std::unique_ptr<nv::IHostMemory> plan(everything->engine->serialize());
    require(plan != nullptr && plan->size() == everything->plan->size(), "serialize");
    const char* const json = everything->inspector->getEngineInformation(nv::LayerInformationFormat::kJSON);
    require(json != nullptr && *json == '{', "inspect");
    const std::unique_ptr<nv::INetworkDefinition> network(everything->builder->createNetworkV2(0));
    const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, everything->log));
    require(parser->parseFromFile(model.c_str(), 2) && network->getNbLayers() > 10, "parse");
    require(getPluginRegistry()->deregisterCreator(everything->creator), "deregister a creator");
    std::puts("used at exit");
  }
  AtExit atExit = AtExit::kNothing;
  std::string model;
  std::unique_ptr<Everything> everything;
};
Holder holder;

// Other threads go on computing while the process ends.
void exitWhileBusy(const std::string& model) {
  auto* const everything = new Everything(model);
  for (int i = 0; i < 4; ++i) {
    std::thread([everything] {
      const std::unique_ptr<nv::IExecutionContext> context(everything->engine->createExecutionContext());
      while (true) (void)answersRight(everything->network, *context);
    }).detach();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 3, "two arguments: a case, a model");
  const std::string name = argv[1];
  holder.model = argv[2];
  if (name == "busy") exitWhileBusy(holder.model);
  holder.everything = std::make_unique<Everything>(holder.model);
  if (name == "reversed") holder.atExit = AtExit::kDestroyMakersFirst;
  if (name == "late") holder.atExit = AtExit::kUse;
  return 0;
}
