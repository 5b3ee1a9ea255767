// Every setter of builder, network, tensor, runtime, engine and context does something, is refused, or is said to
// change nothing; and none of the interface is missing here.
#include <cuda_runtime_api.h>

#include <atomic>
#include <thread>

#include "effects.h"
#include "object_scenes.h"

namespace setters {
namespace {

// Memory of the host, counted.
class Allocator final : public nv::IGpuAllocator {
 public:
  void* allocate(uint64_t size, uint64_t alignment, nv::AllocatorFlags) noexcept override {
    ++calls;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  bool deallocate(void* memory) noexcept override {
    std::free(memory);
    return true;
  }
  int calls = 0;
};

nv::IGpuAllocator& theAllocator() {
  static Allocator allocator;
  return allocator;
}

class Recorder final : public nv::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(texts.size()); }
  nv::ErrorCode getErrorCode(int32_t) const noexcept override { return nv::ErrorCode::kSUCCESS; }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override { return texts[static_cast<size_t>(index)].c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { texts.clear(); }
  bool reportError(nv::ErrorCode, ErrorDesc text) noexcept override {
    texts.emplace_back(text);
    return false;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::vector<std::string> texts;
  RefCount references = 0;
};

// z = -softmax(|x|): the values between need memory.
nv::IExecutionContext* chain(Scene& s, nv::ExecutionContextAllocationStrategy strategy) {
  auto* soft = s.network->addSoftMax(*s.network->addUnary(image(s), nv::UnaryOperation::kABS)->getOutput(0));
  auto* sum = s.network->addReduce(*soft->getOutput(0), nv::ReduceOperation::kMAX, 12, true);
  auto* topk = s.network->addTopK(*sum->getOutput(0), nv::TopKOperation::kMAX, 1, 2);
  s.output(*topk);
  s.config->setBuilderOptimizationLevel(0);
  s.engine.reset(s.builder->buildEngineWithConfig(*s.network, *s.config));
  s.context.reset(s.engine->createExecutionContext(strategy));
  return s.context.get();
}

nv::ITensor* image4(Scene& s) {
  network(s);
  return s.network->getInput(0);
}
nv::ITensor* dynamicInput(Scene& s) {
  profile(s)->setDimensions("x", nv::OptProfileSelector::kMAX, dims({3, 4}));
  return s.network->getInput(0);
}

// The setter answers, and the log says what it does not change.
template <typename Object, typename Result, typename... Parameters, typename... Arguments>
void idleCall(const char* name, Result (Object::*setter)(Parameters...) noexcept, Object* (*make)(Scene&),
              const Arguments&... arguments) {
  Scene scene;
  Object* object = make(scene);
  (object->*setter)(arguments...);
  EXPECT_EQ(scene.log.errors, std::vector<std::string>{}) << name;
  ASSERT_EQ(scene.log.warnings.size(), 1U) << name;
  EXPECT_TRUE(anyStarts(scene.log.warnings, std::string(name) + ": ")) << scene.log.warnings[0];
  EXPECT_TRUE(isOnThePage(name)) << name;
}
#define IDLE_CALL(Class, setter, make, ...) \
  idleCall<nv::Class>(#Class "::" #setter, &nv::Class::setter, make __VA_OPT__(, ) __VA_ARGS__)

TEST(Effects, OfTheBuilder) {
  IDLE_CALL(IBuilder, setMaxThreads, builder, 4);
  Allocator allocator;
  Recorder recorder;
  {
    Scene scene;
    SEEN(IBuilder, setGpuAllocator);
    SEEN(IBuilder, setErrorRecorder);
    SEEN(IBuilder, reset);
    scene.builder->setGpuAllocator(&allocator);
    chain(scene, nv::ExecutionContextAllocationStrategy::kSTATIC);
    EXPECT_GT(allocator.calls, 0);
    scene.builder->setErrorRecorder(&recorder);
    const std::unique_ptr<nv::INetworkDefinition> empty(scene.builder->createNetworkV2(0));
    EXPECT_EQ(scene.builder->buildSerializedNetwork(*empty, *scene.config), nullptr);
    EXPECT_EQ(recorder.texts.size(), 1U);
    scene.builder->setMaxThreads(4);
    scene.builder->reset();
    EXPECT_EQ(scene.builder->getErrorRecorder(), nullptr);
    EXPECT_EQ(scene.builder->getMaxThreads(), 1);
  }
  allocator.calls = 0;
  Scene scene;
  scene.builder->setGpuAllocator(&allocator);
  scene.builder->reset();
  chain(scene, nv::ExecutionContextAllocationStrategy::kSTATIC);
  EXPECT_EQ(allocator.calls, 0);
}

TEST(Effects, OfTheNetwork) {
  CHANGES(INetworkDefinition, setName, definition, "another");
  IDLE(INetworkDefinition, markWeightsRefittable, definition, "INetworkDefinition::markWeightsRefittable", "w");
  SEEN(INetworkDefinition, unmarkWeightsRefittable);
  Scene unmarked;
  definition(unmarked)->markWeightsRefittable("w");
  unmarked.network->unmarkWeightsRefittable("w");
  EXPECT_TRUE(outcomeOf(unmarked).warnings.empty());
  CHANGES(INetworkDefinition, markUnfusedTensorsAsDebugTensors, definition);
  SHOWN_BY(INetworkDefinition, unmarkUnfusedTensorsAsDebugTensors, "api/objects/debug_test.cpp");
  SHOWN_BY(INetworkDefinition, markDebug, "api/objects/debug_test.cpp");
  SHOWN_BY(INetworkDefinition, unmarkDebug, "api/objects/debug_test.cpp");
  SHOWN_BY(INetworkDefinition, setErrorRecorder, "api/network/network_test.cpp");
  SHOWN_BY(INetworkDefinition, setWeightsName, "api/network/network_test.cpp");
  SEEN(INetworkDefinition, markOutput);
  SEEN(INetworkDefinition, unmarkOutput);
  Scene scene;
  network(scene);
  auto* second = scene.network->addUnary(*scene.network->getInput(0), nv::UnaryOperation::kNEG)->getOutput(0);
  const auto one = outcomeOf(scene).plan;
  scene.network->markOutput(*second);
  EXPECT_NE(outcomeOf(scene).plan, one);
  scene.network->unmarkOutput(*second);
  EXPECT_EQ(outcomeOf(scene).plan, one);
  SEEN(INetworkDefinition, removeTensor);
  scene.network->removeTensor(scene.input("unused", {2}));
  EXPECT_EQ(outcomeOf(scene).plan, one);
}

TEST(Effects, OfShapeOutputs) {
  Scene scene;
  network(scene);
  auto* shape = scene.network->addShape(*scene.network->getInput(0))->getOutput(0);
  const auto one = outcomeOf(scene).plan;
  SEEN(INetworkDefinition, markOutputForShapes);
  EXPECT_TRUE(scene.network->markOutputForShapes(*shape));
  EXPECT_NE(outcomeOf(scene).plan, one);
  SEEN(INetworkDefinition, unmarkOutputForShapes);
  EXPECT_TRUE(scene.network->unmarkOutputForShapes(*shape));
  EXPECT_EQ(outcomeOf(scene).plan, one);
}

TEST(Effects, OfATensor) {
  CHANGES(ITensor, setName, inputTensor, "another");
  CHANGES(ITensor, setDimensions, inputTensor, dims({2, 3}));
  CHANGES(ITensor, setType, inputTensor, nv::DataType::kHALF);
  CHANGES(ITensor, setAllowedFormats, image4, 1U << static_cast<uint32_t>(nv::TensorFormat::kHWC));
  CHANGES(ITensor, setDimensionName, dynamicInput, 0, "batch");
  IDLE(ITensor, setDynamicRange, inputTensor, "ITensor::setDynamicRange", -1.F, 1.F);
  SEEN(ITensor, resetDynamicRange);
  Scene scene;
  inputTensor(scene)->setDynamicRange(-1, 1);
  scene.network->getInput(0)->resetDynamicRange();
  EXPECT_TRUE(outcomeOf(scene).warnings.empty());
  IDLE(ITensor, setLocation, inputTensor, "ITensor::setLocation", nv::TensorLocation::kHOST);
  EXPECT_TRUE(after(&nv::ITensor::setLocation, &inputTensor, nv::TensorLocation::kDEVICE).warnings.empty());
  IDLE(ITensor, setBroadcastAcrossBatch, inputTensor, "ITensor::setBroadcastAcrossBatch", true);
}

TEST(Effects, OfTheRuntime) {
  IDLE_CALL(IRuntime, setDLACore, runtime, 0);
  IDLE_CALL(IRuntime, setMaxThreads, runtime, 4);
  IDLE_CALL(IRuntime, setTemporaryDirectory, runtime, "/tmp");
  IDLE_CALL(IRuntime, setTempfileControlFlags, runtime, 0U);
  SEEN(IRuntime, setEngineHostCodeAllowed);  // tests/plugins has an engine that wants it
  Scene scene;
  Allocator allocator;
  Recorder recorder;
  SEEN(IRuntime, setGpuAllocator);
  SEEN(IRuntime, setErrorRecorder);
  chain(scene, nv::ExecutionContextAllocationStrategy::kSTATIC);
  const std::unique_ptr<nv::IHostMemory> plan(scene.engine->serialize());
  scene.runtime->setGpuAllocator(&allocator);
  scene.runtime->setErrorRecorder(&recorder);
  {
    const std::unique_ptr<nv::ICudaEngine> engine(scene.runtime->deserializeCudaEngine(plan->data(), plan->size()));
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    EXPECT_GT(allocator.calls, 0);
  }
  EXPECT_EQ(scene.runtime->deserializeCudaEngine(nullptr, 0), nullptr);
  EXPECT_EQ(recorder.texts.size(), 1U);
  scene.runtime->setErrorRecorder(nullptr);
}

TEST(Effects, OfTheEngine) {
  REFUSED(ICudaEngine, setWeightStreamingBudget, engine, "setWeightStreamingBudgetV2 is not supported yet", int64_t{1});
  REFUSED(ICudaEngine, setWeightStreamingBudgetV2, engine, "setWeightStreamingBudgetV2 is not supported yet",
          int64_t{1});
  SEEN(ICudaEngine, setErrorRecorder);
  Scene scene;
  Recorder recorder;
  engine(scene)->setErrorRecorder(&recorder);
  scene.engine->getTensorShape("nothing");
  EXPECT_EQ(recorder.texts.size(), 1U);
  scene.engine->setErrorRecorder(nullptr);
}

TEST(Effects, OfEverySerializationFlag) {
  for (int32_t i = 0; i < nv::EnumMax<nv::SerializationFlag>(); ++i) {
    Scene scene;
    engine(scene);
    const std::unique_ptr<nv::ISerializationConfig> how(scene.engine->createSerializationConfig());
    EXPECT_TRUE(how->setFlag(static_cast<nv::SerializationFlag>(i)));
    const std::unique_ptr<nv::IHostMemory> plan(scene.engine->serializeWithConfig(*how));
    EXPECT_EQ(plan == nullptr ? scene.log.errors.size() : scene.log.warnings.size(), 1U) << "flag " << i;
    if (plan != nullptr) {
      const auto& line = scene.log.warnings.at(0);
      EXPECT_TRUE(isOnThePage(line.substr(0, line.find(": ")))) << line;
    }
  }
}

TEST(Effects, OfTheContext) {
  IDLE_CALL(IExecutionContext, setPersistentCacheLimit, context, size_t{1} << 20);
  REFUSED(IExecutionContext, setTemporaryStorageAllocator, context, "is not supported yet", &theAllocator());
  SHOWN_BY(IExecutionContext, setUnfusedTensorsDebugState, "api/objects/debug_test.cpp");
  REFUSED(IExecutionContext, setCommunicator, context, "is not supported yet", nullptr);
  SEEN(IExecutionContext, setName);
  EXPECT_TRUE(isOnThePage("IExecutionContext::setName"));
  SHOWN_BY(IExecutionContext, setProfiler, "api/objects/engine_test.cpp");
  SHOWN_BY(IExecutionContext, setDeviceMemoryV2, "api/objects/hooks_test.cpp");
  SHOWN_BY(IExecutionContext, setInputShape, "api/objects/engine_test.cpp");
  SHOWN_BY(IExecutionContext, setOptimizationProfileAsync, "api/objects/fixed_extents_test.cpp");
  SHOWN_BY(IExecutionContext, setTensorAddress, "api/objects/engine_test.cpp");
  SHOWN_BY(IExecutionContext, setInputTensorAddress, "api/objects/engine_test.cpp");
  SHOWN_BY(IExecutionContext, setOutputAllocator, "api/objects/hooks_test.cpp");
  SHOWN_BY(IExecutionContext, setNvtxVerbosity, "api/objects/hooks_test.cpp");
  SHOWN_BY(IExecutionContext, setAuxStreams, "runtime/streams_test.cpp");
  SHOWN_BY(IExecutionContext, setDebugListener, "api/objects/debug_test.cpp");
  SHOWN_BY(IExecutionContext, setTensorDebugState, "api/objects/debug_test.cpp");
  SHOWN_BY(IExecutionContext, setAllTensorsDebugState, "api/objects/debug_test.cpp");
  SEEN(IExecutionContext, setErrorRecorder);
  Scene scene;
  Recorder recorder;
  context(scene)->setErrorRecorder(&recorder);
  scene.context->getTensorShape("nothing");
  EXPECT_EQ(recorder.texts.size(), 1U);
  scene.context->setErrorRecorder(nullptr);
}

TEST(Effects, OfMemoryOfTheCaller) {
  Scene scene;
  auto& context = *chain(scene, nv::ExecutionContextAllocationStrategy::kUSER_MANAGED);
  std::vector<float> x(144, 1);
  float y = 0;
  ASSERT_GT(scene.engine->getDeviceMemorySizeV2(), 0);
  EXPECT_TRUE(context.setTensorAddress("x", x.data()));
  SEEN(IExecutionContext, setOutputTensorAddress);
  EXPECT_TRUE(context.setOutputTensorAddress("y", &y));
  EXPECT_FALSE(context.enqueueV3(nullptr));
  std::vector<char> memory(static_cast<size_t>(scene.engine->getDeviceMemorySizeV2()) + 256);
  SEEN(IExecutionContext, setDeviceMemory);
  context.setDeviceMemory(memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256));
  EXPECT_TRUE(context.enqueueV3(nullptr));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_FLOAT_EQ(y, 0.25F);
}

class Times final : public nv::IProfiler {
 public:
  void reportLayerTime(const char*, float) noexcept override { ++layers; }
  int layers = 0;
};

// Work of another's on a stream, until `open`.
void hold(void* open) {
  while (!static_cast<std::atomic<bool>*>(open)->load()) std::this_thread::yield();
}

TEST(Effects, OfWaitingForAnExecution) {
  Scene scene;
  auto& context = *chain(scene, nv::ExecutionContextAllocationStrategy::kSTATIC);
  std::vector<float> x(144, 1);
  float y = 0;
  context.setTensorAddress("x", x.data());
  context.setTensorAddress("y", &y);
  Times times;
  SEEN(IExecutionContext, setEnqueueEmitsProfile);
  context.setProfiler(&times);
  context.setEnqueueEmitsProfile(false);
  EXPECT_TRUE(context.enqueueV3(nullptr));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(times.layers, 0);
  context.setEnqueueEmitsProfile(true);
  EXPECT_TRUE(context.enqueueV3(nullptr));
  EXPECT_GT(times.layers, 0);
  context.setProfiler(nullptr);

  cudaStream_t stream{};
  cudaEvent_t consumed{};
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&consumed, cudaEventDisableTiming), cudaSuccess);
  SEEN(IExecutionContext, setInputConsumedEvent);
  EXPECT_TRUE(context.setInputConsumedEvent(consumed));
  std::atomic<bool> open = false;
  ASSERT_EQ(cudaLaunchHostFunc(stream, &hold, &open), cudaSuccess);
  EXPECT_TRUE(context.enqueueV3(stream));
  EXPECT_EQ(cudaEventQuery(consumed), cudaErrorNotReady);
  open = true;
  EXPECT_EQ(cudaEventSynchronize(consumed), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

  SEEN(IExecutionContext, setDebugSync);
  context.setDebugSync(true);
  open = false;
  y = 0;
  ASSERT_EQ(cudaLaunchHostFunc(stream, &hold, &open), cudaSuccess);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    open = true;
  });
  EXPECT_TRUE(context.enqueueV3(stream));
  EXPECT_TRUE(open) << "the call returned before its work was done";
  EXPECT_FLOAT_EQ(y, 0.25F);
  opener.join();
  cudaEventDestroy(consumed);
  cudaStreamDestroy(stream);
}

// What these files show, against the table of the interface.
TEST(Effects, AreShownOfTheWholeInterface) {
  std::set<std::string> shown;
  for (const char* file : {"effects_layers_test.cpp", "effects_choosing_layers_test.cpp", "effects_options_test.cpp",
                           "effects_objects_test.cpp"}) {
    shown.merge(named(std::string(TENON_SETTERS_FOLDER) + "/" + file,
                      "(?:CHANGES|REFUSED|IDLE|IDLE_CALL|SHOWN_BY|SEEN)\\((I\\w+), (\\w+)"));
  }
  const auto all = interfaceFunctions(std::regex("(set|mark|unmark|clear|reset|remove)\\w*"));
  for (const auto& name : all) EXPECT_EQ(shown.count(name), 1U) << name << " is shown to do something by no test";
  EXPECT_GT(all.size(), 170U);
}

}  // namespace
}  // namespace setters
