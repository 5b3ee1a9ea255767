// Runs inferences on one or several streams and notes when each part of each began and ended.
#pragma once

#include "../options/options.h"
#include "../report/trace.h"
#include "bindings.h"
#include "cuda.h"

#include <NvInferRuntime.h>

#include <chrono>
#include <memory>
#include <vector>

namespace tenon::trtexec {

//! Where the time begins, on both sides.
struct MeasureStart {
  cudaEvent_t device;
  std::chrono::steady_clock::time_point host;
};

//! One execution context with its streams, and up to two inferences under way, so that the transfers of one overlap the
//! computation of the other.
class InferenceStream {
 public:
  InferenceStream(nvinfer1::ICudaEngine& engine, const InferenceOptions& options, int32_t index,
                  nvinfer1::IProfiler* profiler);

  //! Hands the next inference to the device.
  void launch(const MeasureStart& start);

  //! Waits for the oldest inference under way, unless that is the only one and `all` is false. Returns when it ended,
  //! in milliseconds since the start, or 0 if there was nothing to wait for.
  float collect(const MeasureStart& start, bool all, std::vector<InferenceTrace>& traces);

  //! After the last collect: inputs and outputs as they are on the host, of the inference launched last.
  Bindings& finish();

  //! Lets the stream wait before the first computation.
  void sleep(double ms);

  nvinfer1::IExecutionContext& context() { return *context_; }
  cudaStream_t computeStream() const { return compute_.get(); }

 private:
  struct Slot {
    Bindings* bindings = nullptr;
    Event h2dStart, h2dEnd, computeStart, computeEnd, d2hStart, d2hEnd;
    GraphExec graph;
    float enqueueStart = 0;
    float enqueueEnd = 0;
  };

  void makeContext(nvinfer1::ICudaEngine& engine);
  void provideMemory(nvinfer1::ICudaEngine& engine);
  void runOnce(Slot& slot);
  void capture(Slot& slot);
  void enqueue(Slot& slot, const MeasureStart& start);
  InferenceTrace traceOf(const Slot& slot, const MeasureStart& start) const;

  const InferenceOptions& options_;
  int32_t index_;
  Stream input_, compute_, output_;
  Memory contextMemory_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  std::vector<std::unique_ptr<Bindings>> bindings_;
  std::vector<Slot> slots_;
  double sleepMs_ = 0;
  size_t launched_ = 0;
  size_t collected_ = 0;
};

//! The streams of one measurement.
class Inference {
 public:
  //! With a profiler there is one inference under way at a time and no CUDA graph.
  Inference(nvinfer1::ICudaEngine& engine, const Options& options, nvinfer1::IProfiler* profiler);

  //! Runs warm-up and measurement; the traces are in the order of computation.
  std::vector<InferenceTrace> run();

  InferenceStream& stream(size_t index) { return *streams_[index]; }

 private:
  void runGroup(const std::vector<InferenceStream*>& group, const MeasureStart& start,
                std::vector<InferenceTrace>& traces) const;
  void runThreads(const MeasureStart& start, std::vector<InferenceTrace>& traces) const;

  const Options& options_;
  InferenceOptions inference_;
  std::vector<std::unique_ptr<InferenceStream>> streams_;
};

}  // namespace tenon::trtexec
