// Builder, configuration and profiles: defaults, setters, and what a build refuses.
#include "fixture.h"

namespace {

using nv::BuilderFlag;
using nv::OptProfileSelector;

class BuilderFacts : public ObjectTest {};

TEST(EntryPoints, Versions) {
  EXPECT_EQ(getInferLibVersion(), NV_TENSORRT_VERSION);
  EXPECT_EQ(getInferLibMajorVersion(), 10);
  EXPECT_EQ(getInferLibMinorVersion(), 16);
  EXPECT_NE(getPluginRegistry(), nullptr);
  EXPECT_EQ(getPluginRegistry(), nv::getBuilderPluginRegistry(nv::EngineCapability::kSTANDARD));
  EXPECT_FALSE(nv::setInternalLibraryPath(""));
}

TEST(EntryPoints, OlderCallersAreServedAndForeignOnesRefused) {
  KeptLog log;
  for (const int32_t version : {100000, 100300, 101600, 101602}) {
    const std::unique_ptr<nv::IBuilder> builder(static_cast<nv::IBuilder*>(createInferBuilder_INTERNAL(&log, version)));
    EXPECT_NE(builder, nullptr) << version;
  }
  EXPECT_EQ(createInferBuilder_INTERNAL(&log, 8601), nullptr);
  ASSERT_EQ(log.errors.size(), 1U);
  EXPECT_NE(log.errors[0].find("version 8.6.1 requested; this library serves 10.0 to 10.16"), std::string::npos);
  EXPECT_EQ(createInferRuntime_INTERNAL(&log, 101700), nullptr);
  EXPECT_NE(log.errors.back().find("10.17.0"), std::string::npos);
  EXPECT_EQ(createInferBuilder_INTERNAL(nullptr, 101600), nullptr);
  EXPECT_NE(getLogger(), nullptr);
}

TEST_F(BuilderFacts, ConfigurationDefaults) {
  config.reset(builder->createBuilderConfig());
  EXPECT_EQ(config->getFlags(), 1U << static_cast<int>(BuilderFlag::kTF32));
  EXPECT_EQ(config->getAvgTimingIterations(), 1);
  EXPECT_EQ(config->getBuilderOptimizationLevel(), 3);
  EXPECT_EQ(config->getNbOptimizationProfiles(), 0);
  EXPECT_EQ(config->getProfilingVerbosity(), nv::ProfilingVerbosity::kLAYER_NAMES_ONLY);
  EXPECT_EQ(config->getDefaultDeviceType(), nv::DeviceType::kGPU);
  EXPECT_EQ(config->getEngineCapability(), nv::EngineCapability::kSTANDARD);
  EXPECT_EQ(config->getHardwareCompatibilityLevel(), nv::HardwareCompatibilityLevel::kNONE);
  EXPECT_EQ(config->getMaxNbTactics(), -1);
  EXPECT_EQ(config->getTimingCache(), nullptr);
  EXPECT_EQ(config->getProgressMonitor(), nullptr);
  EXPECT_EQ(config->getMemoryPoolLimit(nv::MemoryPoolType::kDLA_LOCAL_DRAM), size_t{1} << 30);
  EXPECT_EQ(config->getTilingOptimizationLevel(), nv::TilingOptimizationLevel::kNONE);
}

TEST_F(BuilderFacts, ConfigurationKeepsWhatIsSetAndResets) {
  config->setFlag(BuilderFlag::kFP16);
  config->clearFlag(BuilderFlag::kTF32);
  EXPECT_TRUE(config->getFlag(BuilderFlag::kFP16));
  EXPECT_FALSE(config->getFlag(BuilderFlag::kTF32));
  config->setMemoryPoolLimit(nv::MemoryPoolType::kWORKSPACE, 12345);
  EXPECT_EQ(config->getMemoryPoolLimit(nv::MemoryPoolType::kWORKSPACE), 12345U);
  config->setPreviewFeature(nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03, true);
  EXPECT_TRUE(config->getPreviewFeature(nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03));
  const char* plugins[] = {"a.so", "b.so"};
  config->setPluginsToSerialize(plugins, 2);
  EXPECT_STREQ(config->getPluginToSerialize(1), "b.so");
  EXPECT_EQ(config->getPluginToSerialize(2), nullptr);
  config->setAvgTimingIterations(0);
  expectError("at least 1");
  EXPECT_FALSE(config->setTacticSources(1U << 20));
  expectError("not a tactic source");
  config->reset();
  EXPECT_FALSE(config->getFlag(BuilderFlag::kFP16));
  EXPECT_EQ(config->getNbPluginsToSerialize(), 0);
}

TEST_F(BuilderFacts, ProfilesKeepRanges) {
  auto* profile = builder->createOptimizationProfile();
  EXPECT_EQ(profile->getDimensions("x", OptProfileSelector::kMIN).nbDims, -1);
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 3})));
  EXPECT_FALSE(profile->isValid());
  EXPECT_FALSE(profile->setDimensions("x", OptProfileSelector::kOPT, dims({1})));
  expectError("another rank");
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 3})));
  EXPECT_TRUE(profile->setDimensions("x", OptProfileSelector::kMAX, dims({4, 3})));
  EXPECT_TRUE(profile->isValid());
  EXPECT_EQ(extents(profile->getDimensions("x", OptProfileSelector::kMAX)), (std::vector<int64_t>{4, 3}));
  const int64_t values[] = {5, 6};
  EXPECT_TRUE(profile->setShapeValuesV2("s", OptProfileSelector::kMIN, values, 2));
  EXPECT_EQ(profile->getNbShapeValues("s"), 2);
  EXPECT_EQ(profile->getShapeValuesV2("s", OptProfileSelector::kMIN)[1], 6);
  EXPECT_EQ(profile->getShapeValues("s", OptProfileSelector::kMIN)[1], 6);
  EXPECT_EQ(profile->getShapeValuesV2("s", OptProfileSelector::kMAX), nullptr);
  EXPECT_FALSE(profile->isValid());
  EXPECT_EQ(config->addOptimizationProfile(profile), -1);
  expectError("not valid");
  EXPECT_FALSE(profile->setExtraMemoryTarget(2));
  EXPECT_TRUE(profile->setExtraMemoryTarget(0.5F));
}

TEST_F(BuilderFacts, ANetworkWithoutOutputsIsRefused) {
  input("x", {2});
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("the network has no outputs");
}

TEST_F(BuilderFacts, ADynamicNetworkNeedsAProfileThatFits) {
  output(network->addUnary(input("frames", {-1, 3}), nv::UnaryOperation::kABS)->getOutput(0), "y");
  EXPECT_FALSE(builder->isNetworkSupported(*network, *config));
  expectError("input 'frames' [-1,3] is dynamic");
  auto* profile = builder->createOptimizationProfile();
  EXPECT_EQ(config->addOptimizationProfile(profile), 0);
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("its min, opt and max dimensions must be set");
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    profile->setDimensions("frame", select, dims({4, 2}));
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("must be set; the profile names what is no input of the network: 'frame'");
  for (const auto select : {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
    profile->setDimensions("frames", select, dims({4, 2}));
  }
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("the network fixes axis 1 to 3");
}

TEST_F(BuilderFacts, UnsupportedOptionsAreRefusedByName) {
  output(network->addUnary(input("x", {3}), nv::UnaryOperation::kABS)->getOutput(0), "y");
  EXPECT_TRUE(builder->isNetworkSupported(*network, *config));
  config->setFlag(BuilderFlag::kFP8);
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("BuilderFlag::kFP8 is not supported yet");
  config->reset();
  config->setEngineCapability(nv::EngineCapability::kSAFETY);
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("engine capability");
}

TEST_F(BuilderFacts, PrecisionsOfLayersAreObeyedPreferredOrIgnored) {
  auto* layer = network->addUnary(input("x", {3}), nv::UnaryOperation::kABS);
  layer->setName("absolute");
  output(layer->getOutput(0), "y");
  layer->setPrecision(nv::DataType::kBF16);  // that no flag permits
  EXPECT_EQ(builder->buildSerializedNetwork(*network, *config), nullptr);
  expectError("bf16 precision has been set for a layer or layer output, but bf16 is not configured in the builder");
  config->setFlag(BuilderFlag::kBF16);
  EXPECT_NE(engine(), nullptr);
  config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  EXPECT_NE(engine(), nullptr);
  config->clearFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  EXPECT_NE(engine(), nullptr);
  config->clearFlag(BuilderFlag::kBF16);
  layer->setPrecision(nv::DataType::kFLOAT);
  EXPECT_NE(engine(), nullptr);
  layer->setPrecision(nv::DataType::kBF16);
  layer->resetPrecision();
  EXPECT_NE(engine(), nullptr);
}

TEST_F(BuilderFacts, TimingCachesAreKeptAndDamagedOnesStartEmpty) {
  const std::unique_ptr<nv::ITimingCache> cache(config->createTimingCache(nullptr, 0));
  ASSERT_NE(cache, nullptr);
  EXPECT_TRUE(config->setTimingCache(*cache, false));
  EXPECT_EQ(config->getTimingCache(), cache.get());
  EXPECT_EQ(cache->queryKeys(nullptr, 0), 0);
  const std::unique_ptr<nv::IHostMemory> bytes(cache->serialize());
  ASSERT_NE(bytes, nullptr);
  const std::unique_ptr<nv::ITimingCache> again(config->createTimingCache(bytes->data(), bytes->size()));
  EXPECT_NE(again, nullptr);
  EXPECT_TRUE(cache->combine(*again, false));
  const std::unique_ptr<nv::ITimingCache> damaged(config->createTimingCache("nonsense", 8));
  EXPECT_NE(damaged, nullptr);
}

TEST_F(BuilderFacts, TimesThatAreNoneAreRefused) {
  const std::unique_ptr<nv::ITimingCache> cache(config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(config->setTimingCache(*cache, false));
  config->setBuilderOptimizationLevel(3);
  output(network->addSoftMax(input("x", {3, 40}))->getOutput(0), "y");
  ASSERT_NE(engine(), nullptr);
  const int64_t count = cache->queryKeys(nullptr, 0);
  ASSERT_GT(count, 0);
  std::vector<nv::TimingCacheKey> keys(static_cast<size_t>(count));
  cache->queryKeys(keys.data(), count);
  for (const float time : {INFINITY, -INFINITY, -1.F}) {
    EXPECT_FALSE(cache->update(keys[0], {1, time})) << time;
    expectError("finite");
  }
  EXPECT_TRUE(cache->update(keys[0], {1, 1e-30F}));
  const std::unique_ptr<nv::IHostMemory> bytes(cache->serialize());
  const std::unique_ptr<nv::ITimingCache> again(config->createTimingCache(bytes->data(), bytes->size()));
  EXPECT_EQ(again->queryKeys(nullptr, 0), count);
  EXPECT_TRUE(cache->update(keys[0], {1, std::nanf("")}));  // takes the entry out
  EXPECT_EQ(cache->queryKeys(nullptr, 0), count - 1);
}

class SmallCreator final : public nv::IPluginCreatorV3One {
 public:
  nv::IPluginV3* createPlugin(const char*, const nv::PluginFieldCollection*, nv::TensorRTPhase) noexcept override {
    return nullptr;
  }
  const nv::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "small"; }
  const char* getPluginVersion() const noexcept override { return "7"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

TEST(PluginRegistry, CreatorsComeAndGo) {
  auto* registry = getPluginRegistry();
  SmallCreator creator;
  EXPECT_EQ(registry->getCreator("small", "7", ""), nullptr);
  EXPECT_TRUE(registry->registerCreator(creator, ""));
  EXPECT_EQ(registry->getCreator("small", "7", ""), &creator);
  EXPECT_EQ(registry->getCreator("small", "8", ""), nullptr);
  int32_t count = 0;
  EXPECT_NE(registry->getAllCreators(&count), nullptr);
  EXPECT_EQ(count, 1);
  EXPECT_FALSE(registry->registerCreator(creator, ""));
  EXPECT_TRUE(registry->deregisterCreator(creator));
  EXPECT_FALSE(registry->deregisterCreator(creator));
  EXPECT_EQ(registry->loadLibrary("there/is/no/such.so"), nullptr);
}

// A runtime has its own, behind which that of the process is searched, or the one that it is given.
TEST(PluginRegistry, OfRuntimes) {
  KeptLog log;
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log)), other(nv::createInferRuntime(log));
  auto& own = runtime->getPluginRegistry();
  const auto finds = [](nv::IPluginRegistry& registry) { return registry.getCreator("small", "7", "") != nullptr; };
  const auto count = [](nv::IPluginRegistry& registry, bool recursive) {
    int32_t result = 0;
    (void)(recursive ? registry.getAllCreatorsRecursive(&result) : registry.getAllCreators(&result));
    return result;
  };
  SmallCreator creator;
  ASSERT_TRUE(own.registerCreator(creator, ""));
  EXPECT_TRUE(finds(own));
  EXPECT_FALSE(finds(other->getPluginRegistry()));
  EXPECT_FALSE(finds(*getPluginRegistry()));
  EXPECT_TRUE(own.deregisterCreator(creator));
  ASSERT_TRUE(getPluginRegistry()->registerCreator(creator, ""));
  EXPECT_TRUE(finds(own));
  EXPECT_EQ(count(own, false), 0);
  EXPECT_EQ(count(own, true), count(*getPluginRegistry(), false));
  EXPECT_TRUE(own.isParentSearchEnabled());
  own.setParentSearchEnabled(false);
  EXPECT_FALSE(finds(own));
  EXPECT_EQ(count(own, true), 0);
  EXPECT_TRUE(finds(other->getPluginRegistry()));
  own.setParentSearchEnabled(true);
  auto& implementation = dynamic_cast<nv::apiv::VRuntime&>(*runtime);  // the public class does not have the setter
  implementation.setPluginRegistryParent(nullptr);
  EXPECT_FALSE(finds(own));
  implementation.setPluginRegistryParent(&other->getPluginRegistry());
  EXPECT_TRUE(finds(own)) << "behind that of the other runtime stands that of the process";
  EXPECT_TRUE(getPluginRegistry()->deregisterCreator(creator));
}

class KeptErrors final : public nv::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(texts.size()); }
  nv::ErrorCode getErrorCode(int32_t) const noexcept override { return nv::ErrorCode::kSUCCESS; }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override { return texts[static_cast<size_t>(index)].c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { texts.clear(); }
  bool reportError(nv::ErrorCode, ErrorDesc text) noexcept override {
    texts.emplace_back(text);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }
  std::vector<std::string> texts;
  RefCount references = 0;
};

TEST(PluginRegistry, UnknownLibraryHandlesAreRefused) {
  auto* registry = getPluginRegistry();
  KeptErrors errors;
  registry->setErrorRecorder(&errors);
  int nothing = 0;
  for (void* handle :
       {static_cast<void*>(nullptr), static_cast<void*>(&nothing), reinterpret_cast<void*>(uintptr_t{1})}) {
    errors.texts.clear();
    registry->deregisterLibrary(handle);
    ASSERT_EQ(errors.texts.size(), 1U);
    EXPECT_NE(errors.texts[0].find("is not the handle of a loaded library; expected one that loadLibrary() returned"),
              std::string::npos)
        << errors.texts[0];
  }
  registry->setErrorRecorder(nullptr);
  EXPECT_EQ(errors.references, 0);
}

// What the class of a message is called is what programs see in the headers, and it stands there once.
TEST_F(BuilderFacts, MessagesNamePublicFunctions) {
  auto& x = input("x", {2});
  output(network->addUnary(x, nv::UnaryOperation::kABS)->getOutput(0), "y");
  const auto loaded = engine();
  ASSERT_NE(loaded, nullptr);
  const std::unique_ptr<nv::IExecutionContext> context(loaded->createExecutionContext());
  network->addDistCollective(x, {}, {}, 0, nullptr, 0);
  network->getLayer(0)->setNbRanks(2);
  config->setRemoteAutoTuningConfig("x");
  runtime->loadRuntime("x");
  loaded->setWeightStreamingBudgetV2(1);
  context->setCommunicator(nullptr);
  EXPECT_EQ(log.errors.size(), 6U);
  for (const auto& error : log.errors) {
    const auto end = error.find(" is not supported yet");
    ASSERT_NE(end, std::string::npos) << error;
    const auto name = error.substr(0, end);
    EXPECT_EQ(name[0], 'I') << error;
    EXPECT_EQ(name.find(' '), std::string::npos) << error;
    EXPECT_EQ(error.find(name, 1), std::string::npos) << error;
  }
  log.errors.clear();
}

}  // namespace
