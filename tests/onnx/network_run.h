// From the bytes of a model to the numbers of an engine, for tests of what operators compute.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "network_bench.h"

namespace tenon::parsers::onnx {

using Reals = std::vector<float>;
using Ints = std::vector<int64_t>;

inline Reals randomReals(size_t count, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(low, high);
  Reals result(count);
  for (float& value : result) value = values(random);
  return result;
}

// A model's engine at level 0 and a context of it, with what `prepare(bench, config)` adds to the configuration. There
// is no context where something failed, which the test then says.
struct ModelRun {
  NetworkBench bench;
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
  std::unique_ptr<nvinfer1::IExecutionContext> context;

  template <typename Prepare>
  ModelRun(const ModelMaker& maker, Prepare prepare) {
    EXPECT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
    if (bench.parser->getNbErrors() > 0) return;
    const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
    config->setBuilderOptimizationLevel(0);
    prepare(bench, *config);
    const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
    EXPECT_NE(plan, nullptr) << bench.logger.text;
    if (plan == nullptr) return;
    runtime.reset(nvinfer1::createInferRuntime(bench.logger));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    EXPECT_NE(engine, nullptr) << bench.logger.text;
    if (engine != nullptr) context.reset(engine->createExecutionContext());
  }
};

// The outputs of a model with static shapes, by their order, as bytes of FLOAT or of INT32; inputs by their order.
template <typename Out = float>
std::vector<std::vector<Out>> runModel(const ModelMaker& maker, const std::vector<Reals>& inputs) {
  const ModelRun run(maker, [](auto&, auto&) {});
  if (run.context == nullptr) return {};
  const auto& engine = run.engine;
  std::vector<std::vector<Out>> outputs;
  outputs.reserve(static_cast<size_t>(engine->getNbIOTensors()));
  std::vector<void*> bindings;
  for (int32_t i = 0; i < engine->getNbIOTensors(); ++i) {
    const char* name = engine->getIOTensorName(i);
    if (engine->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT) {
      bindings.push_back(const_cast<float*>(inputs.at(static_cast<size_t>(i)).data()));
      continue;
    }
    const auto count = static_cast<size_t>(elementCount(toDimensions(engine->getTensorShape(name))));
    outputs.emplace_back(count, Out(-99));
    bindings.push_back(outputs.back().data());
  }
  EXPECT_TRUE(run.context->executeV2(bindings.data())) << run.bench.logger.text;
  return outputs;
}

inline void expectNear(const Reals& got, const std::vector<double>& expected, double tolerance = 1e-4) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "at " << i;
}

}  // namespace tenon::parsers::onnx
