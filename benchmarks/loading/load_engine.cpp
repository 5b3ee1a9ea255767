// What it takes to load an engine, through the public interface, in a process that has done nothing before.
//
//   load_engine PLAN
//
// Prints `name value` lines: milliseconds to make the engine, then its context, then the first and the second result,
// each by itself, and the sum of the first three; bytes of the plan, of its weights and of the arena as the engine says
// them, of what the allocator was asked for, those by which the resident memory of the process grew, and those by which
// the free memory of the device shrank beside inputs and outputs: with the engine, its context and the first result.
// The plan's own bytes are given back before that is looked at. Inputs are zeros at the shapes that the first profile
// is for. Where driver_calls.cpp is loaded ahead, it is told of the stages.
#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace nv = nvinfer1;
using Clock = std::chrono::steady_clock;

class Log final : public nv::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
} theLog;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

// Of engine and contexts.
class CountingAllocator final : public nv::IGpuAsyncAllocator {
 public:
  void* allocateAsync(uint64_t bytes, uint64_t, nv::AllocatorFlags, cudaStream_t) noexcept override {
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) != cudaSuccess) return nullptr;
    asked += bytes;
    return memory;
  }
  bool deallocateAsync(void* memory, cudaStream_t) noexcept override { return cudaFree(memory) == cudaSuccess; }

  uint64_t asked = 0;
};

uint64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Of the device, which others use as well; 0 where nobody says.
uint64_t freeBytes() {
  size_t left = 0, all = 0;
  return cudaMemGetInfo(&left, &all) == cudaSuccess ? left : 0;
}

void stage(const char* name) {
  static const auto kTell = reinterpret_cast<void (*)(const char*)>(dlsym(RTLD_DEFAULT, "driverCallsStage"));
  if (kTell != nullptr) kTell(name);
}

std::vector<char> readFile(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) fail(std::string("cannot open ") + path);
  std::vector<char> bytes(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) fail(std::string("cannot read ") + path);
  return bytes;
}

size_t bytesOf(nv::DataType type, const nv::Dims& dims) {
  size_t bits = 32;
  switch (type) {
    case nv::DataType::kINT64: bits = 64; break;
    case nv::DataType::kFLOAT:
    case nv::DataType::kINT32: bits = 32; break;
    case nv::DataType::kHALF:
    case nv::DataType::kBF16: bits = 16; break;
    case nv::DataType::kINT4:
    case nv::DataType::kFP4: bits = 4; break;
    default: bits = 8; break;
  }
  size_t count = 1;
  for (int i = 0; i < dims.nbDims; ++i) count *= static_cast<size_t>(dims.d[i]);
  return (count * bits + 7) / 8;
}

// Memory of all inputs and outputs, inputs zero. Returns its bytes.
uint64_t placeTensors(const nv::ICudaEngine& engine, nv::IExecutionContext& context) {
  for (int i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* const name = engine.getIOTensorName(i);
    if (engine.isShapeInferenceIO(name)) fail(std::string("a shape tensor is no network for this program: ") + name);
    if (engine.getTensorIOMode(name) == nv::TensorIOMode::kINPUT &&
        !context.setInputShape(name, engine.getProfileShape(name, 0, nv::OptProfileSelector::kOPT))) {
      fail(std::string("the shape was refused of ") + name);
    }
  }
  uint64_t all = 0;
  for (int i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* const name = engine.getIOTensorName(i);
    const size_t bytes = bytesOf(engine.getTensorDataType(name), context.getTensorShape(name)) * 2;  // padding as well
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes == 0 ? 1 : bytes) != cudaSuccess || cudaMemset(memory, 0, bytes) != cudaSuccess)
      fail("no memory for inputs and outputs");
    if (!context.setTensorAddress(name, memory)) fail(std::string("the address was refused of ") + name);
    all += bytes;
  }
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) fail("usage: load_engine PLAN");
  if (cudaFree(nullptr) != cudaSuccess) fail("no device");  // its set-up is no part of loading
  CountingAllocator allocator;
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(theLog));
  if (runtime == nullptr) fail("no runtime");
  runtime->setGpuAllocator(&allocator);
  const uint64_t before = residentBytes();
  std::vector<char> plan = readFile(arguments[1]);
  const size_t planBytes = plan.size();
  const uint64_t freeAtFirst = freeBytes();

  stage("engine");
  const auto start = Clock::now();
  std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  if (engine == nullptr) fail("the plan could not be loaded");
  const auto loaded = Clock::now();
  stage("context");
  std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  if (context == nullptr) fail("no execution context");
  const auto made = Clock::now();
  stage("inputs");
  const uint64_t freeMade = freeBytes();
  const uint64_t ioBytes = placeTensors(*engine, *context);
  const uint64_t freeBefore = freeBytes();
  const auto run = [&] {
    const auto begin = Clock::now();
    if (!context->enqueueV3(nullptr) || cudaStreamSynchronize(nullptr) != cudaSuccess) fail("the execution failed");
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  stage("first");
  const double first = run();
  const uint64_t freeAfter = freeBytes();
  stage("second");
  const double second = run();
  double warm = run();
  constexpr int kWarmRuns = 20;
  for (int i = 0; i < kWarmRuns; ++i) warm = std::min(warm, run());
  std::vector<char>().swap(plan);

  const auto milliseconds = [](auto from, auto to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  };
  std::printf("engine_ms %.3f\ncontext_ms %.3f\nfirst_ms %.3f\nsecond_ms %.3f\nwarm_ms %.3f\ntotal_ms %.3f\n",
              milliseconds(start, loaded), milliseconds(loaded, made), first, second, warm,
              milliseconds(start, made) + first);
  std::printf("plan_bytes %zu\nweight_bytes %lld\narena_bytes %lld\nallocated_bytes %llu\nresident_bytes %lld\n",
              planBytes, static_cast<long long>(engine->getEngineStat(nv::EngineStat::kTOTAL_WEIGHTS_SIZE)),
              static_cast<long long>(engine->getDeviceMemorySizeV2()), static_cast<unsigned long long>(allocator.asked),
              static_cast<long long>(residentBytes()) - static_cast<long long>(before));
  std::printf("io_bytes %llu\ndevice_bytes %lld\n", static_cast<unsigned long long>(ioBytes),
              static_cast<long long>(freeAtFirst - freeMade + (freeBefore - freeAfter)));
  return 0;
}
