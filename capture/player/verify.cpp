// Runs two engines side by side.
#include "player/verify.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "common/bin_format.h"
#include "player/capture_file.h"

namespace tenon::capture {
namespace {

constexpr double kRelative = 1e-2;  // of the largest value: reduced precision may round differently
constexpr double kAbsolute = 1e-5;

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw CaptureError(fmt::format("--verify: {}: {}", what, cudaGetErrorString(status)));
  }
}

int64_t volume(const nvinfer1::Dims& dims) {
  int64_t result = 1;
  for (int i = 0; i < dims.nbDims; ++i) {
    result *= dims.d[i];
  }
  return result;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size) { check(cudaMalloc(&address_, size > 0 ? size : 1), "cudaMalloc"); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { cudaFree(address_); }
  void* get() const { return address_; }

 private:
  void* address_ = nullptr;
};

// Memory of an output, whose size only the run tells.
class Output final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    try {
      memory = std::make_unique<DeviceMemory>(size);
      return memory->get();
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape = dims; }
  std::unique_ptr<DeviceMemory> memory;
  nvinfer1::Dims shape{0, {}};
};

std::vector<char> randomInput(nvinfer1::DataType type, int64_t count, std::mt19937_64& engine) {
  std::vector<char> bytes(bytesOf(type, count));
  std::uniform_real_distribution<float> values(-1, 1);
  for (int64_t i = 0; i < count; ++i) {
    const float value = values(engine);
    const size_t at = static_cast<size_t>(i) * static_cast<size_t>(bitsOf(type)) / 8;
    if (type == nvinfer1::DataType::kFLOAT) {
      std::memcpy(&bytes[at], &value, sizeof value);
    } else if (bitsOf(type) == 16) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      const bool isHalf = type == nvinfer1::DataType::kHALF;
      const auto half =
          static_cast<uint16_t>(isHalf ? ((bits >> 16) & 0x8000U) | (12U << 10) | (bits & 0x3ffU) : bits >> 16);
      std::memcpy(&bytes[at], &half, sizeof half);
    } else {
      bytes[at] = value > 0 ? 1 : 0;
    }
  }
  return bytes;
}

// An element as a number; nothing for types whose bytes are compared instead.
bool asNumber(nvinfer1::DataType type, const char* bytes, double& value) {
  if (type == nvinfer1::DataType::kFLOAT) {
    float number = 0;
    std::memcpy(&number, bytes, sizeof number);
    value = number;
    return true;
  }
  if (type == nvinfer1::DataType::kHALF || type == nvinfer1::DataType::kBF16) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    const bool isHalf = type == nvinfer1::DataType::kHALF;
    const int exponent = isHalf ? (bits >> 10) & 31 : (bits >> 7) & 255;
    const double fraction = isHalf ? (bits & 0x3ff) / 1024.0 : (bits & 0x7f) / 128.0;
    const int bias = isHalf ? 15 : 127;
    const int last = isHalf ? 31 : 255;
    const double size =
        exponent == last ? (fraction > 0 ? NAN : INFINITY)
                         : std::ldexp(exponent == 0 ? fraction : 1 + fraction, (exponent == 0 ? 1 : exponent) - bias);
    value = (bits & 0x8000) != 0 ? -size : size;
    return true;
  }
  return false;
}

struct Result {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::Dims shape{0, {}};
  std::vector<char> bytes;
};

class Run {
 public:
  Run(nvinfer1::ILogger& logger, const std::string& file)
      : file_(file), runtime_(nvinfer1::createInferRuntime(logger)) {
    const files::InputFile bytes = openFile(file, "engine for --verify");
    engine_.reset(runtime_ != nullptr ? runtime_->deserializeCudaEngine(bytes.data(), bytes.size()) : nullptr);
    context_.reset(engine_ != nullptr ? engine_->createExecutionContext() : nullptr);
    if (context_ == nullptr) {
      throw CaptureError(fmt::format("--verify: the engine '{}' cannot be run", file));
    }
  }

  std::map<std::string, Result> operator()(uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::map<std::string, std::unique_ptr<Output>> outputs;
    std::vector<std::unique_ptr<DeviceMemory>> inputs;
    std::vector<std::vector<char>> hostInputs;
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      if (engine_->getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT) {
        setInput(name, engine, inputs, hostInputs);
      } else {
        outputs[name] = std::make_unique<Output>();
        context_->setOutputAllocator(name, outputs[name].get());
      }
    }
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    const bool ran = context_->enqueueV3(stream);
    const cudaError_t status = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    if (!ran || status != cudaSuccess) {
      throw CaptureError(fmt::format("--verify: the engine '{}' does not run", file_));
    }
    return results(outputs);
  }

 private:
  void setInput(const char* name, std::mt19937_64& engine, std::vector<std::unique_ptr<DeviceMemory>>& inputs,
                std::vector<std::vector<char>>& hostInputs) {
    nvinfer1::Dims shape = engine_->getTensorShape(name);
    if (engine_->getTensorLocation(name) == nvinfer1::TensorLocation::kHOST) {
      const int64_t* values = engine_->getProfileTensorValuesV2(name, 0, nvinfer1::OptProfileSelector::kOPT);
      const size_t bits = static_cast<size_t>(bitsOf(engine_->getTensorDataType(name)));
      std::vector<char>& bytes = hostInputs.emplace_back(static_cast<size_t>(volume(shape)) * bits / 8);
      for (int64_t i = 0; values != nullptr && i < volume(shape); ++i) {
        std::memcpy(&bytes[static_cast<size_t>(i) * bits / 8], &values[i], bits / 8);  // little endian
      }
      context_->setTensorAddress(name, bytes.data());
      return;
    }
    if (volume(shape) < 0 || std::find(shape.d, shape.d + shape.nbDims, -1) != shape.d + shape.nbDims) {
      shape = engine_->getProfileShape(name, 0, nvinfer1::OptProfileSelector::kOPT);
    }
    context_->setInputShape(name, shape);
    const std::vector<char> bytes = randomInput(engine_->getTensorDataType(name), volume(shape), engine);
    inputs.push_back(std::make_unique<DeviceMemory>(bytes.size()));
    check(cudaMemcpy(inputs.back()->get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    context_->setTensorAddress(name, inputs.back()->get());
  }

  std::map<std::string, Result> results(const std::map<std::string, std::unique_ptr<Output>>& outputs) {
    std::map<std::string, Result> found;
    for (const auto& [name, output] : outputs) {
      Result& result = found[name];
      result.type = engine_->getTensorDataType(name.c_str());
      result.shape = output->shape;
      result.bytes.resize(bytesOf(result.type, volume(output->shape)));
      if (output->memory != nullptr) {
        check(cudaMemcpy(result.bytes.data(), output->memory->get(), result.bytes.size(), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
      }
    }
    return found;
  }

  std::string file_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

// Empty when both agree, otherwise how they do not.
std::string difference(const Result& one, const Result& other) {
  if (one.type != other.type || one.bytes.size() != other.bytes.size()) {
    return fmt::format("{} bytes against {}", one.bytes.size(), other.bytes.size());
  }
  const size_t step = static_cast<size_t>(bitsOf(one.type)) / 8;
  double largest = 0;
  double worst = 0;
  for (size_t at = 0; step > 0 && at + step <= one.bytes.size(); at += step) {
    double a = 0;
    double b = 0;
    if (!asNumber(one.type, &one.bytes[at], a) || !asNumber(other.type, &other.bytes[at], b)) {
      return one.bytes == other.bytes ? std::string() : "other values";
    }
    if (std::isfinite(a) != std::isfinite(b)) {
      return fmt::format("{} against {}", a, b);
    }
    if (std::isfinite(a)) {
      largest = std::max(largest, std::abs(b));
      worst = std::max(worst, std::abs(a - b));
    }
  }
  return worst <= kAbsolute + kRelative * largest
             ? std::string()
             : fmt::format("differs by up to {:.3g} where values reach {:.3g}", worst, largest);
}

}  // namespace

Verification verifyEngines(nvinfer1::ILogger& logger, const std::string& rebuilt, const std::string& reference,
                           uint64_t seed) {
  const std::map<std::string, Result> mine = Run(logger, rebuilt)(seed);
  const std::map<std::string, Result> theirs = Run(logger, reference)(seed);
  for (const auto& [name, result] : theirs) {
    const auto found = mine.find(name);
    const std::string text = found == mine.end() ? "is missing" : difference(found->second, result);
    if (!text.empty()) {
      return {false, fmt::format("tensor '{}' {}", name, text)};
    }
  }
  return {true, fmt::format("{} outputs agree with '{}'", theirs.size(), reference)};
}

}  // namespace tenon::capture
