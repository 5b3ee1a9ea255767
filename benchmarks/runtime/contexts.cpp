// What the runtime itself costs, and how contexts share the cores.
//
//   runtime_contexts overhead [calls]           microseconds of an enqueue of one tiny layer, through the public
//   interface runtime_contexts scale CONTEXTS [seconds]   inferences per second of a convolutional network, a thread
//   for each context
//
// One core's worth is `TENON_THREADS=1 runtime_contexts scale 1`.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace nv = nvinfer1;
using Clock = std::chrono::steady_clock;

class Log final : public nv::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
} theLog;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "error: %s\n", what);
  std::exit(1);
}

nv::Dims dims(std::initializer_list<int64_t> extents) {
  nv::Dims result{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), result.d);
  return result;
}

void addTinyLayer(nv::INetworkDefinition& network, nv::ITensor& x) {
  auto* const relu = network.addActivation(x, nv::ActivationType::kRELU);
  relu->getOutput(0)->setName("y");
  network.markOutput(*relu->getOutput(0));
}

// Eight convolutions 3x3 of 32 channels, with ReLU.
void addConvolutions(nv::INetworkDefinition& network, nv::ITensor& x) {
  static const std::vector<float> weights(32 * 32 * 9, 0.01f);
  nv::ITensor* last = &x;
  for (int i = 0; i < 8; ++i) {
    auto* const convolution =
        network.addConvolutionNd(*last, 32, dims({3, 3}), {nv::DataType::kFLOAT, weights.data(), 32 * 32 * 9}, {});
    convolution->setPaddingNd(dims({1, 1}));
    last = network.addActivation(*convolution->getOutput(0), nv::ActivationType::kRELU)->getOutput(0);
  }
  last->setName("y");
  network.markOutput(*last);
}

template <typename Define>
std::unique_ptr<nv::ICudaEngine> makeEngine(nv::IRuntime& runtime, const nv::Dims& shape, Define&& define) {
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(theLog));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  define(*network, *network->addInput("x", nv::DataType::kFLOAT, shape));
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) fail("the network could not be built");
  std::unique_ptr<nv::ICudaEngine> engine(runtime.deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) fail("the plan could not be read");
  return engine;
}

// A context with memory of its own.
struct Caller {
  Caller(nv::ICudaEngine& engine, size_t floats) : context(engine.createExecutionContext()) {
    if (context == nullptr || cudaStreamCreate(&stream) != cudaSuccess) fail("no context, or no stream");
    for (const char* name : {"x", "y"}) {
      void* memory = nullptr;
      if (cudaMalloc(&memory, floats * sizeof(float)) != cudaSuccess) fail("no memory");
      if (cudaMemset(memory, 0, floats * sizeof(float)) != cudaSuccess) fail("memory cannot be cleared");
      if (!context->setTensorAddress(name, memory)) fail("an address was refused");
      memories.push_back(memory);
    }
  }
  ~Caller() {
    cudaStreamSynchronize(stream);
    for (void* memory : memories) cudaFree(memory);
    cudaStreamDestroy(stream);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  std::unique_ptr<nv::IExecutionContext> context;
  cudaStream_t stream = nullptr;
  std::vector<void*> memories;
};

void measureOverhead(nv::IRuntime& runtime, int calls) {
  constexpr int kBatches = 41;
  const auto engine = makeEngine(runtime, dims({1, 16}), addTinyLayer);
  Caller caller(*engine, 16);
  const int size = std::max(1, calls / kBatches);
  std::vector<double> enqueue, whole;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < size; ++i) caller.context->enqueueV3(caller.stream);
    const std::chrono::duration<double, std::micro> queued = Clock::now() - start;
    cudaStreamSynchronize(caller.stream);
    const auto again = Clock::now();
    for (int i = 0; i < size; ++i) {
      caller.context->enqueueV3(caller.stream);
      cudaStreamSynchronize(caller.stream);
    }
    const std::chrono::duration<double, std::micro> waited = Clock::now() - again;
    enqueue.push_back(queued.count() / size);
    whole.push_back(waited.count() / size);
  }
  const auto print = [](const char* name, std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    std::printf("%-28s %7.3f us (%.3f .. %.3f)\n", name, times[times.size() / 2], times.front(), times.back());
  };
  print("enqueue of one tiny layer", enqueue);
  print("enqueue and synchronize", whole);
}

int threadsOfProcess() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::atoi(line.c_str() + std::strlen("Threads:"));
  }
  return 0;
}

void measureScale(nv::IRuntime& runtime, int contexts, double seconds) {
  const auto engine = makeEngine(runtime, dims({1, 32, 56, 56}), addConvolutions);
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < contexts; ++i) callers.push_back(std::make_unique<Caller>(*engine, 32 * 56 * 56));
  std::atomic<bool> isOver{false};
  std::atomic<int64_t> done{0};
  const auto work = [&](Caller& caller) {
    int64_t mine = 0;
    for (; !isOver; ++mine) {
      caller.context->enqueueV3(caller.stream);
      cudaStreamSynchronize(caller.stream);
    }
    done += mine;
  };
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (auto& caller : callers) threads.emplace_back(work, std::ref(*caller));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const int threadCount = threadsOfProcess();
  isOver = true;
  for (auto& thread : threads) thread.join();
  const std::chrono::duration<double> passed = Clock::now() - start;
  std::printf("%d contexts: %.1f inferences/s, %d threads in the process\n", contexts,
              static_cast<double>(done) / passed.count(), threadCount);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(theLog));
  if (what == "overhead") {
    measureOverhead(*runtime, count > 2 ? std::atoi(arguments[2]) : 200000);
  } else if (what == "scale" && count > 2) {
    measureScale(*runtime, std::max(1, std::atoi(arguments[2])), count > 3 ? std::atof(arguments[3]) : 5);
  } else {
    fail("use: runtime_contexts overhead [calls] | runtime_contexts scale CONTEXTS [seconds]");
  }
}
