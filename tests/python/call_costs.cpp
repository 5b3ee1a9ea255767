// SPDX-License-Identifier: Apache-2.0
// What an execution costs when C++ asks for it: the measure for the same call from Python.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace {

class Quiet final : public nvinfer1::ILogger {
  void log(Severity, const char*) noexcept override {}
};

}  // namespace

// Seconds of one enqueueV3() of the engine, whose tensors have `floats` elements: the least mean of `rounds` times
// `calls`. Negative where the engine does not run.
extern "C" __attribute__((visibility("default"))) double secondsOfEnqueue(const void* plan, size_t bytes, int floats,
                                                                          int rounds, int calls) {
  Quiet logger;
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan, bytes));
  if (engine == nullptr) return -1;
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  cudaStream_t stream = nullptr;
  std::vector<void*> memory(static_cast<size_t>(engine->getNbIOTensors()));
  bool good = cudaStreamCreate(&stream) == cudaSuccess;
  for (size_t i = 0; i < memory.size(); ++i) {
    good &= cudaMalloc(&memory[i], static_cast<size_t>(floats) * sizeof(float)) == cudaSuccess;
    good &= context->setTensorAddress(engine->getIOTensorName(static_cast<int32_t>(i)), memory[i]);
  }
  double best = 1;
  for (int round = 0; good && round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) good &= context->enqueueV3(stream);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    good &= cudaStreamSynchronize(stream) == cudaSuccess;
    best = std::min(best, took.count() / calls);
  }
  for (void* part : memory) cudaFree(part);
  cudaStreamDestroy(stream);
  return good ? best : -1;
}
