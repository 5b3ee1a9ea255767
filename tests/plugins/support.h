// SPDX-License-Identifier: Apache-2.0
// What the tests of plugins share: the library of plugins, networks around one of them, engines, runs.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/shared_memory.h"

namespace tenon::test {

namespace nv = nvinfer1;

class Log final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity > Severity::kERROR) return;
    const std::lock_guard lock(mutex_);
    errors_ += std::string(message) + "\n";
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(errors_, {});
  }

 private:
  std::mutex mutex_;
  std::string errors_;
};

// The library keeps the first logger of the process.
inline Log& log() {
  static auto* const kLog = [] {
    chooseTestDevice();
    return new Log;
  }();
  return *kLog;
}

// The library of this build, or another build of it.
inline const char* libraryFile() {
  const char* other = std::getenv("TENON_TEST_PLUGINS");
  return other != nullptr ? other : TENON_PLUGIN_LIBRARY;
}

inline const char* runnerFile() {
  const char* other = std::getenv("TENON_TEST_RUNNER");
  return other != nullptr ? other : TENON_PLUGIN_RUNNER;
}

// Registers the creators of the test library for as long as it lives.
class Library {
 public:
  Library() : handle_(getPluginRegistry()->loadLibrary(libraryFile())) { EXPECT_NE(handle_, nullptr); }
  ~Library() { getPluginRegistry()->deregisterLibrary(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  // Calls of older plugins since the last time.
  std::string calls() const { return reinterpret_cast<const char* (*)()>(dlsym(handle_, "takeCalls"))(); }
  // Objects of IPluginV3 that nobody deleted yet.
  int liveObjects() const { return reinterpret_cast<int (*)()>(dlsym(handle_, "liveObjects"))(); }

 private:
  void* handle_;
};

inline nv::Dims dims(std::initializer_list<int64_t> extents) {
  nv::Dims result{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), result.d);
  return result;
}
inline int64_t volume(const nv::Dims& d) {
  int64_t count = 1;
  for (int32_t i = 0; i < d.nbDims; ++i) count *= d.d[i];
  return count;
}

inline std::unique_ptr<nv::IPluginV3> make(const char* name, std::vector<nv::PluginField> fields = {}) {
  auto* creator = static_cast<nv::IPluginCreatorV3One*>(getPluginRegistry()->getCreator(name, "1", "test"));
  if (creator == nullptr) return nullptr;
  const nv::PluginFieldCollection collection{static_cast<int32_t>(fields.size()), fields.data()};
  return std::unique_ptr<nv::IPluginV3>(creator->createPlugin("made", &collection, nv::TensorRTPhase::kBUILD));
}

struct DestroyPlugin {
  void operator()(nv::IPluginV2* plugin) const { plugin->destroy(); }
};
inline std::unique_ptr<nv::IPluginV2, DestroyPlugin> makeOld(const char* name, float amount) {
  auto* creator = static_cast<nv::IPluginCreator*>(getPluginRegistry()->getCreator(name, "2", ""));
  if (creator == nullptr) return nullptr;
  const nv::PluginField field("amount", &amount, nv::PluginFieldType::kFLOAT32, 1);
  const nv::PluginFieldCollection collection{1, &field};
  return std::unique_ptr<nv::IPluginV2, DestroyPlugin>(creator->createPlugin("made", &collection));
}

// min, opt and max of an input.
struct Range {
  nv::Dims min, opt, max;
};

// Builds what `define` makes of a network; null, with the errors in log(), when that fails.
inline std::unique_ptr<nv::IHostMemory> build(const std::function<bool(nv::INetworkDefinition&)>& define,
                                              const std::map<std::string, Range>& ranges = {}, int level = 3,
                                              nv::NetworkDefinitionCreationFlags flags = 0,
                                              const nv::ITimingCache* cache = nullptr, bool mayAlias = false) {
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log()));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(flags));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  if (!define(*network)) return nullptr;
  config->setBuilderOptimizationLevel(level);
  config->setPreviewFeature(nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03, mayAlias);
  if (cache != nullptr) config->setTimingCache(*cache, false);
  if (!ranges.empty()) {
    auto* profile = builder->createOptimizationProfile();
    for (const auto& [name, range] : ranges) {
      profile->setDimensions(name.c_str(), nv::OptProfileSelector::kMIN, range.min);
      profile->setDimensions(name.c_str(), nv::OptProfileSelector::kOPT, range.opt);
      profile->setDimensions(name.c_str(), nv::OptProfileSelector::kMAX, range.max);
    }
    config->addOptimizationProfile(profile);
  }
  return std::unique_ptr<nv::IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

// One plugin between the input "x" and the outputs "y0", "y1", ...
inline bool around(nv::INetworkDefinition& network, nv::ILayer* (*add)(nv::INetworkDefinition&, nv::ITensor*, void*),
                   void* plugin, const nv::Dims& shape, nv::DataType type = nv::DataType::kFLOAT) {
  nv::ITensor* x = network.addInput("x", type, shape);
  nv::ILayer* layer = x != nullptr ? add(network, x, plugin) : nullptr;
  if (layer == nullptr) return false;
  layer->setName("the layer");
  for (int32_t i = 0; i < layer->getNbOutputs(); ++i) {
    layer->getOutput(i)->setName(("y" + std::to_string(i)).c_str());
    network.markOutput(*layer->getOutput(i));
  }
  return true;
}
inline bool aroundV3(nv::INetworkDefinition& network, nv::IPluginV3& plugin, const nv::Dims& shape,
                     nv::DataType type = nv::DataType::kFLOAT) {
  return around(
      network,
      [](nv::INetworkDefinition& n, nv::ITensor* x, void* p) -> nv::ILayer* {
        return n.addPluginV3(&x, 1, nullptr, 0, *static_cast<nv::IPluginV3*>(p));
      },
      &plugin, shape, type);
}
inline bool aroundV2(nv::INetworkDefinition& network, nv::IPluginV2& plugin, const nv::Dims& shape) {
  return around(
      network,
      [](nv::INetworkDefinition& n, nv::ITensor* x, void* p) -> nv::ILayer* {
        return n.addPluginV2(&x, 1, *static_cast<nv::IPluginV2*>(p));
      },
      &plugin, shape);
}

inline std::unique_ptr<nv::ICudaEngine> load(const nv::IHostMemory& plan) {
  static nv::IRuntime* const runtime = nv::createInferRuntime(log());
  return std::unique_ptr<nv::ICudaEngine>(runtime->deserializeCudaEngine(plan.data(), plan.size()));
}

struct Tensor {
  nv::Dims shape;
  std::vector<float> values;
};

// All tensors are FP32; every output with its values. Empty where a call failed.
inline std::map<std::string, Tensor> run(nv::ICudaEngine& engine, nv::IExecutionContext& context,
                                         std::map<std::string, Tensor> inputs) {
  std::map<std::string, Tensor> outputs;
  std::map<std::string, SharedVector<float>> memory;
  const auto place = [&](const std::string& name, size_t count) {
    auto& there = memory[name];
    there.assign(std::max<size_t>(count, 1), -99.0F);
    return context.setTensorAddress(name.c_str(), there.data());
  };
  for (auto& [name, tensor] : inputs) {
    if (!context.setInputShape(name.c_str(), tensor.shape)) return {};
    if (!place(name, tensor.values.size())) return {};
    std::copy(tensor.values.begin(), tensor.values.end(), memory[name].begin());
  }
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) != nv::TensorIOMode::kOUTPUT) continue;
    auto& output = outputs[name];
    output.shape = context.getTensorShape(name);
    if (!place(name, static_cast<size_t>(std::max<int64_t>(volume(output.shape), 0)))) return {};
  }
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const bool queued = context.enqueueV3(stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  for (auto& [name, output] : outputs) {
    const auto& there = memory[name];
    output.values.assign(there.begin(), there.begin() + volume(output.shape));
  }
  return queued ? outputs : std::map<std::string, Tensor>{};
}
inline std::map<std::string, Tensor> run(nv::ICudaEngine& engine, std::map<std::string, Tensor> inputs) {
  const std::unique_ptr<nv::IExecutionContext> context(engine.createExecutionContext());
  return context == nullptr ? std::map<std::string, Tensor>{} : run(engine, *context, std::move(inputs));
}

// What a command prints.
inline std::string outputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::array<char, 4096> buffer{};
  while (const size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), count);
  pclose(pipe);
  return text;
}

// Small multiples of 1/8, which half precision holds exactly.
inline Tensor eighths(const nv::Dims& shape, int seed = 1) {
  Tensor result{shape, std::vector<float>(static_cast<size_t>(volume(shape)))};
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761U + 1;
  for (float& value : result.values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 24) - 128.0F) / 8.0F;
  }
  return result;
}

}  // namespace tenon::test
