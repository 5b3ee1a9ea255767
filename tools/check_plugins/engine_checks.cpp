// SPDX-License-Identifier: Apache-2.0
// Engines with the plugin alone: built, loaded and run between guards, on two threads, twice.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <barrier>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "checks.h"

namespace tenon::check {
namespace {

constexpr size_t kGuard = 4096;
constexpr char kPattern = '\x5c';

void expectCuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw Skipped(fmt::format("{}: {}", call, cudaGetErrorString(status)));
}

size_t bytesOf(nv::DataType type) {
  switch (type) {
    case nv::DataType::kFLOAT:
    case nv::DataType::kINT32: return 4;
    case nv::DataType::kHALF:
    case nv::DataType::kBF16: return 2;
    case nv::DataType::kINT64: return 8;
    default: return 1;
  }
}

// Memory of the device with a guard before and behind it.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    expectCuda(cudaMalloc(&memory_, bytes + 2 * kGuard), "cudaMalloc");
    const std::vector<char> pattern(bytes + 2 * kGuard, kPattern);
    expectCuda(cudaMemcpy(memory_, pattern.data(), pattern.size(), cudaMemcpyDefault), "cudaMemcpy");
  }
  ~Guarded() { cudaFree(memory_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  void* data() const { return static_cast<char*>(memory_) + kGuard; }
  void write(const std::string& bytes) {
    expectCuda(cudaMemcpy(data(), bytes.data(), bytes.size(), cudaMemcpyDefault), "cudaMemcpy");
  }
  void fill(char byte) { write(std::string(bytes_, byte)); }
  std::string read(const std::string& what) const {
    std::string all(bytes_ + 2 * kGuard, '\0');
    expectCuda(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDefault), "cudaMemcpy");
    const std::string guard(kGuard, kPattern);
    if (all.compare(0, kGuard, guard) != 0) throw Wrong(fmt::format("enqueue() writes before the memory of {}", what));
    if (all.compare(kGuard + bytes_, kGuard, guard) != 0)
      throw Wrong(fmt::format("enqueue() writes behind the {} bytes of {}", bytes_, what));
    return all.substr(kGuard, bytes_);
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_;
};

// Numbers that every type holds: 0 to 3, in halves where the type has them.
std::string contents(const Operand& operand, uint32_t seed) {
  const auto count = static_cast<size_t>(volume(operand.dims));
  std::string bytes(count * bytesOf(operand.type), '\0');
  uint32_t state = seed * 2654435761U + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const uint32_t number = state >> 29U;  // 0 to 7
    char* const at = bytes.data() + i * bytesOf(operand.type);
    switch (operand.type) {
      case nv::DataType::kFLOAT: {
        const float value = static_cast<float>(number) / 2;
        std::memcpy(at, &value, sizeof value);
        break;
      }
      case nv::DataType::kHALF:
      case nv::DataType::kBF16: {
        const uint16_t one = operand.type == nv::DataType::kHALF ? 0x3c00 : 0x3f80;
        const uint16_t value = number < 4 ? 0 : one;
        std::memcpy(at, &value, sizeof value);
        break;
      }
      default:
        *at = static_cast<char>(operand.type == nv::DataType::kBOOL ? number & 1U : number & 3U);  // little endian
    }
  }
  return bytes;
}

using Bytes = std::map<std::string, std::string>;

struct Loaded {
  std::unique_ptr<nv::IRuntime> runtime;
  std::unique_ptr<nv::ICudaEngine> engine;
};

Loaded load(const nv::IHostMemory& plan) {
  Loaded loaded;
  loaded.runtime.reset(nv::createInferRuntime(lastError()));
  loaded.engine.reset(loaded.runtime->deserializeCudaEngine(plan.data(), plan.size()));
  if (loaded.engine == nullptr) throw Wrong("an engine with it cannot be loaded: " + lastError().take());
  return loaded;
}

std::unique_ptr<nv::IHostMemory> planOf(Creator& creator, const Request& request) {
  const auto plugin = makeOrFail(creator, request.fields);
  auto layer = layerOf(*plugin, request);
  for (int32_t i = 0; i < layer.layer->getNbOutputs(); ++i) {
    layer.layer->getOutput(i)->setName(fmt::format("output {}", i).c_str());
    layer.network->markOutput(*layer.layer->getOutput(i));
  }
  const std::unique_ptr<nv::IBuilderConfig> config(layer.builder->createBuilderConfig());
  config->setPreviewFeature(nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  std::unique_ptr<nv::IHostMemory> plan(layer.builder->buildSerializedNetwork(*layer.network, *config));
  if (plan == nullptr) throw Wrong("no engine can be built with it: " + lastError().take());
  return plan;
}

// One context with memory of its own. The outputs of a run, which must stay within their memory and leave inputs alone.
class Runner {
 public:
  Runner(nv::ICudaEngine& engine, const Request& request)
      : request_(request), context_(engine.createExecutionContext()) {
    if (context_ == nullptr) throw Wrong("no context of the engine can be made: " + lastError().take());
    // Apart from the default stream, by which the contents are copied: two contexts shall run at once.
    expectCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const std::string name = engine.getIOTensorName(i);
      const auto bytes = static_cast<size_t>(volume(engine.getTensorShape(name.c_str()))) *
                         bytesOf(engine.getTensorDataType(name.c_str()));
      auto& memory = memory_[name];
      memory = std::make_unique<Guarded>(bytes);
      if (!context_->setTensorAddress(name.c_str(), memory->data()))
        throw Wrong("an address is refused: " + lastError().take());
      if (engine.getTensorIOMode(name.c_str()) == nv::TensorIOMode::kOUTPUT) outputs_.push_back(name);
    }
  }
  ~Runner() { cudaStreamDestroy(stream_); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Bytes run(uint32_t seed) {
    Bytes given;
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      const std::string name = fmt::format("input {}", i);
      given[name] = contents(request_.inputs[i], seed + static_cast<uint32_t>(i));
      memory_.at(name)->write(given[name]);
    }
    // What is not written keeps another byte in each run.
    for (const auto& name : outputs_) memory_.at(name)->fill(static_cast<char>(++runs_));
    if (!context_->enqueueV3(stream_)) throw Wrong("the engine does not run: " + lastError().take());
    if (const auto status = cudaStreamSynchronize(stream_); status != cudaSuccess)
      throw Wrong(fmt::format("the stream reports '{}' after enqueue()", cudaGetErrorString(status)));
    for (const auto& [name, bytes] : given) {
      if (memory_.at(name)->read(name) != bytes) throw Wrong(fmt::format("enqueue() changes {}", name));
    }
    Bytes found;
    for (const auto& name : outputs_) found[name] = memory_.at(name)->read(name);
    return found;
  }

 private:
  const Request& request_;
  std::unique_ptr<nv::IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
  std::map<std::string, std::unique_ptr<Guarded>> memory_;
  std::vector<std::string> outputs_;
  int runs_ = 0;
};

void expectSame(const Bytes& found, const Bytes& expected, const std::string& what) {
  for (const auto& [name, bytes] : expected) {
    const auto& other = found.at(name);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != other[i]) throw Wrong(fmt::format("byte {} of {} differs {}", i, name, what));
    }
  }
}

void checkRuns(Creator& creator, const Request& request) {
  const auto plan = planOf(creator, request);
  const auto loaded = load(*plan);
  Runner runner(*loaded.engine, request);
  const auto first = runner.run(1);
  runner.run(2);
  expectSame(runner.run(1), first,
             "in a second run of the same inputs: does it write every element, and depend on its inputs alone?");
  const auto again = load(*plan);
  expectSame(Runner(*again.engine, request).run(1), first, "in the engine that is loaded once more");
  const std::unique_ptr<nv::IHostMemory> saved(loaded.engine->serialize());
  if (saved == nullptr) throw Wrong("the engine cannot be saved again: " + lastError().take());
}

void checkThreads(Creator& creator, const Request& request) {
  const auto plan = planOf(creator, request);
  const auto loaded = load(*plan);
  constexpr uint32_t kRuns = 32;
  std::vector<Bytes> expected;
  {
    Runner alone(*loaded.engine, request);
    for (uint32_t i = 0; i < 2 * kRuns; ++i) expected.push_back(alone.run(i));
  }
  Runner runners[2] = {{*loaded.engine, request}, {*loaded.engine, request}};
  std::string texts[2];
  std::barrier together(2);  // every run of one begins with a run of the other
  const auto work = [&](uint32_t number) {
    for (uint32_t i = 0; i < kRuns; ++i) {
      together.arrive_and_wait();
      if (!texts[number].empty()) continue;
      const uint32_t seed = number * kRuns + i;
      try {
        expectSame(runners[number].run(seed), expected[seed],
                   "where two contexts run on two threads: do they share memory?");
      } catch (const std::exception& error) {
        texts[number] = error.what();
      }
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (const auto& text : texts) {
    if (!text.empty()) throw Wrong(text);
  }
}

}  // namespace

void LastError::log(Severity severity, const char* message) noexcept {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (severity > Severity::kERROR) return;
  try {
    text_ = message;
  } catch (const std::exception&) {
    text_.clear();
  }
}

std::string LastError::take() { return text_.empty() ? "the library does not say why" : std::exchange(text_, {}); }

LastError& lastError() {
  static LastError logger;
  return logger;
}

Layer layerOf(Plugin& plugin, const Request& request) {
  Layer result;
  result.builder.reset(nv::createInferBuilder(lastError()));
  // Strongly typed, so that the plugin gets the types of the request, and no others.
  result.network.reset(
      result.builder->createNetworkV2(1U << static_cast<uint32_t>(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  std::vector<nv::ITensor*> inputs;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    auto* tensor =
        result.network->addInput(fmt::format("input {}", i).c_str(), request.inputs[i].type, request.inputs[i].dims);
    if (tensor == nullptr) throw Skipped("the input is refused: " + lastError().take());
    inputs.push_back(tensor);
  }
  result.layer = plugin.addTo(*result.network, inputs);
  if (result.layer == nullptr) throw Wrong("a network refuses it: " + lastError().take());
  result.layer->setName("the plugin");
  const auto add = [&](const nv::ITensor& tensor) {
    nv::DynamicPluginTensorDesc desc{};
    desc.desc.dims = desc.min = desc.opt = desc.max = tensor.getDimensions();
    desc.desc.type = tensor.getType();
    desc.desc.format = nv::TensorFormat::kLINEAR;
    if (desc.desc.dims.nbDims < 0)
      throw Wrong("types and shapes of its outputs are not to be had: " + lastError().take());
    result.operands.push_back(desc);
  };
  for (const auto* tensor : inputs) add(*tensor);
  for (int32_t i = 0; i < result.layer->getNbOutputs(); ++i) add(*result.layer->getOutput(i));
  return result;
}

std::vector<Check> engineChecks(Creator& creator, const Request& request) {
  return {{"an engine of it, saved, loaded, run", [&] { checkRuns(creator, request); }},
          {"two contexts on two threads", [&] { checkThreads(creator, request); }}};
}

}  // namespace tenon::check
