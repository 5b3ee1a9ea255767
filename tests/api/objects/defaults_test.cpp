// Every default of builder, configuration, profile, runtime, engine settings and context, in one table each.
#include <unistd.h>

#include <cmath>

#include "fixture.h"

namespace {

// A getter with what it gives before anything was set.
struct Default {
  const char* getter;
  std::string got;
  std::string expected;
};

template <typename T>
std::string shown(T value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}", static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<T, const char*>) {
    return value == nullptr ? "null" : fmt::format("'{}'", value);
  } else if constexpr (std::is_pointer_v<T>) {
    return value == nullptr ? "null" : "an object";
  } else {
    return fmt::format("{}", value);
  }
}

template <typename T>
constexpr uint32_t bit(T value) {
  return 1U << static_cast<uint32_t>(value);
}

template <typename Got, typename Expected>
Default row(const char* getter, Got got, Expected expected) {
  return {getter, shown(got), shown(static_cast<Got>(expected))};
}

void check(const std::vector<Default>& table) {
  for (const auto& [getter, got, expected] : table) EXPECT_EQ(got, expected) << getter;
}

class Defaults : public ObjectTest {
 protected:
  std::unique_ptr<nv::ICudaEngine> small() {
    output(network->addUnary(input("x", {2}), nv::UnaryOperation::kABS)->getOutput(0), "y");
    return engine();
  }
};

TEST_F(Defaults, OfTheBuilder) {
  check({
      row("getMaxThreads", builder->getMaxThreads(), 1),
      row("getErrorRecorder", builder->getErrorRecorder(), nullptr),
      row("getLogger", builder->getLogger(), &log),
      row("getNbDLACores", builder->getNbDLACores(), 0),
      row("getMaxDLABatchSize", builder->getMaxDLABatchSize(), 0),
  });
}

TEST_F(Defaults, OfTheConfiguration) {
  config.reset(builder->createBuilderConfig());
  auto& c = *config;
  const auto pool = [&](nv::MemoryPoolType type) { return c.getMemoryPoolLimit(type); };
  const auto memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  using Pool = nv::MemoryPoolType;
  const auto table = [&] {
    return std::vector<Default>{
        row("getAvgTimingIterations", c.getAvgTimingIterations(), 1),
        row("getEngineCapability", c.getEngineCapability(), nv::EngineCapability::kSTANDARD),
        row("getInt8Calibrator", c.getInt8Calibrator(), nullptr),
        row("getFlags", c.getFlags(), bit(nv::BuilderFlag::kTF32)),
        row("getFlag(kTF32)", c.getFlag(nv::BuilderFlag::kTF32), true),
        row("getFlag(kFP16)", c.getFlag(nv::BuilderFlag::kFP16), false),
        row("getDeviceType", c.getDeviceType(nullptr), nv::DeviceType::kGPU),
        row("isDeviceTypeSet", c.isDeviceTypeSet(nullptr), false),
        row("getDefaultDeviceType", c.getDefaultDeviceType(), nv::DeviceType::kGPU),
        row("getDLACore", c.getDLACore(), -1),
        row("getProfileStream", c.getProfileStream(), nullptr),
        row("getNbOptimizationProfiles", c.getNbOptimizationProfiles(), 0),
        row("getCalibrationProfile", c.getCalibrationProfile(), nullptr),
        row("getProfilingVerbosity", c.getProfilingVerbosity(), nv::ProfilingVerbosity::kLAYER_NAMES_ONLY),
        row("getAlgorithmSelector", c.getAlgorithmSelector(), nullptr),
        row("getQuantizationFlags", c.getQuantizationFlags(), 0),
        row("getTacticSources", c.getTacticSources(),
            bit(nv::TacticSource::kEDGE_MASK_CONVOLUTIONS) | bit(nv::TacticSource::kJIT_CONVOLUTIONS)),
        row("getTimingCache", c.getTimingCache(), nullptr),
        row("getMemoryPoolLimit(kWORKSPACE)", pool(Pool::kWORKSPACE), memory),
        row("getMemoryPoolLimit(kDLA_MANAGED_SRAM)", pool(Pool::kDLA_MANAGED_SRAM), 0),
        row("getMemoryPoolLimit(kDLA_LOCAL_DRAM)", pool(Pool::kDLA_LOCAL_DRAM), size_t{1} << 30),
        row("getMemoryPoolLimit(kDLA_GLOBAL_DRAM)", pool(Pool::kDLA_GLOBAL_DRAM), size_t{1} << 29),
        row("getMemoryPoolLimit(kTACTIC_DRAM)", pool(Pool::kTACTIC_DRAM), memory),
        row("getMemoryPoolLimit(kTACTIC_SHARED_MEMORY)", pool(Pool::kTACTIC_SHARED_MEMORY), size_t{1} << 30),
        row("getPreviewFeature(kPROFILE_SHARING_0806)", c.getPreviewFeature(nv::PreviewFeature::kPROFILE_SHARING_0806),
            true),
        row("getPreviewFeature(kALIASED_PLUGIN_IO_10_03)",
            c.getPreviewFeature(nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03), false),
        row("getBuilderOptimizationLevel", c.getBuilderOptimizationLevel(), 3),
        row("getHardwareCompatibilityLevel", c.getHardwareCompatibilityLevel(), nv::HardwareCompatibilityLevel::kNONE),
        row("getNbPluginsToSerialize", c.getNbPluginsToSerialize(), 0),
        row("getPluginToSerialize", c.getPluginToSerialize(0), nullptr),
        row("getMaxAuxStreams", c.getMaxAuxStreams(), -1),
        row("getProgressMonitor", c.getProgressMonitor(), nullptr),
        row("getRuntimePlatform", c.getRuntimePlatform(), nv::RuntimePlatform::kSAME_AS_BUILD),
        row("getMaxNbTactics", c.getMaxNbTactics(), -1),
        row("getTilingOptimizationLevel", c.getTilingOptimizationLevel(), nv::TilingOptimizationLevel::kNONE),
        row("getL2LimitForTiling", c.getL2LimitForTiling(), -1),
        row("getRemoteAutoTuningConfig", c.getRemoteAutoTuningConfig(), ""),
    };
  };
  check(table());
  config->setDLACore(2);
  config->setAvgTimingIterations(9);
  config->setMemoryPoolLimit(Pool::kTACTIC_SHARED_MEMORY, 5);
  config->setMaxAuxStreams(4);
  config->setFlags(0);
  config->setBuilderOptimizationLevel(5);
  config->reset();
  check(table());
}

TEST_F(Defaults, OfTheNetworkAndItsTensors) {
  auto& x = input("x", {2, 3});
  auto* layer = network->addUnary(x, nv::UnaryOperation::kABS);
  check({
      row("INetworkDefinition::getName", network->getName(), "Unnamed Network 0"),
      row("getFlags", network->getFlags(), 0),
      row("hasImplicitBatchDimension", network->hasImplicitBatchDimension(), false),
      row("getNbOutputs", network->getNbOutputs(), 0),
      row("isDebugTensor", network->isDebugTensor(x), false),
      row("areWeightsMarkedRefittable", network->areWeightsMarkedRefittable("w"), false),
      row("getLocation", x.getLocation(), nv::TensorLocation::kDEVICE),
      row("getAllowedFormats", x.getAllowedFormats(), (1U << nv::EnumMax<nv::TensorFormat>()) - 1),
      row("dynamicRangeIsSet", x.dynamicRangeIsSet(), false),
      row("getDynamicRangeMin", std::isnan(x.getDynamicRangeMin()), true),
      row("getBroadcastAcrossBatch", x.getBroadcastAcrossBatch(), false),
      row("isShapeTensor", x.isShapeTensor(), false),
      row("isExecutionTensor", x.isExecutionTensor(), true),
      row("getDimensionName", x.getDimensionName(0), nullptr),
      row("getPrecision", layer->getPrecision(), nv::DataType::kFLOAT),
      row("precisionIsSet", layer->precisionIsSet(), false),
      row("outputTypeIsSet", layer->outputTypeIsSet(0), false),
      row("getMetadata", layer->getMetadata(), ""),
      row("getNbRanks", layer->getNbRanks(), 1),
  });
}

TEST_F(Defaults, OfAProfile) {
  const auto& profile = *builder->createOptimizationProfile();
  using Select = nv::OptProfileSelector;
  check({
      row("getDimensions", profile.getDimensions("x", Select::kOPT).nbDims, -1),
      row("getNbShapeValues", profile.getNbShapeValues("x"), -1),
      row("getShapeValues", profile.getShapeValues("x", Select::kMIN), nullptr),
      row("getShapeValuesV2", profile.getShapeValuesV2("x", Select::kMIN), nullptr),
      row("getExtraMemoryTarget", profile.getExtraMemoryTarget(), 1),
  });
}

TEST_F(Defaults, OfTheRuntime) {
  runtime.reset(nv::createInferRuntime(log));
  check({
      row("getDLACore", runtime->getDLACore(), -1),
      row("getNbDLACores", runtime->getNbDLACores(), 0),
      row("getMaxThreads", runtime->getMaxThreads(), 1),
      row("getErrorRecorder", runtime->getErrorRecorder(), nullptr),
      row("getLogger", runtime->getLogger(), &log),
      row("getTemporaryDirectory", runtime->getTemporaryDirectory(), nullptr),
      row("getTempfileControlFlags", runtime->getTempfileControlFlags(),
          bit(nv::TempfileControlFlag::kALLOW_IN_MEMORY_FILES) | bit(nv::TempfileControlFlag::kALLOW_TEMPORARY_FILES)),
      row("getEngineHostCodeAllowed", runtime->getEngineHostCodeAllowed(), false),
  });
  runtime->setTemporaryDirectory("/tmp");
  EXPECT_STREQ(runtime->getTemporaryDirectory(), "/tmp");
  runtime->setTemporaryDirectory(nullptr);
  EXPECT_EQ(runtime->getTemporaryDirectory(), nullptr);
}

TEST_F(Defaults, OfTheEngineAndItsSettings) {
  const auto loaded = small();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::ISerializationConfig> serialization(loaded->createSerializationConfig());
  const std::unique_ptr<nv::IRuntimeConfig> settings(loaded->createRuntimeConfig());
  const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
  check({
      row("getNbOptimizationProfiles", loaded->getNbOptimizationProfiles(), 1),
      row("getEngineCapability", loaded->getEngineCapability(), nv::EngineCapability::kSTANDARD),
      row("isRefittable", loaded->isRefittable(), false),
      row("getHardwareCompatibilityLevel", loaded->getHardwareCompatibilityLevel(),
          nv::HardwareCompatibilityLevel::kNONE),
      row("getProfilingVerbosity", loaded->getProfilingVerbosity(), nv::ProfilingVerbosity::kLAYER_NAMES_ONLY),
      row("getNbAuxStreams", loaded->getNbAuxStreams(), 0),
      row("getWeightStreamingBudgetV2", loaded->getWeightStreamingBudgetV2(), 0),
      row("getStreamableWeightsSize", loaded->getStreamableWeightsSize(), 0),
      row("getAliasedInputTensor", loaded->getAliasedInputTensor("y"), nullptr),
      row("getErrorRecorder", loaded->getErrorRecorder(), nullptr),
      row("ISerializationConfig::getFlags", serialization->getFlags(), 0),
      row("getExecutionContextAllocationStrategy", settings->getExecutionContextAllocationStrategy(),
          nv::ExecutionContextAllocationStrategy::kSTATIC),
      row("getExecutionContext", inspector->getExecutionContext(), nullptr),
      row("IEngineInspector::getErrorRecorder", inspector->getErrorRecorder(), nullptr),
  });
}

TEST_F(Defaults, OfTheContext) {
  const auto loaded = small();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  check({
      row("getDebugSync", context->getDebugSync(), false),
      row("getProfiler", context->getProfiler(), nullptr),
      row("getName", context->getName(), ""),
      row("getOptimizationProfile", context->getOptimizationProfile(), 0),
      row("getErrorRecorder", context->getErrorRecorder(), nullptr),
      row("getEnqueueEmitsProfile", context->getEnqueueEmitsProfile(), true),
      row("getTensorAddress", context->getTensorAddress("x"), nullptr),
      row("getOutputTensorAddress", context->getOutputTensorAddress("y"), nullptr),
      row("getInputConsumedEvent", context->getInputConsumedEvent(), nullptr),
      row("getOutputAllocator", context->getOutputAllocator("y"), nullptr),
      row("getTemporaryStorageAllocator", context->getTemporaryStorageAllocator(), nullptr),
      row("getPersistentCacheLimit", context->getPersistentCacheLimit(), 0),
      row("getNvtxVerbosity", context->getNvtxVerbosity(), nv::ProfilingVerbosity::kLAYER_NAMES_ONLY),
      row("getDebugListener", context->getDebugListener(), nullptr),
      row("getDebugState", context->getDebugState("x"), false),
      row("getUnfusedTensorsDebugState", context->getUnfusedTensorsDebugState(), false),
      row("getRuntimeConfig", context->getRuntimeConfig(), nullptr),
  });
}

class StronglyTyped : public ObjectTest {
 protected:
  void SetUp() override {
    ObjectTest::SetUp();
    network.reset(builder->createNetworkV2(bit(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  }
};

TEST_F(StronglyTyped, NetworksTakeTheTypesThatTheirTensorsHave) {
  auto* layer = network->addUnary(input("x", {2}), nv::UnaryOperation::kABS);
  nv::ITensor* y = layer->getOutput(0);
  y->setType(nv::DataType::kFLOAT);
  output(y, "y");
  y->setType(nv::DataType::kFLOAT);
  layer->setOutputType(0, nv::DataType::kFLOAT);
  EXPECT_FALSE(layer->outputTypeIsSet(0));
  EXPECT_EQ(y->getType(), nv::DataType::kFLOAT);
  EXPECT_NE(engine(), nullptr);
  y->setType(nv::DataType::kHALF);
  expectError("tensor 'y' is f32, expected f16 by setType");
  layer->setOutputType(0, nv::DataType::kHALF);
  expectError("output 0 is f32, expected f16");
  EXPECT_EQ(y->getType(), nv::DataType::kFLOAT);
  network->getInput(0)->setType(nv::DataType::kHALF);
  y->setType(nv::DataType::kHALF);  // which it is now
  y->setType(nv::DataType::kFLOAT);
  expectError("tensor 'y' is f16, expected f32 by setType");
}

}  // namespace
