// IExecutionContext: shapes, addresses, execution.
#include "api/runtime/context.h"

#include "api/runtime/io_index.h"

namespace tenon::api {
namespace {

runtime::RangeDetail rangeDetail(nv::ProfilingVerbosity verbosity) {
  if (verbosity == nv::ProfilingVerbosity::kNONE) return runtime::RangeDetail::kNone;
  return verbosity == nv::ProfilingVerbosity::kDETAILED ? runtime::RangeDetail::kDetailed
                                                        : runtime::RangeDetail::kNames;
}

}  // namespace

ExecutionContext::ExecutionContext(const Engine& engine, std::shared_ptr<const LoadedEngine> loaded,
                                   const runtime::ContextOptions& options, Reporter& parent, nv::IRuntimeConfig* config)
    : engine_(engine),
      reporter_(parent.logger(), parent.recorder()),
      loaded_(std::move(loaded)),
      outputAllocators_(loaded_->engine->io().size()),
      context_(loaded_->engine, options, permanentLog(parent.logger())),
      config_(config),
      nvtxVerbosity_(engine.getProfilingVerbosity()) {
  mImpl = this;
  context_.setRangeDetail(rangeDetail(nvtxVerbosity_));
}

const nv::ICudaEngine& ExecutionContext::getEngine() const noexcept { return engine_; }

int ExecutionContext::find(const char* tensorName) const { return ioIndex(*loaded_->engine, tensorName); }

int ExecutionContext::findInput(const char* tensorName) const {
  const int index = find(tensorName);
  checkUser(loaded_->engine->io()[static_cast<size_t>(index)].isInput, "tensor '{}' is an output; expected an input",
            tensorName);
  return index;
}

int ExecutionContext::findOutput(const char* tensorName) const {
  const int index = find(tensorName);
  checkUser(!loaded_->engine->io()[static_cast<size_t>(index)].isInput, "tensor '{}' is an input; expected an output",
            tensorName);
  return index;
}

void ExecutionContext::setName(const char* name) noexcept {
  tell("IExecutionContext::setName", [&] { name_ = orEmpty(name); });
}

// Shapes and addresses.

bool ExecutionContext::setInputShape(const char* tensorName, const nv::Dims& dims) noexcept {
  return ask("IExecutionContext::setInputShape", false, [&] {
    context_.setInputShape(findInput(tensorName), fromApi(dims, fmt::format("extents of input '{}'", tensorName), 0));
    return true;
  });
}

nv::Dims ExecutionContext::getTensorShape(const char* tensorName) const noexcept {
  return ask("IExecutionContext::getTensorShape", invalidDims(),
             [&] { return toApi(context_.shape(find(tensorName))); });
}

nv::Dims ExecutionContext::getTensorStrides(const char* tensorName) const noexcept {
  return ask("IExecutionContext::getTensorStrides", invalidDims(), [&] {
    const int index = find(tensorName);
    return stridesOf(context_.shape(index), loaded_->engine->io()[static_cast<size_t>(index)].layout);
  });
}

bool ExecutionContext::setTensorAddress(const char* tensorName, void* data) noexcept {
  return ask("IExecutionContext::setTensorAddress", false, [&] {
    context_.setAddress(find(tensorName), data);
    return true;
  });
}

bool ExecutionContext::setInputTensorAddress(const char* tensorName, const void* data) noexcept {
  return ask("IExecutionContext::setInputTensorAddress", false, [&] {
    context_.setAddress(findInput(tensorName), const_cast<void*>(data));  // inputs are only read
    return true;
  });
}

bool ExecutionContext::setOutputTensorAddress(const char* tensorName, void* data) noexcept {
  return ask("IExecutionContext::setOutputTensorAddress", false, [&] {
    context_.setAddress(findOutput(tensorName), data);
    return true;
  });
}

const void* ExecutionContext::getTensorAddress(const char* tensorName) const noexcept {
  return ask("IExecutionContext::getTensorAddress", static_cast<const void*>(nullptr),
             [&] { return context_.address(find(tensorName)); });
}

void* ExecutionContext::getOutputTensorAddress(const char* tensorName) const noexcept {
  return ask("IExecutionContext::getOutputTensorAddress", static_cast<void*>(nullptr),
             [&] { return context_.address(findOutput(tensorName)); });
}

int32_t ExecutionContext::inferShapes(int32_t nbMaxNames, const char** tensorNames) noexcept {
  return ask("IExecutionContext::inferShapes", -1, [&] {
    const auto missing = context_.inferShapes();
    for (size_t i = 0; tensorNames != nullptr && i < missing.size() && static_cast<int32_t>(i) < nbMaxNames; ++i) {
      // The engine's own text, which stays.
      tensorNames[i] = loaded_->engine->io()[static_cast<size_t>(find(missing[i].c_str()))].name.c_str();
    }
    return static_cast<int32_t>(missing.size());
  });
}

bool ExecutionContext::allInputDimensionsSpecified() const noexcept {
  return ask("IExecutionContext::allInputDimensionsSpecified", false, [&] { return context_.allShapesGiven(); });
}

bool ExecutionContext::allInputShapesSpecified() const noexcept { return allInputDimensionsSpecified(); }

int64_t ExecutionContext::getMaxOutputSize(const char* tensorName) const noexcept {
  return ask("IExecutionContext::getMaxOutputSize", int64_t{-1},
             [&] { return context_.tensorBytes(findOutput(tensorName)); });
}

bool ExecutionContext::setOutputAllocator(const char* tensorName, nv::IOutputAllocator* outputAllocator) noexcept {
  return ask("IExecutionContext::setOutputAllocator", false, [&] {
    const int index = findOutput(tensorName);
    auto adapter = outputAllocator != nullptr ? std::make_unique<OutputAllocatorAdapter>(*outputAllocator) : nullptr;
    context_.setOutputAllocator(index, adapter.get());
    outputAllocators_[static_cast<size_t>(index)] = std::move(adapter);
    return true;
  });
}

nv::IOutputAllocator* ExecutionContext::getOutputAllocator(const char* name) noexcept {
  return ask("IExecutionContext::getOutputAllocator", static_cast<nv::IOutputAllocator*>(nullptr), [&] {
    const auto& adapter = outputAllocators_[static_cast<size_t>(findOutput(name))];
    return adapter != nullptr ? adapter->user() : nullptr;
  });
}

// Profiles and memory.

int32_t ExecutionContext::getOptimizationProfile() const noexcept { return context_.profile(); }

bool ExecutionContext::setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept {
  return ask("IExecutionContext::setOptimizationProfileAsync", false, [&] {
    context_.setProfile(profileIndex, stream);
    return true;
  });
}

void ExecutionContext::setDeviceMemory(void* memory) noexcept {
  tell("IExecutionContext::setDeviceMemory", [&] { context_.setMemory(memory, loaded_->engine->arenaBytes()); });
}

void ExecutionContext::setDeviceMemoryV2(void* memory, int64_t size) noexcept {
  tell("IExecutionContext::setDeviceMemoryV2", [&] {
    checkUser(size >= 0, "{} bytes of device memory", size);
    context_.setMemory(memory, static_cast<uint64_t>(size));
  });
}

size_t ExecutionContext::updateDeviceMemorySizeForShapes() noexcept {
  return ask("IExecutionContext::updateDeviceMemorySizeForShapes", size_t{0}, [&] { return context_.memoryBytes(); });
}

bool ExecutionContext::setTemporaryStorageAllocator(nv::IGpuAllocator* allocator) noexcept {
  return ask("IExecutionContext::setTemporaryStorageAllocator", false, [&] {
    if (allocator != nullptr) notSupported("IExecutionContext::setTemporaryStorageAllocator");
    return true;
  });
}

// Execution.

bool ExecutionContext::enqueueV3(cudaStream_t stream) noexcept {
  constexpr const char* kCall = "IExecutionContext::enqueueV3";
  const bool done = ask(kCall, false, [&] {
    context_.enqueue(stream);
    return true;
  });
  return done && (!debugSync_ || wait(kCall, stream));
}

bool ExecutionContext::executeV2(void* const* bindings) noexcept {
  constexpr const char* kCall = "IExecutionContext::executeV2";
  const bool done = ask(kCall, false, [&] {
    checkUser(bindings != nullptr, "the bindings are null");
    const auto count = static_cast<int>(loaded_->engine->io().size());
    for (int i = 0; i < count; ++i) context_.setAddress(i, bindings[i]);
    context_.enqueue(nullptr);
    return true;
  });
  return done && wait(kCall, nullptr);
}

// The context is not in use meanwhile: listeners may ask it from the thread that does the work.
bool ExecutionContext::wait(const char* call, cudaStream_t stream) const noexcept {
  return guarded(reporter_, call, false, [&] {
    loaded_->engine->device().synchronize(stream);
    return true;
  });
}

bool ExecutionContext::setInputConsumedEvent(cudaEvent_t event) noexcept {
  return ask("IExecutionContext::setInputConsumedEvent", false, [&] {
    context_.setInputConsumedEvent(event);
    return true;
  });
}

cudaEvent_t ExecutionContext::getInputConsumedEvent() const noexcept {
  return static_cast<cudaEvent_t>(context_.inputConsumedEvent());
}

void ExecutionContext::setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
  tell("IExecutionContext::setAuxStreams", [&] {
    checkUser(nbStreams >= 0 && (nbStreams == 0 || auxStreams != nullptr), "{} streams at {}", nbStreams,
              fmt::ptr(auxStreams));
    context_.setAuxStreams(std::vector<runtime::StreamHandle>(auxStreams, auxStreams + nbStreams));
  });
}

bool ExecutionContext::setCommunicator(void*) noexcept {
  return ask("IExecutionContext::setCommunicator", false,
             []() -> bool { notSupported("IExecutionContext::setCommunicator"); });
}

void ExecutionContext::setPersistentCacheLimit(size_t size) noexcept {
  tell("IExecutionContext::setPersistentCacheLimit", [&] {
    if (size != persistentCacheLimit_)
      noEffect(reporter_, "IExecutionContext::setPersistentCacheLimit",
               "no kernel asks for persistent lines of the L2 cache");
    persistentCacheLimit_ = size;
  });
}

// Profiling and debugging.

void ExecutionContext::setProfiler(nv::IProfiler* profiler) noexcept {
  tell("IExecutionContext::setProfiler", [&] {
    auto adapter = profiler != nullptr ? std::make_unique<ProfilerAdapter>(*profiler) : nullptr;
    context_.setProfiler(adapter.get());
    profilerAdapter_ = std::move(adapter);
    profiler_ = profiler;
  });
}

void ExecutionContext::setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept {
  tell("IExecutionContext::setEnqueueEmitsProfile", [&] { context_.setProfilerSynchronous(enqueueEmitsProfile); });
}

bool ExecutionContext::getEnqueueEmitsProfile() const noexcept { return context_.profilerSynchronous(); }

bool ExecutionContext::reportToProfiler() const noexcept {
  return ask("IExecutionContext::reportToProfiler", false, [&] {
    checkUser(profiler_ != nullptr, "no profiler is set");
    return context_.reportTimes();
  });
}

bool ExecutionContext::setNvtxVerbosity(nv::ProfilingVerbosity verbosity) noexcept {
  return ask("IExecutionContext::setNvtxVerbosity", false, [&] {
    const auto wanted = rangeDetail(checkedEnum(verbosity, "profiling verbosity"));
    checkUser(wanted <= rangeDetail(static_cast<nv::ProfilingVerbosity>(loaded_->engine->plan().profilingVerbosity)),
              "the engine was built with less profiling verbosity; set it in the builder's configuration");
    context_.setRangeDetail(wanted);
    nvtxVerbosity_ = verbosity;
    return true;
  });
}

bool ExecutionContext::setDebugListener(nv::IDebugListener* listener) noexcept {
  return ask("IExecutionContext::setDebugListener", false, [&] {
    auto adapter = listener != nullptr ? std::make_unique<DebugAdapter>(*listener) : nullptr;
    context_.setDebugHook(adapter.get());
    debugAdapter_ = std::move(adapter);
    debugListener_ = listener;
    return true;
  });
}

bool ExecutionContext::setTensorDebugState(const char* name, bool flag) noexcept {
  return ask("IExecutionContext::setTensorDebugState", false, [&] {
    checkUser(name != nullptr, "the name of the tensor is null");
    checkUser(context_.setDebugTensor(name, flag),
              "tensor '{}' was not marked by markDebug() when the engine was built", name);
    return true;
  });
}

bool ExecutionContext::getDebugState(const char* name) const noexcept {
  return ask("IExecutionContext::getDebugState", false, [&] { return context_.debugTensor(orEmpty(name)); });
}

bool ExecutionContext::setAllTensorsDebugState(bool flag) noexcept {
  return ask("IExecutionContext::setAllTensorsDebugState", false, [&] {
    context_.setAllDebugTensors(flag);
    return true;
  });
}

bool ExecutionContext::setUnfusedTensorsDebugState(bool flag) noexcept {
  return ask("IExecutionContext::setUnfusedTensorsDebugState", false, [&] {
    context_.setUnfusedDebugTensors(flag);
    return true;
  });
}

}  // namespace tenon::api
