// What the host runtime itself costs: each line is a median in microseconds, with the extremes.
//
//   hostcuda_latency [rounds]
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tenon/hostcuda.h"

namespace {

int rounds = 200000;

// The median over batches: a thread that the system interrupts spoils one batch, not the result.
template <class Body>
void measure(const char* name, int count, Body&& body) {
  constexpr int kBatches = 41;
  const int size = std::max(1, count / kBatches);
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < size; ++i) body();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    times.push_back(time.count() / size);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-52s %9.3f us (%.3f .. %.3f)\n", name, times[kBatches / 2], times.front(), times.back());
}

void nothing(void*) {}

void measureOwnWork(cudaStream_t stream) {
  using namespace tenon::hostcuda;
  measure("own work, inline", rounds, [&] { enqueue(stream, &nothing, nullptr, nullptr, Kind::kOwn); });
  measure("own work and synchronize", rounds, [&] {
    enqueue(stream, &nothing, nullptr, nullptr, Kind::kOwn);
    streamSynchronize(stream);
  });
}

void measureCopies(cudaStream_t stream) {
  float source = 1;
  float* device = nullptr;
  cudaMalloc(&device, sizeof source);
  measure("4-byte cudaMemcpyAsync", rounds,
          [&] { cudaMemcpyAsync(device, &source, sizeof source, cudaMemcpyHostToDevice, stream); });
  measure("4-byte cudaMemcpy", rounds, [&] { cudaMemcpy(device, &source, sizeof source, cudaMemcpyHostToDevice); });
  cudaFree(device);
}

void measureHostFunctions(cudaStream_t stream) {
  measure("host function and synchronize", rounds / 10, [&] {
    cudaLaunchHostFunc(stream, &nothing, nullptr);
    cudaStreamSynchronize(stream);
  });
  std::atomic<bool> isDone{false};
  measure("host function that a worker runs", rounds / 200, [&] {
    isDone = false;
    cudaLaunchHostFunc(
        stream, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &isDone);
    while (!isDone) std::this_thread::yield();
  });
}

void measureEvents(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  measure("cudaEventRecord", rounds, [&] { cudaEventRecord(event, stream); });
  measure("cudaEventRecord and cudaEventSynchronize", rounds, [&] {
    cudaEventRecord(event, stream);
    cudaEventSynchronize(event);
  });
  cudaEventDestroy(event);
}

void measureGraphs(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < 10; ++i) {
    tenon::hostcuda::enqueue(stream, &nothing, nullptr, nullptr, tenon::hostcuda::Kind::kOwn);
  }
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  measure("launch of a graph of 10 empty nodes", rounds, [&] { cudaGraphLaunch(exec, stream); });
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) rounds = std::atoi(argv[1]);
  if (rounds < 1000) {
    std::fprintf(stderr, "hostcuda_latency: rounds is %d, expected at least 1000\n", rounds);
    return 1;
  }
  if (!tenon::hostcuda::isHostMode()) {
    std::fprintf(stderr, "hostcuda_latency: a GPU is in use; run with TENON_DEVICE=cpu\n");
    return 1;
  }
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  measureOwnWork(stream);
  measureCopies(stream);
  measureHostFunctions(stream);
  measureEvents(stream);
  measureGraphs(stream);
  cudaStreamDestroy(stream);
}
