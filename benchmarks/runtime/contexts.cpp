// What the runtime itself costs, and how contexts share the cores.
//
//   runtime_contexts overhead [calls]               microseconds of an enqueue of one tiny layer, through the public
//                                                   interface
//   runtime_contexts scale CONTEXTS [seconds]       inferences of a convolutional network, a thread for each context
//   runtime_contexts engine FILE CONTEXTS [seconds] the same of an engine that trtexec has saved, at its profile's opt
//                                                   shapes; its inputs hold zeros
//
// The last two print inferences per second, the median and the 99th percentile of what one takes, and the least and the
// most that a context has done. One core's worth is `TENON_THREADS=1 runtime_contexts scale 1`.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
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

size_t bytesOf(nv::ICudaEngine& engine, const nv::IExecutionContext& context, const char* name) {
  const nv::Dims shape = context.getTensorShape(name);
  int64_t elements = 1;
  for (int i = 0; i < shape.nbDims; ++i) elements *= std::max<int64_t>(shape.d[i], 1);
  return static_cast<size_t>(elements) * (engine.getTensorDataType(name) == nv::DataType::kINT64 ? 8 : 4);
}

// A context with memory of its own.
struct Caller {
  explicit Caller(nv::ICudaEngine& engine) : context(engine.createExecutionContext()) {
    if (context == nullptr || cudaStreamCreate(&stream) != cudaSuccess) fail("no context, or no stream");
    for (int i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* const name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != nv::TensorIOMode::kINPUT) continue;
      const auto shape = engine.getProfileShape(name, 0, nv::OptProfileSelector::kOPT);
      if (!context->setInputShape(name, shape)) fail("an input's shape was refused");
    }
    for (int i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* const name = engine.getIOTensorName(i);
      const size_t bytes = bytesOf(engine, *context, name);
      void* memory = nullptr;
      if (cudaMalloc(&memory, bytes) != cudaSuccess) fail("no memory");
      if (cudaMemset(memory, 0, bytes) != cudaSuccess) fail("memory cannot be cleared");
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

  void run() {
    if (!context->enqueueV3(stream) || cudaStreamSynchronize(stream) != cudaSuccess) fail("an execution failed");
  }

  std::unique_ptr<nv::IExecutionContext> context;
  cudaStream_t stream = nullptr;
  std::vector<void*> memories;
  std::vector<float> milliseconds;
};

void measureOverhead(nv::IRuntime& runtime, int calls) {
  constexpr int kBatches = 41;
  const auto engine = makeEngine(runtime, dims({1, 16}), addTinyLayer);
  Caller caller(*engine);
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

void measureScale(nv::ICudaEngine& engine, int contexts, double seconds) {
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < contexts; ++i) callers.push_back(std::make_unique<Caller>(engine));
  for (auto& caller : callers) caller->run();  // what is made ready once
  std::atomic<bool> isOver{false};
  const auto work = [&](Caller& caller) {
    for (auto last = Clock::now(); !isOver;) {
      caller.run();
      const auto now = Clock::now();
      caller.milliseconds.push_back(std::chrono::duration<float, std::milli>(now - last).count());
      last = now;
    }
  };
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (auto& caller : callers) threads.emplace_back(work, std::ref(*caller));
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const int threadCount = threadsOfProcess();
  isOver = true;
  for (auto& thread : threads) thread.join();
  const std::chrono::duration<double> passed = Clock::now() - start;
  std::vector<float> all;
  size_t least = SIZE_MAX, most = 0;
  for (const auto& caller : callers) {
    all.insert(all.end(), caller->milliseconds.begin(), caller->milliseconds.end());
    least = std::min(least, caller->milliseconds.size());
    most = std::max(most, caller->milliseconds.size());
  }
  std::sort(all.begin(), all.end());
  std::printf("%d contexts: %.1f inferences/s, median %.4f ms, 99%% %.4f ms, by context %zu to %zu, %d threads\n",
              contexts, static_cast<double>(all.size()) / passed.count(), all[all.size() / 2],
              all[all.size() * 99 / 100], least, most, threadCount);
}

std::unique_ptr<nv::ICudaEngine> readEngine(nv::IRuntime& runtime, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string plan((std::istreambuf_iterator<char>(file)), {});
  std::unique_ptr<nv::ICudaEngine> engine(runtime.deserializeCudaEngine(plan.data(), plan.size()));
  if (engine == nullptr) fail("the engine could not be read");
  return engine;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(theLog));
  if (what == "overhead") {
    measureOverhead(*runtime, count > 2 ? std::atoi(arguments[2]) : 200000);
  } else if (what == "scale" && count > 2) {
    const auto engine = makeEngine(*runtime, dims({1, 32, 56, 56}), addConvolutions);
    measureScale(*engine, std::max(1, std::atoi(arguments[2])), count > 3 ? std::atof(arguments[3]) : 5);
  } else if (what == "engine" && count > 3) {
    const auto engine = readEngine(*runtime, arguments[2]);
    measureScale(*engine, std::max(1, std::atoi(arguments[3])), count > 4 ? std::atof(arguments[4]) : 5);
  } else {
    fail("use: runtime_contexts overhead [calls] | scale CONTEXTS [seconds] | engine FILE CONTEXTS [seconds]");
  }
}
