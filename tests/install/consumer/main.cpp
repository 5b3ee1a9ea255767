// SPDX-License-Identifier: Apache-2.0
// A whole program against an installed Tenon: parses a model, builds, saves to memory, loads and reads one picture.
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

class Log : public nvinfer1::ILogger {
  void log(Severity severity, char const* message) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", message);
  }
};

int fail(char const* what) {
  std::fprintf(stderr, "failed: %s\n", what);
  return 1;
}

std::vector<float> readPicture(char const* path) {
  std::ifstream file(path, std::ios::binary);
  std::string const bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> values;
  if (bytes.size() < 784) return values;
  for (char byte : bytes.substr(bytes.size() - 784)) values.push_back(static_cast<unsigned char>(byte) / 255.0F);
  return values;
}

std::unique_ptr<nvinfer1::IHostMemory> buildPlan(Log& log, char const* model) {
  std::unique_ptr<nvinfer1::IBuilder> builder{nvinfer1::createInferBuilder(log)};
  if (!builder) return nullptr;
  std::unique_ptr<nvinfer1::INetworkDefinition> network{builder->createNetworkV2(0)};
  std::unique_ptr<nvonnxparser::IParser> parser{nvonnxparser::createParser(*network, log)};
  if (!parser || !parser->parseFromFile(model, 0)) return nullptr;
  std::unique_ptr<nvinfer1::IBuilderConfig> config{builder->createBuilderConfig()};
  nvinfer1::IOptimizationProfile* profile = builder->createOptimizationProfile();
  nvinfer1::Dims4 const one{1, 1, 28, 28};
  for (auto select :
       {nvinfer1::OptProfileSelector::kMIN, nvinfer1::OptProfileSelector::kOPT, nvinfer1::OptProfileSelector::kMAX})
    profile->setDimensions("input", select, one);
  config->addOptimizationProfile(profile);
  return std::unique_ptr<nvinfer1::IHostMemory>{builder->buildSerializedNetwork(*network, *config)};
}

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: consumer MODEL.onnx PICTURE.pgm");
  Log log;
  auto plan = buildPlan(log, argv[1]);
  if (!plan) return fail("no plan was built");
  std::vector<float> const picture = readPicture(argv[2]);
  if (picture.empty()) return fail("the picture could not be read");

  std::unique_ptr<nvinfer1::IRuntime> runtime{nvinfer1::createInferRuntime(log)};
  std::unique_ptr<nvinfer1::ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
  if (!engine) return fail("the plan could not be loaded");
  std::unique_ptr<nvinfer1::IExecutionContext> context{engine->createExecutionContext()};

  void *input = nullptr, *output = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<float> scores(10);
  if (cudaStreamCreate(&stream) || cudaMalloc(&input, 784 * 4) || cudaMalloc(&output, 10 * 4))
    return fail("the CUDA runtime gave no stream or no memory");
  context->setInputShape("input", nvinfer1::Dims4{1, 1, 28, 28});
  context->setTensorAddress("input", input);
  context->setTensorAddress("probabilities", output);
  cudaMemcpyAsync(input, picture.data(), 784 * 4, cudaMemcpyHostToDevice, stream);
  if (!context->enqueueV3(stream)) return fail("enqueueV3");
  cudaMemcpyAsync(scores.data(), output, 10 * 4, cudaMemcpyDeviceToHost, stream);
  if (cudaStreamSynchronize(stream)) return fail("the stream ended with an error");
  auto const best = std::max_element(scores.begin(), scores.end());
  std::printf("this is a %d, probability %.2f %%\n", static_cast<int>(best - scores.begin()), *best * 100);
  cudaFree(input);
  cudaFree(output);
  cudaStreamDestroy(stream);
  return 0;
}
