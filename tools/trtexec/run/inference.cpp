// The measured loop: warm-up, iterations, duration, threads.
#include "inference.h"

#include "log.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <thread>

namespace tenon::trtexec {

Inference::Inference(nvinfer1::ICudaEngine& engine, const Options& options, nvinfer1::IProfiler* profiler)
    : options_(options), inference_(options.inference) {
  if (profiler != nullptr) {
    inference_.exposeDma = true;
    if (inference_.cudaGraph) {
      warn(
          "--useCudaGraph is left out of the run that profiles layers: inside a graph they have no times of their own");
      inference_.cudaGraph = false;
    }
  }
  for (int32_t i = 0; i < inference_.streams; ++i) {
    // Layers of several contexts in one table would mix; the first stands for all.
    streams_.push_back(std::make_unique<InferenceStream>(engine, inference_, i, i == 0 ? profiler : nullptr));
  }
}

std::vector<InferenceTrace> Inference::run() {
  info("Starting inference");
  const Event begin = makeEvent(inference_.spinWait);
  checkCuda(cudaEventRecord(begin.get(), streams_.front()->computeStream()), "recording the start");
  checkCuda(cudaEventSynchronize(begin.get()), "waiting for the start");
  const MeasureStart start{begin.get(), std::chrono::steady_clock::now()};
  for (const auto& stream : streams_) {
    stream->sleep(inference_.sleepMs);
  }

  std::vector<InferenceTrace> traces;
  if (inference_.threads) {
    runThreads(start, traces);
  } else {
    std::vector<InferenceStream*> all;
    for (const auto& stream : streams_) {
      all.push_back(stream.get());
    }
    runGroup(all, start, traces);
  }
  std::sort(traces.begin(), traces.end(),
            [](const InferenceTrace& a, const InferenceTrace& b) { return a.computeStart < b.computeStart; });
  return traces;
}

void Inference::runGroup(const std::vector<InferenceStream*>& group, const MeasureStart& start,
                         std::vector<InferenceTrace>& traces) const {
  const bool endless = inference_.durationSeconds < 0;
  const double lastMs =
      endless ? std::numeric_limits<double>::infinity() : inference_.durationSeconds * 1000 + inference_.warmUpMs;
  double nowMs = 0;
  // Iterations that end within the warm-up do not count.
  int64_t warmUps = 0;
  for (int64_t i = 0; i < inference_.iterations + warmUps || nowMs < lastMs; ++i) {
    for (InferenceStream* stream : group) {
      stream->launch(start);
    }
    for (InferenceStream* stream : group) {
      nowMs = std::max(nowMs, static_cast<double>(stream->collect(start, false, traces)));
    }
    if (nowMs < inference_.warmUpMs) {
      ++warmUps;
    }
    if (inference_.idleMs > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(inference_.idleMs));
    }
    if (endless) {
      traces.clear();
    }
  }
  for (InferenceStream* stream : group) {
    while (stream->collect(start, true, traces) > 0) {
    }
  }
}

void Inference::runThreads(const MeasureStart& start, std::vector<InferenceTrace>& traces) const {
  std::vector<std::vector<InferenceTrace>> parts(streams_.size());
  std::vector<std::exception_ptr> failures(streams_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < streams_.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        checkCuda(cudaSetDevice(options_.system.device), "selecting the device in a thread");
        runGroup({streams_[i].get()}, start, parts[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (failures[i]) {
      std::rethrow_exception(failures[i]);
    }
    traces.insert(traces.end(), parts[i].begin(), parts[i].end());
  }
}

}  // namespace tenon::trtexec
