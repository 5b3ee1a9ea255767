// SPDX-License-Identifier: Apache-2.0
// Another process: loads a plan, with or without the library of its plugins, and prints what its first output holds.
//   plugin_runner PLAN LIBRARY|-|+ EXTENT...
// With + the plan may bring its libraries along. The extents are those of the first input, which holds 0, 1, 2, ...
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "support/shared_memory.h"

namespace {

using namespace nvinfer1;

class Logger final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) std::printf("error: %s\n", message);
  }
};

int64_t volume(const Dims& dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) count *= dims.d[i];
  return count;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  tenon::test::chooseTestDevice();
  Logger logger;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  const bool bringsLibrary = std::strcmp(words[2], "+") == 0;
  runtime->setEngineHostCodeAllowed(bringsLibrary);
  if (!bringsLibrary && std::strcmp(words[2], "-") != 0 &&
      runtime->getPluginRegistry().loadLibrary(words[2]) == nullptr)
    return 2;
  std::ifstream file(words[1], std::ios::binary);
  const std::string plan{std::istreambuf_iterator<char>(file), {}};
  const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  if (engine == nullptr) return 1;
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  if (context == nullptr) return 1;
  Dims dims{count - 3, {}};
  for (int i = 3; i < count; ++i) dims.d[i - 3] = std::atol(words[i]);
  const char* input = engine->getIOTensorName(0);
  const char* output = engine->getIOTensorName(engine->getNbIOTensors() - 1);
  if (!context->setInputShape(input, dims)) return 1;
  tenon::test::SharedVector<float> x(static_cast<size_t>(volume(dims)));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  tenon::test::SharedVector<float> y(static_cast<size_t>(volume(context->getTensorShape(output))));
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 1;
  const bool done = context->setTensorAddress(input, x.data()) && context->setTensorAddress(output, y.data()) &&
                    context->enqueueV3(stream) && cudaStreamSynchronize(stream) == cudaSuccess;
  if (!done || cudaStreamDestroy(stream) != cudaSuccess) return 1;
  for (const float value : y) std::printf("%.9g\n", static_cast<double>(value));
  return 0;
}
