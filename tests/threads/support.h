// What the tests of threads share: a log for many threads, streams, memory in use, how long to go on.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/small_network.h"

namespace tenon::test {

constexpr bool kSanitized = TENON_SANITIZED;

using SteadyClock = std::chrono::steady_clock;

// These programs hand over plain host memory, so they compute on the processor whatever the machine has.
inline const bool kOnProcessor = setenv("TENON_DEVICE", "cpu", 1) == 0;

class SharedLog final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity > Severity::kERROR) return;
    const std::lock_guard lock(mutex_);
    errors_.emplace_back(message);
  }
  std::vector<std::string> takeErrors() {
    const std::lock_guard lock(mutex_);
    return std::move(errors_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> errors_;
};

// The library keeps the first logger of the process, so the tests' logger lives as long as it does.
inline SharedLog& sharedLog() {
  static auto* const log = new SharedLog;
  return *log;
}

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

// TENON_SOAK_SECONDS, or one second.
inline std::chrono::duration<double> soakTime() {
  const char* const text = std::getenv("TENON_SOAK_SECONDS");
  return std::chrono::duration<double>(text != nullptr ? std::atof(text) : 1.0);
}

inline double residentMebibytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Runs body(0) ... body(count - 1) at the same time and waits for all.
template <typename Body>
void onThreads(int count, Body body) {
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      body(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

inline std::shared_ptr<nv::ICudaEngine> loadEngine(nv::IRuntime& runtime, const nv::IHostMemory& plan) {
  return std::shared_ptr<nv::ICudaEngine>(runtime.deserializeCudaEngine(plan.data(), plan.size()));
}

// An engine of a SmallNetwork; the runtime lives as long as the process.
inline std::shared_ptr<nv::ICudaEngine> smallEngine(const SmallNetwork& network, int optimizationLevel = 0) {
  static nv::IRuntime* const runtime = nv::createInferRuntime(sharedLog());
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(sharedLog()));
  const auto plan = network.build(*builder, optimizationLevel);
  return plan == nullptr ? nullptr : loadEngine(*runtime, *plan);
}

constexpr double kTolerance = 1e-5;  // of probabilities

}  // namespace tenon::test
