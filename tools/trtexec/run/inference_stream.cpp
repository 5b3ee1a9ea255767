// One execution context: its streams, events, CUDA graphs and memory.
#include "failure.h"
#include "inference.h"
#include "log.h"

#include <thread>

namespace tenon::trtexec {

namespace {

using nvinfer1::ExecutionContextAllocationStrategy;

float millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void record(const Event& event, cudaStream_t stream) {
  checkCuda(cudaEventRecord(event.get(), stream), "recording an event");
}

void waitFor(cudaStream_t stream, const Event& event) {
  checkCuda(cudaStreamWaitEvent(stream, event.get(), 0), "ordering two streams");
}

}  // namespace

InferenceStream::InferenceStream(nvinfer1::ICudaEngine& engine, const InferenceOptions& options, int32_t index,
                                 nvinfer1::IProfiler* profiler)
    : options_(options), index_(index), input_(makeStream()), compute_(makeStream()), output_(makeStream()) {
  makeContext(engine);
  const size_t depth = options.exposeDma ? 1 : 2;
  // Without transfers nothing reads or writes the host side, so the inferences under way may share their memory.
  const size_t sets = options.dataTransfers ? depth : 1;
  for (size_t i = 0; i < sets; ++i) {
    bindings_.push_back(std::make_unique<Bindings>(engine, *context_, options, index == 0 && i == 0));
  }
  provideMemory(engine);
  for (size_t i = 0; i < depth; ++i) {
    Slot slot;
    slot.bindings = bindings_[i % sets].get();
    for (Event* event :
         {&slot.h2dStart, &slot.h2dEnd, &slot.computeStart, &slot.computeEnd, &slot.d2hStart, &slot.d2hEnd}) {
      *event = makeEvent(options.spinWait);
    }
    slots_.push_back(std::move(slot));
  }
  for (const auto& bindings : bindings_) {
    bindings->copyInputs(compute_.get());
  }
  bindings_.front()->bind(*context_);
  checkCuda(cudaStreamSynchronize(compute_.get()), "copying the inputs");
  if (options.cudaGraph) {
    for (Slot& slot : slots_) {
      capture(slot);
    }
  }
  if (profiler != nullptr) {
    context_->setProfiler(profiler);
  }
}

void InferenceStream::makeContext(nvinfer1::ICudaEngine& engine) {
  const bool own = options_.allocation != AllocationStrategy::kStatic;
  context_.reset(engine.createExecutionContext(own ? ExecutionContextAllocationStrategy::kUSER_MANAGED
                                                   : ExecutionContextAllocationStrategy::kSTATIC));
  if (context_ == nullptr) {
    throw Failure("the execution context could not be made; the messages above say why");
  }
  if (options_.profile >= engine.getNbOptimizationProfiles()) {
    throw Failure("--useProfile={}: the engine has {} optimization profile(s), counted from 0", options_.profile,
                  engine.getNbOptimizationProfiles());
  }
  if (options_.profile != 0) {
    if (!context_->setOptimizationProfileAsync(options_.profile, compute_.get())) {
      throw Failure("--useProfile={}: the context does not accept this profile", options_.profile);
    }
    checkCuda(cudaStreamSynchronize(compute_.get()), "selecting the optimization profile");
  }
}

void InferenceStream::provideMemory(nvinfer1::ICudaEngine& engine) {
  int64_t bytes = engine.getDeviceMemorySizeV2();
  if (options_.allocation == AllocationStrategy::kProfile) {
    bytes = engine.getDeviceMemorySizeForProfileV2(options_.profile);
  } else if (options_.allocation == AllocationStrategy::kRuntime) {
    bytes = static_cast<int64_t>(context_->updateDeviceMemorySizeForShapes());
  }
  if (options_.allocation != AllocationStrategy::kStatic) {
    contextMemory_ = Memory(MemoryKind::kDevice, static_cast<size_t>(bytes));
    context_->setDeviceMemoryV2(contextMemory_.get(), bytes);
  }
  if (index_ == 0) {
    info("Created execution context with device memory size: {:.6g} MiB", static_cast<double>(bytes) / (1 << 20));
  }
}

void InferenceStream::runOnce(Slot& slot) {
  slot.bindings->bind(*context_);
  if (!context_->enqueueV3(compute_.get())) {
    throw Failure("the inference could not be started; the messages above say why");
  }
  checkCuda(cudaStreamSynchronize(compute_.get()), "waiting for an inference");
}

void InferenceStream::capture(Slot& slot) {
  // Once outside of the graph, so that what the library sets up at first is not part of it.
  runOnce(slot);
  checkCuda(cudaStreamBeginCapture(compute_.get(), cudaStreamCaptureModeThreadLocal), "beginning to capture a graph");
  const bool enqueued = context_->enqueueV3(compute_.get());
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(compute_.get(), &graph);
  cudaGraphExec_t exec = nullptr;
  const bool ready =
      enqueued && ended == cudaSuccess && graph != nullptr && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
  if (graph != nullptr) {
    cudaGraphDestroy(graph);
  }
  if (!ready) {
    cudaGetLastError();
    warn("this engine cannot be captured as a CUDA graph; it runs without");
    return;
  }
  slot.graph.reset(exec);
  if (index_ == 0) {
    verbose("Captured a CUDA graph");
  }
}

void InferenceStream::sleep(double ms) {
  if (ms <= 0) {
    return;
  }
  sleepMs_ = ms;
  const auto rest = [](void* data) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(*static_cast<const double*>(data)));
  };
  checkCuda(cudaLaunchHostFunc(compute_.get(), rest, &sleepMs_), "making a stream sleep");
}

void InferenceStream::enqueue(Slot& slot, const MeasureStart& start) {
  if (slot.graph == nullptr && bindings_.size() > 1) {
    slot.bindings->bind(*context_);
  }
  slot.enqueueStart = millisecondsSince(start.host);
  if (slot.graph != nullptr) {
    checkCuda(cudaGraphLaunch(slot.graph.get(), compute_.get()), "launching the CUDA graph");
  } else if (!context_->enqueueV3(compute_.get())) {
    throw Failure("the inference could not be started; the messages above say why");
  }
  slot.enqueueEnd = millisecondsSince(start.host);
}

void InferenceStream::launch(const MeasureStart& start) {
  Slot& slot = slots_[launched_ % slots_.size()];
  if (options_.dataTransfers) {
    record(slot.h2dStart, input_.get());
    slot.bindings->copyInputs(input_.get());
    record(slot.h2dEnd, input_.get());
    waitFor(compute_.get(), slot.h2dEnd);
  }
  record(slot.computeStart, compute_.get());
  enqueue(slot, start);
  record(slot.computeEnd, compute_.get());
  if (options_.dataTransfers) {
    waitFor(output_.get(), slot.computeEnd);
    record(slot.d2hStart, output_.get());
    slot.bindings->copyOutputs(output_.get());
    record(slot.d2hEnd, output_.get());
  }
  ++launched_;
}

InferenceTrace InferenceStream::traceOf(const Slot& slot, const MeasureStart& start) const {
  InferenceTrace trace;
  trace.stream = index_;
  trace.enqueueStart = slot.enqueueStart;
  trace.enqueueEnd = slot.enqueueEnd;
  trace.computeStart = elapsedMs(start.device, slot.computeStart.get());
  trace.computeEnd = elapsedMs(start.device, slot.computeEnd.get());
  trace.h2dStart = trace.h2dEnd = trace.computeStart;
  trace.d2hStart = trace.d2hEnd = trace.computeEnd;
  if (options_.dataTransfers) {
    trace.h2dStart = elapsedMs(start.device, slot.h2dStart.get());
    trace.h2dEnd = elapsedMs(start.device, slot.h2dEnd.get());
    trace.d2hStart = elapsedMs(start.device, slot.d2hStart.get());
    trace.d2hEnd = elapsedMs(start.device, slot.d2hEnd.get());
  }
  return trace;
}

float InferenceStream::collect(const MeasureStart& start, bool all, std::vector<InferenceTrace>& traces) {
  const size_t underWay = launched_ - collected_;
  if (underWay == 0 || (!all && underWay < slots_.size())) {
    return 0;
  }
  const Slot& slot = slots_[collected_ % slots_.size()];
  const Event& last = options_.dataTransfers ? slot.d2hEnd : slot.computeEnd;
  checkCuda(cudaEventSynchronize(last.get()), "waiting for an inference");
  ++collected_;
  traces.push_back(traceOf(slot, start));
  return traces.back().d2hEnd;
}

Bindings& InferenceStream::finish() {
  Bindings& bindings = *slots_[(launched_ == 0 ? 0 : launched_ - 1) % slots_.size()].bindings;
  if (!options_.dataTransfers) {
    bindings.copyOutputs(compute_.get());
  }
  for (const cudaStream_t stream : {input_.get(), compute_.get(), output_.get()}) {
    checkCuda(cudaStreamSynchronize(stream), "waiting for the last inference");
  }
  return bindings;
}

}  // namespace tenon::trtexec
