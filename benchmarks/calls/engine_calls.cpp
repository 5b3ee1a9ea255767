// An engine of static shapes behind plain C functions, which gpu_kinds.py calls through ctypes beside PyTorch.
//
// engineOpen gives null, the others false or -1, where something fails; what the library logs as an error goes to
// stderr.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace nv = nvinfer1;

namespace {

class Log final : public nv::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
} theLog;

// In the order in which one needs the other.
struct Opened {
  std::unique_ptr<nv::IRuntime> runtime;
  std::unique_ptr<nv::ICudaEngine> engine;
  std::unique_ptr<nv::IExecutionContext> context;
};

}  // namespace

extern "C" {

Opened* engineOpen(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> plan{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto opened = std::make_unique<Opened>();
  opened->runtime.reset(nv::createInferRuntime(theLog));
  if (opened->runtime == nullptr) return nullptr;
  opened->engine.reset(opened->runtime->deserializeCudaEngine(plan.data(), plan.size()));
  if (opened->engine == nullptr) return nullptr;
  opened->context.reset(opened->engine->createExecutionContext());
  return opened->context == nullptr ? nullptr : opened.release();
}

void engineClose(Opened* opened) { delete opened; }

int32_t engineTensorCount(const Opened* opened) { return opened->engine->getNbIOTensors(); }

const char* engineTensorName(const Opened* opened, int32_t index) { return opened->engine->getIOTensorName(index); }

// The type as the number of nvinfer1::DataType.
int32_t engineTensorType(const Opened* opened, const char* name) {
  return static_cast<int32_t>(opened->engine->getTensorDataType(name));
}

bool engineTensorIsInput(const Opened* opened, const char* name) {
  return opened->engine->getTensorIOMode(name) == nv::TensorIOMode::kINPUT;
}

// How many extents there are; they are written to `extents`, which has room for eight.
int32_t engineTensorShape(const Opened* opened, const char* name, int64_t* extents) {
  const nv::Dims shape = opened->context->getTensorShape(name);
  for (int32_t k = 0; k < shape.nbDims; ++k) extents[k] = shape.d[k];
  return shape.nbDims;
}

bool engineBind(Opened* opened, const char* name, void* address) {
  return opened->context->setTensorAddress(name, address);
}

bool engineRun(Opened* opened, void* stream) { return opened->context->enqueueV3(static_cast<cudaStream_t>(stream)); }

}  // extern "C"
