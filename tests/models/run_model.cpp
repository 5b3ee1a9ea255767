// SPDX-License-Identifier: Apache-2.0
// A program as a user writes it: parses an ONNX file, builds one engine for all cases, serializes, loads, runs each
// case.
//
//   run_model LEVEL MODEL.onnx FOLDER [--case NAME SHAPE FILE [NAME SHAPE FILE ...]] ...
//
// FILEs hold raw float32. Each output becomes FOLDER/<case>.<output>.raw; a line `<case> <output> <name>` tells which
// it is. The profile reaches from the smallest to the greatest extents of the cases and is tuned for the first.
#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using nvinfer1::Dims;

class Log : public nvinfer1::ILogger {
  void log(Severity severity, char const* message) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", message);
  }
};

struct Input {
  Dims dims{};
  std::vector<char> bytes;
};
using Case = std::map<std::string, Input>;

[[noreturn]] void fail(std::string const& what) {
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::exit(1);
}

void check(cudaError_t error, char const* what) {
  if (error != cudaSuccess) fail(std::string(what) + ": " + cudaGetErrorString(error));
}

Input readInput(std::string const& shape, std::string const& path) {
  Input input;
  std::istringstream extents(shape);
  for (std::string extent; std::getline(extents, extent, 'x');) input.dims.d[input.dims.nbDims++] = std::stoll(extent);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path);
  input.bytes.assign(std::istreambuf_iterator<char>(file), {});
  return input;
}

std::vector<Case> readCases(std::vector<std::string> const& words) {
  std::vector<Case> cases;
  for (size_t i = 0; i < words.size();) {
    if (words[i] == "--case") {
      cases.emplace_back();
      ++i;
    } else if (i + 2 < words.size() && !cases.empty()) {
      cases.back().emplace(words[i], readInput(words[i + 1], words[i + 2]));
      i += 3;
    } else {
      fail("expected --case NAME SHAPE FILE ...");
    }
  }
  if (cases.empty()) fail("no case is given");
  return cases;
}

template <typename Choose>
Dims extreme(std::vector<Case> const& cases, std::string const& name, Choose choose) {
  Dims dims = cases[0].at(name).dims;
  for (auto const& each : cases) {
    for (int32_t i = 0; i < dims.nbDims; ++i) dims.d[i] = choose(dims.d[i], each.at(name).dims.d[i]);
  }
  return dims;
}

std::unique_ptr<nvinfer1::IHostMemory> buildPlan(Log& log, int level, std::string const& model,
                                                 std::vector<Case> const& cases) {
  std::unique_ptr<nvinfer1::IBuilder> builder{nvinfer1::createInferBuilder(log)};
  std::unique_ptr<nvinfer1::INetworkDefinition> network{builder->createNetworkV2(0)};
  std::unique_ptr<nvonnxparser::IParser> parser{nvonnxparser::createParser(*network, log)};
  if (!parser->parseFromFile(model.c_str(), 0)) fail("the model was not parsed");
  std::unique_ptr<nvinfer1::IBuilderConfig> config{builder->createBuilderConfig()};
  config->setBuilderOptimizationLevel(level);
  auto* profile = builder->createOptimizationProfile();
  for (auto const& [name, input] : cases[0]) {
    using Select = nvinfer1::OptProfileSelector;
    auto const least = [](auto a, auto b) { return std::min(a, b); };
    auto const greatest = [](auto a, auto b) { return std::max(a, b); };
    profile->setDimensions(name.c_str(), Select::kMIN, extreme(cases, name, least));
    profile->setDimensions(name.c_str(), Select::kOPT, input.dims);
    profile->setDimensions(name.c_str(), Select::kMAX, extreme(cases, name, greatest));
  }
  config->addOptimizationProfile(profile);
  std::unique_ptr<nvinfer1::IHostMemory> plan{builder->buildSerializedNetwork(*network, *config)};
  if (!plan) fail("no plan was built");
  return plan;
}

struct Release {
  void operator()(void* memory) const { cudaFree(memory); }
};
using Memory = std::unique_ptr<void, Release>;

Memory allocate(size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<size_t>(bytes, 1)), "cudaMalloc");
  return Memory{memory};
}

size_t byteCount(Dims const& dims) {
  size_t bytes = sizeof(float);
  for (int32_t i = 0; i < dims.nbDims; ++i) bytes *= static_cast<size_t>(dims.d[i]);
  return bytes;
}

void runCase(nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context, Case const& inputs,
             cudaStream_t stream, std::string const& prefix, size_t number) {
  std::vector<Memory> memory;
  for (auto const& [name, input] : inputs) {
    if (byteCount(input.dims) != input.bytes.size()) fail("input " + name + " has another size than its file");
    memory.push_back(allocate(input.bytes.size()));
    check(cudaMemcpyAsync(memory.back().get(), input.bytes.data(), input.bytes.size(), cudaMemcpyHostToDevice, stream),
          "copy");
    if (!context.setInputShape(name.c_str(), input.dims)) fail("setInputShape of " + name);
    if (!context.setTensorAddress(name.c_str(), memory.back().get())) fail("setTensorAddress of " + name);
  }
  struct Output {
    std::string name;
    void* device;
    std::vector<char> bytes;
  };
  std::vector<Output> outputs;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    char const* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) != nvinfer1::TensorIOMode::kOUTPUT) continue;
    if (engine.getTensorDataType(name) != nvinfer1::DataType::kFLOAT)
      fail(std::string("output ") + name + " is not float32");
    size_t const bytes = byteCount(context.getTensorShape(name));
    memory.push_back(allocate(bytes));
    outputs.push_back({name, memory.back().get(), std::vector<char>(bytes)});
    if (!context.setTensorAddress(name, memory.back().get())) fail(std::string("setTensorAddress of ") + name);
  }
  if (!context.enqueueV3(stream)) fail("enqueueV3");
  for (auto& output : outputs) {
    check(cudaMemcpyAsync(output.bytes.data(), output.device, output.bytes.size(), cudaMemcpyDeviceToHost, stream),
          "copy");
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::ofstream file(prefix + std::to_string(number) + "." + std::to_string(i) + ".raw", std::ios::binary);
    file.write(outputs[i].bytes.data(), static_cast<std::streamsize>(outputs[i].bytes.size()));
    if (!file.flush()) fail("cannot write the outputs");
    std::printf("%zu %zu %s\n", number, i, outputs[i].name.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) fail("usage: run_model LEVEL MODEL.onnx FOLDER --case NAME SHAPE FILE ...");
  auto const cases = readCases({argv + 4, argv + argc});
  Log log;
  auto plan = buildPlan(log, std::stoi(argv[1]), argv[2], cases);
  std::unique_ptr<nvinfer1::IRuntime> runtime{nvinfer1::createInferRuntime(log)};
  std::unique_ptr<nvinfer1::ICudaEngine> engine{runtime->deserializeCudaEngine(plan->data(), plan->size())};
  plan.reset();
  if (!engine) fail("the plan was not loaded");
  std::unique_ptr<nvinfer1::IExecutionContext> context{engine->createExecutionContext()};
  if (!context) fail("no context was made");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  // Forward and back again, so that every change of shapes happens both ways.
  for (size_t i = 0; i < cases.size(); ++i) runCase(*engine, *context, cases[i], stream, std::string(argv[3]) + "/", i);
  for (size_t i = cases.size(); i-- > 0;)
    runCase(*engine, *context, cases[i], stream, std::string(argv[3]) + "/again.", i);
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return 0;
}
