// Models with If, Loop and Scan: their graphs, and their answers from the model's bytes to its numbers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "network_bench.h"

namespace tenon::parsers::onnx {

using Floats = std::vector<float>;
using Ints64 = std::vector<int64_t>;

constexpr int32_t kInt64 = 7, kBool = 9;

// Runs with `inputs` (addresses in the order of the model's inputs), one float output of the given size. Open extents
// of inputs are `extent`, of 1 to `most`.
inline Floats run(const ModelMaker& maker, const std::vector<const void*>& inputs, size_t size, int64_t extent = 0,
                  int64_t most = 16) {
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  nvinfer1::IOptimizationProfile* profile = bench.builder->createOptimizationProfile();
  bool isOpen = false;
  for (int i = 0; i < bench.network->getNbInputs(); ++i) {
    nvinfer1::Dims dims = bench.network->getInput(i)->getDimensions();
    for (int axis = 0; axis < dims.nbDims; ++axis) {
      if (dims.d[axis] != -1) continue;
      isOpen = true;
      for (const auto which : {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT,
                               nvinfer1::OptProfileSelector::kMAX}) {
        dims.d[axis] = which == nvinfer1::OptProfileSelector::kMIN ? 1 : most;
        profile->setDimensions(bench.network->getInput(i)->getName(), which, dims);
      }
    }
  }
  if (isOpen) config->addOptimizationProfile(profile);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
  EXPECT_NE(plan, nullptr) << bench.logger.text;
  if (plan == nullptr) return {};
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(bench.logger));
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  EXPECT_NE(engine, nullptr) << bench.logger.text;
  if (engine == nullptr) return {};
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  Floats y(size, -99);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const char* name = engine->getIOTensorName(static_cast<int32_t>(i));
    nvinfer1::Dims dims = engine->getTensorShape(name);
    for (int axis = 0; axis < dims.nbDims; ++axis) {
      if (dims.d[axis] == -1) dims.d[axis] = extent;
    }
    EXPECT_TRUE(context->setInputShape(name, dims));
    EXPECT_TRUE(context->setTensorAddress(name, const_cast<void*>(inputs[i])));
  }
  EXPECT_TRUE(context->setTensorAddress(engine->getIOTensorName(static_cast<int32_t>(inputs.size())), y.data()));
  EXPECT_TRUE(context->enqueueV3(nullptr)) << bench.logger.text;
  return y;
}

}  // namespace tenon::parsers::onnx
