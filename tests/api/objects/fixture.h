// Builders, networks and engines through the public interface, and a log that keeps what was said.
#pragma once

#include <NvInfer.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace nv = nvinfer1;

class KeptLog final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    const std::lock_guard lock(mutex_);
    if (severity <= Severity::kERROR) errors.emplace_back(message);
    if (severity == Severity::kWARNING) warnings.emplace_back(message);
    if (severity == Severity::kINFO) notes.emplace_back(message);
    if (severity == Severity::kVERBOSE) details.emplace_back(message);
  }
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  std::vector<std::string> details;

 private:
  std::mutex mutex_;
};

// Inputs and outputs here are plain host memory, so everything runs on the CPU, whatever the machine has. And the
// library keeps the first logger of the process for the registry, so the first one here lives as long as the process.
inline const bool kProcessIsReady = [] {
  setenv("TENON_DEVICE", "cpu", 1);
  static auto* log = new KeptLog;
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(*log));
  return builder != nullptr;
}();

inline nv::Dims dims(const std::vector<int64_t>& extents) {
  nv::Dims result{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), result.d);
  return result;
}

inline std::vector<int64_t> extents(const nv::Dims& dims) {
  return dims.nbDims < 0 ? std::vector<int64_t>{-99} : std::vector<int64_t>(dims.d, dims.d + dims.nbDims);
}

class ObjectTest : public testing::Test {
 protected:
  void SetUp() override {
    builder.reset(nv::createInferBuilder(log));
    ASSERT_NE(builder, nullptr);
    network.reset(builder->createNetworkV2(0));
    config.reset(builder->createBuilderConfig());
    ASSERT_NE(network, nullptr);
    ASSERT_NE(config, nullptr);
    config->setBuilderOptimizationLevel(0);  // nothing is measured
  }
  void TearDown() override { EXPECT_EQ(log.errors, std::vector<std::string>{}); }

  void expectError(const std::string& part) {
    ASSERT_EQ(log.errors.size(), 1U) << fmt::format("{}", fmt::join(log.errors, "\n"));
    EXPECT_NE(log.errors[0].find(part), std::string::npos) << log.errors[0];
    log.errors.clear();
  }
  nv::ITensor& input(const char* name, const std::vector<int64_t>& shape, nv::DataType type = nv::DataType::kFLOAT) {
    return *network->addInput(name, type, dims(shape));
  }
  void output(nv::ITensor* tensor, const char* name) {
    tensor->setName(name);
    network->markOutput(*tensor);
  }
  // Builds the network and loads the plan.
  std::unique_ptr<nv::ICudaEngine> engine() {
    const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) return nullptr;
    runtime.reset(nv::createInferRuntime(log));
    return std::unique_ptr<nv::ICudaEngine>(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  }

  KeptLog log;
  std::unique_ptr<nv::IBuilder> builder;
  std::unique_ptr<nv::IBuilderConfig> config;
  std::unique_ptr<nv::INetworkDefinition> network;
  std::unique_ptr<nv::IRuntime> runtime;
};
