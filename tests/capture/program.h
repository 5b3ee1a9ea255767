// What the scenes of the captured program share: builder, inputs, weights, building, writing.
#pragma once

#include <NvInfer.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace scenes {

using namespace nvinfer1;

class Logger final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) {
      std::fprintf(stderr, "[program] %s\n", message);
    }
  }
};

inline Logger& logger() {
  static Logger value;
  return value;
}

// Weights with memory of their own, alive until the scene is over.
class Store {
 public:
  explicit Store(uint32_t seed = 7) : engine_(seed) {}

  Weights floats(int64_t count, float low = -0.5F, float high = 0.5F) {
    std::uniform_real_distribution<float> values(low, high);
    auto& kept = floats_.emplace_back(std::make_unique<std::vector<float>>(static_cast<size_t>(count)));
    for (float& value : *kept) {
      value = values(engine_);
    }
    return {DataType::kFLOAT, kept->data(), count};
  }

  template <typename T>
  Weights of(DataType type, std::vector<T> values) {
    auto& kept = bytes_.emplace_back(std::make_unique<std::vector<char>>(values.size() * sizeof(T)));
    std::copy_n(reinterpret_cast<const char*>(values.data()), kept->size(), kept->data());
    return {type, kept->data(), static_cast<int64_t>(values.size())};
  }

 private:
  std::mt19937 engine_;
  std::vector<std::unique_ptr<std::vector<float>>> floats_;
  std::vector<std::unique_ptr<std::vector<char>>> bytes_;
};

inline ITensor* constant(INetworkDefinition& network, Store& store, Dims dims, std::vector<int32_t> values) {
  return network.addConstant(dims, store.of(DataType::kINT32, std::move(values)))->getOutput(0);
}

// A chain of matrix products, told apart by its seed.
inline std::unique_ptr<INetworkDefinition> chain(IBuilder& builder, Store& store, int64_t width, int depth) {
  std::unique_ptr<INetworkDefinition> network(builder.createNetworkV2(0));
  ITensor* at = network->addInput("x", DataType::kFLOAT, Dims{2, {4, width}});
  for (int i = 0; i < depth; ++i) {
    auto* weights = network->addConstant(Dims{2, {width, width}}, store.floats(width * width));
    auto* product =
        network->addMatrixMultiply(*at, MatrixOperation::kNONE, *weights->getOutput(0), MatrixOperation::kNONE);
    at = network->addActivation(*product->getOutput(0), ActivationType::kRELU)->getOutput(0);
  }
  at->setName("y");
  network->markOutput(*at);
  return network;
}

// A monitor that stops the build after so many steps; never with -1.
class Stopper final : public IProgressMonitor {
 public:
  explicit Stopper(int stopAt) : stopAt_(stopAt) {}
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char*, int32_t) noexcept override { return ++steps_ != stopAt_; }
  void phaseFinish(const char*) noexcept override {}

 private:
  int stopAt_;
  int steps_ = 0;
};

inline void write(const std::string& file, const IHostMemory& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// Builds at level 0, which measures nothing and so gives the same bytes each time. Writes <prefix><number> when that
// works. Returns whether it did.
inline bool build(IBuilder& builder, INetworkDefinition& network, const std::string& file,
                  IProgressMonitor* monitor = nullptr) {
  std::unique_ptr<IBuilderConfig> config(builder.createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  config->setProgressMonitor(monitor);
  std::unique_ptr<IHostMemory> engine(builder.buildSerializedNetwork(network, *config));
  if (engine == nullptr) {
    return false;
  }
  write(file, *engine);
  return true;
}

// The scenes; each returns the exit code of the program. `prefix` is where engines go.
int everyLayer(const std::string& prefix);
int interleaved(const std::string& prefix);
int threads(const std::string& prefix);
int failure(const std::string& prefix);
int users(const std::string& prefix);
int profiles(const std::string& prefix);
int streams(const std::string& prefix);
int plugins(const std::string& prefix);        // of the library that TENON_CAPTURE_PLUGINS names
int pluginRefused(const std::string& prefix);  // the same library; gives up where the layer is not made
int answers(const std::string& prefix);
int slowStreams(const std::string& prefix);
int measured(const std::string& prefix);
int killed(const std::string& prefix);
int killedInside(const std::string& prefix);
int killedLater(const std::string& prefix);
int busy(const std::string& prefix);
int large(const std::string& prefix);
int controlFlow(const std::string& prefix);

}  // namespace scenes
