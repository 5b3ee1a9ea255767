// SPDX-License-Identifier: Apache-2.0
// Plugins in engines of the CUDA backend, on a GPU that the host emulates: its memory is the host's, so that plugins
// which compute on the host work there too, also within loops. On a GPU such plugins cannot run.
#include <NvInfer.h>
#include <NvInferRuntimePlugin.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace nvinfer1;

class Logger final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) std::printf("error: %s\n", message);
  }
};

Logger logger;
int failures = 0;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::printf("FAILED: %s\n", what.c_str());
  ++failures;
}

// x [n, c, 4, 3] -> |x| -> plugin -> -y. Weakly typed: what the plugin needs is put around it.
// With `times`, the plugin and the negation behind it are the body of a loop that runs so often.
std::unique_ptr<IHostMemory> build(const char* type, int64_t channels, float number, bool half, int32_t times) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  if (half) config->setFlag(BuilderFlag::kFP16);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{4, {-1, channels, 4, 3}});
  ITensor* absolute = network->addUnary(*x, UnaryOperation::kABS)->getOutput(0);
  ILoop* const loop = times > 0 ? network->addLoop() : nullptr;
  IRecurrenceLayer* state = nullptr;
  if (loop != nullptr) {
    ITensor* count = network->addConstant(Dims{0, {}}, Weights{DataType::kINT32, &times, 1})->getOutput(0);
    loop->addTripLimit(*count, TripLimit::kCOUNT);
    state = loop->addRecurrence(*absolute);
    absolute = state->getOutput(0);
  }
  IPluginRegistry& registry = *getPluginRegistry();
  ILayer* layer = nullptr;
  if (auto* creator = static_cast<IPluginCreatorV3One*>(registry.getCreator(type, "1", "test")); creator != nullptr) {
    const PluginField field("factor", &number, PluginFieldType::kFLOAT32, 1);
    const PluginFieldCollection fields{1, &field};
    const std::unique_ptr<IPluginV3> plugin(creator->createPlugin("made", &fields, TensorRTPhase::kBUILD));
    layer = network->addPluginV3(&absolute, 1, nullptr, 0, *plugin);
  } else {
    const PluginField field("amount", &number, PluginFieldType::kFLOAT32, 1);
    const PluginFieldCollection fields{1, &field};
    IPluginV2* plugin = static_cast<IPluginCreator*>(registry.getCreator(type, "2", ""))->createPlugin("made", &fields);
    layer = network->addPluginV2(&absolute, 1, *plugin);
    plugin->destroy();
  }
  if (layer == nullptr) return nullptr;
  ITensor* wide = network->addCast(*layer->getOutput(0), DataType::kFLOAT)->getOutput(0);
  ITensor* y = network->addUnary(*wide, UnaryOperation::kNEG)->getOutput(0);
  if (loop != nullptr) {
    state->setInput(1, *y);
    y = loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  }
  y->setName("y");
  network->markOutput(*y);
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, Dims{4, {1, channels, 4, 3}});
  profile->setDimensions("x", OptProfileSelector::kOPT, Dims{4, {2, channels, 4, 3}});
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims{4, {3, channels, 4, 3}});
  config->addOptimizationProfile(profile);
  return std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

template <typename Oracle>
void check(const char* type, int64_t channels, float number, Oracle oracle, bool half = false, int32_t times = 0) {
  const auto plan = build(type, channels, number, half, times);
  expect(plan != nullptr, std::string(type) + " is not built");
  if (plan == nullptr) return;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  expect(engine != nullptr, std::string(type) + " is not loaded");
  if (engine == nullptr) return;
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t n : {2, 3}) {
    std::vector<float> x(static_cast<size_t>(n * channels * 12));
    std::vector<float> y(x.size());
    context->setInputShape("x", Dims{4, {n, channels, 4, 3}});
    for (int round = 0; round < 4; ++round) {
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>((i * 7 + static_cast<size_t>(round) * 5) % 33) - 16;
      void* bindings[] = {x.data(), y.data()};
      expect(context->executeV2(bindings), std::string(type) + " does not run");
      size_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        float expected = std::abs(x[i]);
        for (int32_t k = 0; k < std::max(times, 1); ++k)
          expected = -oracle(expected, static_cast<int64_t>(i / 12) % channels);
        wrong += y[i] != expected ? 1 : 0;
      }
      expect(wrong == 0, std::string(type) + ", round " + std::to_string(round) + ": " + std::to_string(wrong) +
                             " of " + std::to_string(x.size()) + " elements are wrong");
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const std::unique_ptr<IRuntime> first(createInferRuntime(logger));
  if (getPluginRegistry()->loadLibrary(words[1]) == nullptr) return 2;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  expect(builder->platformHasFastFp16(), "no GPU is emulated");
  check("Scale", 2, 2.5F, [](float x, int64_t) { return 2.5F * x; });
  check(
      "Scale", 5, 0.25F, [](float x, int64_t) { return 0.25F * x; }, true);
  check("Vectors", 3, 0, [](float x, int64_t channel) { return x + static_cast<float>(channel); });
  check("OldDynamic", 1, 0.5F, [](float x, int64_t) { return x + 0.5F; });
  check(
      "Scale", 2, 0.5F, [](float x, int64_t) { return 0.5F * x; }, false, 5);
  check(
      "OldDynamic", 1, 0.5F, [](float x, int64_t) { return x + 0.5F; }, false, 4);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
