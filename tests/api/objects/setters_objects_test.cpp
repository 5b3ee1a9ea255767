// Every setter of builder, configuration, profile, network, tensor, runtime and context with hostile values; and that
// no setter of the interface is missing here.
#include "object_scenes.h"

namespace setters {
namespace {

#define WALK(Class, setter, make) walk<nv::Class>(#Class "::" #setter, &nv::Class::setter, make)
#define WALK_THEN(Class, setter, make, after) walk<nv::Class>(#Class "::" #setter, &nv::Class::setter, make, after)

std::string nothing(Scene&) { return {}; }

// An execution, or an error that says why not.
std::string execute(Scene& s) {
  s.log.errors.clear();
  std::vector<float> x(144), y(144);
  void* bindings[] = {x.data(), y.data()};
  return s.context->executeV2(bindings) || !s.log.errors.empty() ? "" : "no execution and no error";
}

TEST(Setters, OfTheBuilder) {
  WALK(IBuilder, setGpuAllocator, builder);
  WALK(IBuilder, setErrorRecorder, builder);
  WALK(IBuilder, setMaxThreads, builder);
}

TEST(Setters, OfTheConfiguration) {
  WALK(IBuilderConfig, setAvgTimingIterations, config);
  WALK(IBuilderConfig, setEngineCapability, config);
  WALK(IBuilderConfig, setInt8Calibrator, config);
  WALK(IBuilderConfig, setFlags, config);
  WALK(IBuilderConfig, setFlag, config);
  WALK(IBuilderConfig, clearFlag, config);
  WALK(IBuilderConfig, setDeviceType, config);
  WALK(IBuilderConfig, resetDeviceType, config);
  WALK(IBuilderConfig, setDLACore, config);
  WALK(IBuilderConfig, setDefaultDeviceType, config);
  WALK(IBuilderConfig, setProfileStream, config);
  WALK(IBuilderConfig, addOptimizationProfile, config);
  WALK(IBuilderConfig, setProfilingVerbosity, config);
  WALK(IBuilderConfig, setAlgorithmSelector, config);
  WALK(IBuilderConfig, setCalibrationProfile, config);
  WALK(IBuilderConfig, setQuantizationFlags, config);
  WALK(IBuilderConfig, setQuantizationFlag, config);
  WALK(IBuilderConfig, clearQuantizationFlag, config);
  WALK(IBuilderConfig, setTacticSources, config);
  WALK(IBuilderConfig, setMemoryPoolLimit, config);
  WALK(IBuilderConfig, setPreviewFeature, config);
  WALK(IBuilderConfig, setBuilderOptimizationLevel, config);
  WALK(IBuilderConfig, setHardwareCompatibilityLevel, config);
  WALK(IBuilderConfig, setPluginsToSerialize, config);
  WALK(IBuilderConfig, setMaxAuxStreams, config);
  WALK(IBuilderConfig, setProgressMonitor, config);
  WALK(IBuilderConfig, setRuntimePlatform, config);
  WALK(IBuilderConfig, setMaxNbTactics, config);
  WALK(IBuilderConfig, setTilingOptimizationLevel, config);
  WALK(IBuilderConfig, setL2LimitForTiling, config);
  WALK(IBuilderConfig, setRemoteAutoTuningConfig, config);
}

TEST(Setters, OfAProfile) {
  WALK(IOptimizationProfile, setDimensions, profile);
  WALK(IOptimizationProfile, setShapeValues, profile);
  WALK(IOptimizationProfile, setShapeValuesV2, profile);
  WALK(IOptimizationProfile, setExtraMemoryTarget, profile);
  for (const int64_t extent : {int64_t{0}, int64_t{std::numeric_limits<int32_t>::max()}, kHuge}) {
    const auto outcome = inChild([&] {
      Scene scene;
      profile(scene)->setDimensions("x", nv::OptProfileSelector::kMAX, dims({extent, 4}));
      return build(scene);
    });
    EXPECT_EQ(outcome, "") << "IOptimizationProfile::setDimensions: a maximum of " << extent;
  }
}

TEST(Setters, OfATensor) {
  for (auto* tensor : {&inputTensor, &outputTensor}) {
    WALK(ITensor, setName, tensor);
    WALK(ITensor, setDimensions, tensor);
    WALK(ITensor, setType, tensor);
    WALK(ITensor, setDynamicRange, tensor);
    WALK(ITensor, setBroadcastAcrossBatch, tensor);
    WALK(ITensor, setLocation, tensor);
    WALK(ITensor, setAllowedFormats, tensor);
    WALK(ITensor, setDimensionName, tensor);
  }
}

TEST(Setters, OfTheNetwork) {
  WALK(INetworkDefinition, addInput, definition);
  WALK(INetworkDefinition, setName, definition);
  WALK(INetworkDefinition, setWeightsName, definition);
  WALK(INetworkDefinition, setErrorRecorder, definition);
  WALK(INetworkDefinition, markWeightsRefittable, definition);
  WALK(INetworkDefinition, unmarkWeightsRefittable, definition);
  WALK(INetworkDefinition, addConstant, definition);
}

TEST(Setters, OfTheRuntime) {
  WALK(IRuntime, setDLACore, runtime);
  WALK(IRuntime, setGpuAllocator, runtime);
  WALK(IRuntime, setErrorRecorder, runtime);
  WALK(IRuntime, setMaxThreads, runtime);
  WALK(IRuntime, setTemporaryDirectory, runtime);
  WALK(IRuntime, setTempfileControlFlags, runtime);
  WALK(IRuntime, setEngineHostCodeAllowed, runtime);
}

TEST(Setters, OfTheEngine) {
  WALK_THEN(ICudaEngine, setErrorRecorder, engine, &nothing);
  WALK_THEN(ICudaEngine, setWeightStreamingBudget, engine, &nothing);
  WALK_THEN(ICudaEngine, setWeightStreamingBudgetV2, engine, &nothing);
}

TEST(Setters, OfTheContext) {
  for (auto* make : {&context, &contextWithoutMemory}) {
    WALK_THEN(IExecutionContext, setDebugSync, make, &execute);
    WALK_THEN(IExecutionContext, setProfiler, make, &execute);
    WALK_THEN(IExecutionContext, setName, make, &execute);
    WALK_THEN(IExecutionContext, setDeviceMemory, make, &execute);
    WALK_THEN(IExecutionContext, setDeviceMemoryV2, make, &execute);
    WALK_THEN(IExecutionContext, setInputShape, make, &execute);
    WALK_THEN(IExecutionContext, setErrorRecorder, make, &execute);
    WALK_THEN(IExecutionContext, setOptimizationProfileAsync, make, &execute);
    WALK_THEN(IExecutionContext, setEnqueueEmitsProfile, make, &execute);
    WALK_THEN(IExecutionContext, setTensorAddress, make, &execute);
    WALK_THEN(IExecutionContext, setOutputTensorAddress, make, &execute);
    WALK_THEN(IExecutionContext, setInputTensorAddress, make, &execute);
    WALK_THEN(IExecutionContext, setInputConsumedEvent, make, &execute);
    WALK_THEN(IExecutionContext, setOutputAllocator, make, &execute);
    WALK_THEN(IExecutionContext, setTemporaryStorageAllocator, make, &execute);
    WALK_THEN(IExecutionContext, setPersistentCacheLimit, make, &execute);
    WALK_THEN(IExecutionContext, setNvtxVerbosity, make, &execute);
    WALK_THEN(IExecutionContext, setAuxStreams, make, &execute);
    WALK_THEN(IExecutionContext, setDebugListener, make, &execute);
    WALK_THEN(IExecutionContext, setTensorDebugState, make, &execute);
    WALK_THEN(IExecutionContext, setAllTensorsDebugState, make, &execute);
    WALK_THEN(IExecutionContext, setUnfusedTensorsDebugState, make, &execute);
    WALK_THEN(IExecutionContext, setCommunicator, make, &execute);
  }
}

// Functions of the network that add layers, with each of their numbers, lists and enumerators.
template <typename T>
void adds(const char* name, std::string (*add)(Scene&, const T&)) {
  eachValue<T>(name, [&](const T& value) -> std::string {
    Scene scene;
    network(scene);
    return add(scene, value);
  });
}

nv::ITensor& x(Scene& s) { return *s.network->getInput(0); }

// Takes the new layer's result as an output, where there is one.
std::string use(Scene& s, nv::ILayer* layer) {
  if (layer == nullptr) return s.log.errors.empty() ? "no layer and no error" : "";
  s.network->unmarkOutput(*s.network->getOutput(0));
  s.network->markOutput(*layer->getOutput(0));
  return build(s);
}

TEST(Setters, FunctionsThatAddLayers) {
  using nv::Dims;
  adds<int64_t>("addConvolutionNd, maps", [](Scene& s, const int64_t& maps) {
    return use(s, s.network->addConvolutionNd(x(s), maps, dims({3, 3}), Scene::floats(144), {}));
  });
  adds<Dims>("addConvolutionNd, kernel", [](Scene& s, const Dims& kernel) {
    return use(s, s.network->addConvolutionNd(x(s), 4, kernel, Scene::floats(144), {}));
  });
  adds<Dims>("addDeconvolutionNd, kernel", [](Scene& s, const Dims& kernel) {
    return use(s, s.network->addDeconvolutionNd(x(s), 4, kernel, Scene::floats(144), {}));
  });
  adds<int64_t>("addLRN, window",
                [](Scene& s, const int64_t& window) { return use(s, s.network->addLRN(x(s), window, 1, 1, 1)); });
  adds<nv::ScaleMode>("addScale", [](Scene& s, const nv::ScaleMode& mode) {
    return use(s, s.network->addScale(x(s), mode, {}, {}, {}));
  });
  adds<int32_t>("addScaleNd, axis", [](Scene& s, const int32_t& axis) {
    return use(s, s.network->addScaleNd(x(s), nv::ScaleMode::kCHANNEL, Scene::floats(4), {}, {}, axis));
  });
  adds<int32_t>("addConcatenation, inputs at null",
                [](Scene& s, const int32_t& count) { return use(s, s.network->addConcatenation(nullptr, count)); });
  adds<int32_t>("addEinsum, inputs at null",
                [](Scene& s, const int32_t& count) { return use(s, s.network->addEinsum(nullptr, count, "i->i")); });
  adds<uint32_t>("addReduce, axes", [](Scene& s, const uint32_t& axes) {
    return use(s, s.network->addReduce(x(s), nv::ReduceOperation::kSUM, axes, true));
  });
  adds<int32_t>("addTopK, k", [](Scene& s, const int32_t& k) {
    return use(s, s.network->addTopK(x(s), nv::TopKOperation::kMAX, k, 4));
  });
  adds<uint32_t>("addTopK, axes", [](Scene& s, const uint32_t& axes) {
    return use(s, s.network->addTopK(x(s), nv::TopKOperation::kMAX, 1, axes));
  });
  adds<int32_t>("addGather, axis",
                [](Scene& s, const int32_t& axis) { return use(s, s.network->addGather(x(s), s.ints({0}), axis)); });
  adds<nv::GatherMode>("addGatherV2", [](Scene& s, const nv::GatherMode& mode) {
    return use(s, s.network->addGatherV2(x(s), s.ints({0}), mode));
  });
  adds<Dims>("addSlice, start", [](Scene& s, const Dims& d) {
    return use(s, s.network->addSlice(x(s), d, dims({1, 1, 1, 1}), dims({1, 1, 1, 1})));
  });
  adds<Dims>("addSlice, size", [](Scene& s, const Dims& d) {
    return use(s, s.network->addSlice(x(s), dims({0, 0, 0, 0}), d, dims({1, 1, 1, 1})));
  });
  adds<Dims>("addSlice, stride", [](Scene& s, const Dims& d) {
    return use(s, s.network->addSlice(x(s), dims({0, 0, 0, 0}), dims({1, 2, 2, 2}), d));
  });
  adds<Dims>("addPoolingNd",
             [](Scene& s, const Dims& d) { return use(s, s.network->addPoolingNd(x(s), nv::PoolingType::kMAX, d)); });
  adds<Dims>("addPaddingNd", [](Scene& s, const Dims& d) {
    return use(s, s.network->addPaddingNd(x(s), d, dims({0, 0})));
  });
  adds<Dims>("addFill",
             [](Scene& s, const Dims& d) { return use(s, s.network->addFill(d, nv::FillOperation::kLINSPACE)); });
  adds<nv::FillOperation>("addFill, operation", [](Scene& s, const nv::FillOperation& op) {
    return use(s, s.network->addFill(dims({3}), op));
  });
  adds<nv::DataType>("addCast",
                     [](Scene& s, const nv::DataType& type) { return use(s, s.network->addCast(x(s), type)); });
  adds<uint32_t>("addNormalization, axes", [](Scene& s, const uint32_t& axes) {
    auto* ones = s.network->addConstant(dims({1, 4, 1, 1}), Scene::floats(4));
    return use(s, s.network->addNormalization(x(s), *ones->getOutput(0), *ones->getOutput(0), axes));
  });
  adds<int32_t>("addOneHot, axis",
                [](Scene& s, const int32_t& axis) { return use(s, s.network->addOneHot(x(s), x(s), x(s), axis)); });
  adds<const char*>("addAssertion",
                    [](Scene& s, const char* const& text) { return use(s, s.network->addAssertion(x(s), text)); });
  adds<const char*>("addEinsum", [](Scene& s, const char* const& text) {
    nv::ITensor* inputs[] = {&x(s)};
    return use(s, s.network->addEinsum(inputs, 1, text));
  });
}

// The setters that these files walk, against the table of the interface.
TEST(Setters, AreAllOfTheInterface) {
  std::set<std::string> walked;
  for (const char* file : {"setters_layers_test.cpp", "setters_objects_test.cpp"}) {
    walked.merge(named(std::string(TENON_SETTERS_FOLDER) + "/" + file,
                       "(?:WALK\\(|WALK_THEN\\(|eachValue<\\w+>\\(\")(I\\w+)(?:, |::)(\\w+)"));
  }
  // Whose arguments are objects: they cannot be wrong but by what these are.
  for (const char* name : {"IBuilderConfig::setTimingCache", "IMoELayer::setGatedWeights", "IMoELayer::setGatedBiases",
                           "IMoELayer::setQuantizationStatic", "IMoELayer::setQuantizationDynamicDblQ",
                           "IAttention::setMask", "IAttention::setNormalizationQuantizeScale"})
    walked.insert(name);
  const auto all = interfaceFunctions(std::regex("set\\w+"));
  for (const auto& name : all) EXPECT_EQ(walked.count(name), 1U) << name << " is walked by no test";
  EXPECT_GT(all.size(), 150U);
}

}  // namespace
}  // namespace setters
