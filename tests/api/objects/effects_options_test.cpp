// Every option of a configuration and a profile is honoured, refused by name, or said to change nothing.
#include <chrono>

#include "effects.h"
#include "object_scenes.h"

namespace setters {
namespace {

using nv::BuilderFlag;

// Work in which candidates differ: a convolution behind a softmax.
nv::IBuilderConfig* contraction(Scene& s) {
  auto& x = s.input("x", {1, 16, 24, 24});
  auto* layer = s.network->addConvolutionNd(*s.network->addSoftMax(x)->getOutput(0), 16, dims({3, 3}),
                                            Scene::floats(16 * 16 * 9), {});
  s.output(*layer);
  return s.config.get();
}

// Builds at a level at which candidates are measured; what the log says of `what`.
std::string saidWhileMeasuring(Scene& s, const std::string& what) {
  s.config->setBuilderOptimizationLevel(1);
  const std::unique_ptr<nv::IHostMemory> plan(s.builder->buildSerializedNetwork(*s.network, *s.config));
  EXPECT_NE(plan, nullptr) << fmt::format("{}", fmt::join(s.log.errors, "; "));
  for (const auto& line : s.log.notes) {
    if (line.find(what) != std::string::npos) return line;
  }
  return {};
}

int timed(Scene& s) {
  const auto line = saidWhileMeasuring(s, "Tactics: ");
  return line.empty() ? -1 : std::stoi(line.substr(line.find(':') + 2));
}

class Calibrator final : public nv::IInt8EntropyCalibrator2 {
 public:
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void**, const char**, int32_t) noexcept override { return false; }
  const void* readCalibrationCache(size_t&) noexcept override { return nullptr; }
  void writeCalibrationCache(const void*, size_t) noexcept override {}
};

// The whole enumeration. Flags that change nothing say so; those that are refused are named; the others are shown to
// work below, or in the file that is named beside them.
TEST(Effects, OfEveryBuilderFlag) {
  const std::set<BuilderFlag> working = {
      BuilderFlag::kTF32,  // on GPUs: tests/cuda/contraction_test.cpp
      BuilderFlag::kDISABLE_TIMING_CACHE,
      BuilderFlag::kERROR_ON_TIMING_CACHE_MISS,
      BuilderFlag::kDIRECT_IO,  // formats_test.cpp
      BuilderFlag::kOBEY_PRECISION_CONSTRAINTS,
      BuilderFlag::kPREFER_PRECISION_CONSTRAINTS,
      BuilderFlag::kMONITOR_MEMORY,
      BuilderFlag::kEDITABLE_TIMING_CACHE,  // editable_cache_test.cpp
  };
  Scene plain;
  config(plain);
  const auto before = outcomeOf(plain);
  for (int32_t i = 0; i < nv::EnumMax<BuilderFlag>(); ++i) {
    const auto flag = static_cast<BuilderFlag>(i);
    const auto now = after(&nv::IBuilderConfig::setFlag, &config, flag);
    if (working.count(flag) != 0) {
      EXPECT_EQ(now.errors.size() + now.warnings.size(), 0U) << "flag " << i;
    } else if (!now.errors.empty()) {
      ASSERT_EQ(now.errors.size(), 1U);
      const auto at = now.errors[0].find("BuilderFlag::k");
      ASSERT_NE(at, std::string::npos) << now.errors[0];
      EXPECT_NE(now.errors[0].find(" is not supported yet"), std::string::npos) << now.errors[0];
    } else {
      ASSERT_EQ(now.warnings.size(), 1U) << "flag " << i << " is taken silently";
      const auto option = now.warnings[0].substr(0, now.warnings[0].find(": "));
      EXPECT_TRUE(isOnThePage(option)) << now.warnings[0];
      EXPECT_EQ(now.plan, before.plan) << now.warnings[0];
    }
  }
  EXPECT_EQ(after(&nv::IBuilderConfig::setFlag, &config, BuilderFlag::kFP16).warnings,
            std::vector<std::string>{"BuilderFlag::kFP16: FP16 is allowed; the CPU computes in FP32"});
}

TEST(Effects, OfSettingFlags) {
  SEEN(IBuilderConfig, setFlag);
  REFUSED(IBuilderConfig, setFlag, config, "BuilderFlag::kREFIT is not supported yet", BuilderFlag::kREFIT);
  REFUSED(IBuilderConfig, setFlags, config, "BuilderFlag::kFP8", 1U << static_cast<uint32_t>(BuilderFlag::kFP8));
  SEEN(IBuilderConfig, clearFlag);
  Scene scene;
  config(scene)->setFlag(BuilderFlag::kREFIT);
  scene.config->clearFlag(BuilderFlag::kREFIT);
  EXPECT_FALSE(outcomeOf(scene).plan.empty());
  Scene monitored;
  config(monitored)->setFlag(BuilderFlag::kMONITOR_MEMORY);
  EXPECT_NE(saidWhileMeasuring(monitored, "Host memory after graph optimization: "), "");
  Scene unmonitored;
  config(unmonitored);
  EXPECT_EQ(saidWhileMeasuring(unmonitored, "Host memory"), "");
  Scene strict;
  contraction(strict)->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  strict.config->setBuilderOptimizationLevel(1);
  EXPECT_EQ(strict.builder->buildSerializedNetwork(*strict.network, *strict.config), nullptr);
  EXPECT_FALSE(strict.log.errors.empty());
}

TEST(Effects, OfPrecisionFlags) {
  struct Wanted {
    std::vector<BuilderFlag> flags;
    nv::DataType precision = nv::DataType::kHALF;
    bool stronglyTyped = false;
    bool ofOutput = false;
  };
  const auto build = [](const Wanted& wanted) {
    Scene s;
    if (wanted.stronglyTyped) {
      constexpr auto kFlag = nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED;
      s.network.reset(s.builder->createNetworkV2(1U << static_cast<uint32_t>(kFlag)));
    }
    auto* layer = s.network->addUnary(s.input("x", {2}), nv::UnaryOperation::kABS);
    layer->setName("absolute");
    if (!wanted.stronglyTyped && !wanted.ofOutput) layer->setPrecision(wanted.precision);
    if (wanted.ofOutput) layer->setOutputType(0, wanted.precision);
    s.output(*layer);
    for (const auto flag : wanted.flags) s.config->setFlag(flag);
    return outcomeOf(s);
  };
  constexpr auto kObey = BuilderFlag::kOBEY_PRECISION_CONSTRAINTS;
  constexpr auto kPrefer = BuilderFlag::kPREFER_PRECISION_CONSTRAINTS;
  // A type that no flag allows is an error, demanded or not.
  for (const auto flag : {kObey, kPrefer, BuilderFlag::kBF16}) {
    for (const bool ofOutput : {false, true}) {
      const auto refused = build({{flag}, nv::DataType::kHALF, false, ofOutput});
      EXPECT_TRUE(refused.plan.empty());
      ASSERT_EQ(refused.errors.size(), 1U);
      EXPECT_NE(refused.errors[0].find("fp16 precision has been set for a layer or layer output, but fp16 is not "
                                       "configured in the builder: layer 'absolute'; set BuilderFlag::kFP16"),
                std::string::npos)
          << refused.errors[0];
    }
  }
  // With the flag the CPU computes in it where a layer wants it, and there alone.
  const auto full = build({{BuilderFlag::kFP16}, nv::DataType::kFLOAT});
  EXPECT_EQ(full.plan.find("f16"), std::string::npos);
  EXPECT_TRUE(anyStarts(full.warnings, "BuilderFlag::kFP16: "));
  for (const auto flag : {kObey, kPrefer}) {
    for (const bool ofOutput : {false, true}) {
      const auto half = build({{BuilderFlag::kFP16, flag}, nv::DataType::kHALF, false, ofOutput});
      EXPECT_EQ(half.warnings, std::vector<std::string>{});
      EXPECT_NE(half.plan.find("f16"), std::string::npos);
    }
  }
  const auto ignored = build({{BuilderFlag::kFP16}, nv::DataType::kHALF, false, true});
  EXPECT_EQ(ignored.plan.find("f16"), std::string::npos);
  EXPECT_TRUE(anyStarts(ignored.warnings, "ILayer::setOutputType: "));
  EXPECT_TRUE(isOnThePage("ILayer::setOutputType"));
  // A type that a flag allows and nothing computes in.
  const auto unmet = build({{BuilderFlag::kINT8, kPrefer}, nv::DataType::kINT8});
  EXPECT_FALSE(unmet.plan.empty());
  EXPECT_TRUE(
      anyStarts(unmet.warnings,
                "No implementation of layer 'absolute' obeys the requested constraints: the requested precision "
                "i8 is ignored, since no kernel computes in it; the build chooses"));
  const auto obeyed = build({{BuilderFlag::kINT8, kObey}, nv::DataType::kINT8});
  EXPECT_TRUE(obeyed.plan.empty());
  ASSERT_EQ(obeyed.errors.size(), 1U);
  EXPECT_NE(obeyed.errors[0].find("Could not find any implementation for node absolute that obeys the requested "
                                  "constraints: no kernel computes a layer in i8"),
            std::string::npos)
      << obeyed.errors[0];
  EXPECT_TRUE(build({{kPrefer}, nv::DataType::kFLOAT}).warnings.empty());
  EXPECT_TRUE(build({{kObey}, nv::DataType::kINT32}).errors.empty());
  const auto typed = build({{BuilderFlag::kFP16}, nv::DataType::kFLOAT, true});
  ASSERT_EQ(typed.warnings.size(), 1U);
  EXPECT_TRUE(anyStarts(typed.warnings, "NetworkDefinitionCreationFlag::kSTRONGLY_TYPED: "));
  EXPECT_TRUE(isOnThePage("NetworkDefinitionCreationFlag::kSTRONGLY_TYPED"));
}

// Many layers are a line for their type, not a line each.
TEST(Effects, OfManyPreferencesInOneLine) {
  Scene s;
  auto* last = &s.input("x", {2});
  for (int i = 0; i < 20; ++i) {
    auto* layer = s.network->addUnary(*last, nv::UnaryOperation::kNEG);
    layer->setName(fmt::format("n{}", i).c_str());
    layer->setPrecision(nv::DataType::kINT8);
    last = layer->getOutput(0);
  }
  s.network->markOutput(*last);
  s.config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  s.config->setFlag(BuilderFlag::kINT8);
  const auto now = outcomeOf(s);
  const auto found = std::find_if(now.warnings.begin(), now.warnings.end(),
                                  [](const auto& line) { return line.find("No implementation") == 0; });
  ASSERT_NE(found, now.warnings.end());
  EXPECT_NE(found->find("layers 'n0', 'n1'"), std::string::npos) << *found;
  EXPECT_NE(found->find("and 12 more obeys"), std::string::npos) << *found;
}

TEST(Effects, OfDevices) {
  REFUSED(IBuilderConfig, setDefaultDeviceType, config, "asks for DLA, and this machine has none",
          nv::DeviceType::kDLA);
  SEEN(IBuilderConfig, setDeviceType);
  Scene scene;
  config(scene)->setDeviceType(scene.network->getLayer(0), nv::DeviceType::kDLA);
  EXPECT_TRUE(outcomeOf(scene).plan.empty());
  scene.log.errors.clear();
  SEEN(IBuilderConfig, resetDeviceType);
  scene.config->resetDeviceType(scene.network->getLayer(0));
  EXPECT_FALSE(outcomeOf(scene).plan.empty());
  Scene fallback;
  config(fallback)->setDefaultDeviceType(nv::DeviceType::kDLA);
  fallback.config->setDLACore(0);
  fallback.config->setFlag(BuilderFlag::kGPU_FALLBACK);
  const auto now = outcomeOf(fallback);
  EXPECT_FALSE(now.plan.empty());
  ASSERT_EQ(now.warnings.size(), 1U);
  EXPECT_TRUE(anyStarts(now.warnings, "DeviceType::kDLA: there is no DLA"));
  EXPECT_TRUE(isOnThePage("DeviceType::kDLA"));
  IDLE(IBuilderConfig, setDLACore, config, "IBuilderConfig::setDLACore", 0);
}

TEST(Effects, OfOptionsThatAreRefused) {
  Calibrator calibrator;
  const char* plugins[] = {"plugin.so"};
  REFUSED(IBuilderConfig, setEngineCapability, config, "capability", nv::EngineCapability::kSAFETY);
  REFUSED(IBuilderConfig, setInt8Calibrator, config, "calibration (setInt8Calibrator)", &calibrator);
  REFUSED(IBuilderConfig, setHardwareCompatibilityLevel, config, "a hardware compatibility level",
          nv::HardwareCompatibilityLevel::kAMPERE_PLUS);
  REFUSED(IBuilderConfig, setRuntimePlatform, config, "a runtime platform", nv::RuntimePlatform::kWINDOWS_AMD64);
  REFUSED(IBuilderConfig, setRemoteAutoTuningConfig, config, "setRemoteAutoTuningConfig is not supported yet", "x");
  SEEN(IBuilderConfig, setPluginsToSerialize);
  Scene scene;
  config(scene)->setPluginsToSerialize(plugins, 1);
  EXPECT_TRUE(outcomeOf(scene).plan.empty());
  SEEN(IBuilderConfig, reset);
  scene.log.errors.clear();
  scene.config->reset();
  EXPECT_FALSE(outcomeOf(scene).plan.empty());
}

TEST(Effects, OfOptionsThatChangeNothing) {
  cudaStream_t stream{};
  const auto someStream = reinterpret_cast<cudaStream_t>(&stream);
  IDLE(IBuilderConfig, setProfileStream, config, "IBuilderConfig::setProfileStream", someStream);
  IDLE(IBuilderConfig, setQuantizationFlags, config, "IBuilderConfig::setQuantizationFlag", 1U);
  IDLE(IBuilderConfig, setQuantizationFlag, config, "IBuilderConfig::setQuantizationFlag",
       nv::QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  SEEN(IBuilderConfig, clearQuantizationFlag);
  Scene cleared;
  config(cleared)->setQuantizationFlags(1);
  cleared.config->clearQuantizationFlag(nv::QuantizationFlag::kCALIBRATE_BEFORE_FUSION);
  EXPECT_TRUE(outcomeOf(cleared).warnings.empty());
  IDLE(IBuilderConfig, setTacticSources, config, "IBuilderConfig::setTacticSources", 0U);
  IDLE(IBuilderConfig, setMaxAuxStreams, config, "IBuilderConfig::setMaxAuxStreams", 2);
  IDLE(IBuilderConfig, setTilingOptimizationLevel, config, "IBuilderConfig::setTilingOptimizationLevel",
       nv::TilingOptimizationLevel::kFAST);
  IDLE(IBuilderConfig, setL2LimitForTiling, config, "IBuilderConfig::setL2LimitForTiling", int64_t{0});
  SEEN(IBuilderConfig, setCalibrationProfile);
  Scene calibrated;
  config(calibrated)->setCalibrationProfile(calibrated.builder->createOptimizationProfile());
  EXPECT_TRUE(anyStarts(outcomeOf(calibrated).warnings, "IBuilderConfig::setCalibrationProfile: "));
  EXPECT_TRUE(isOnThePage("IBuilderConfig::setCalibrationProfile"));
  IDLE(IOptimizationProfile, setExtraMemoryTarget, profile, "IOptimizationProfile::setExtraMemoryTarget", 0.5F);
  EXPECT_TRUE(isOnThePage("BuilderFlag::kTF32"));
}

TEST(Effects, OfEveryPreviewFeature) {
  SEEN(IBuilderConfig, setPreviewFeature);
  for (int32_t i = 0; i < nv::EnumMax<nv::PreviewFeature>(); ++i) {
    Scene scene;
    const auto feature = static_cast<nv::PreviewFeature>(i);
    config(scene)->setPreviewFeature(feature, !scene.config->getPreviewFeature(feature));
    const auto now = outcomeOf(scene);
    EXPECT_FALSE(now.plan.empty());
    if (feature == nv::PreviewFeature::kALIASED_PLUGIN_IO_10_03) {  // what needs it: tests/plugins/alias_test.cpp
      EXPECT_TRUE(now.warnings.empty());
      continue;
    }
    ASSERT_EQ(now.warnings.size(), 1U) << "preview feature " << i << " is taken silently";
    EXPECT_TRUE(isOnThePage(now.warnings[0].substr(0, now.warnings[0].find(": ")))) << now.warnings[0];
  }
}

TEST(Effects, OfEveryMemoryPool) {
  SEEN(IBuilderConfig, setMemoryPoolLimit);
  for (int32_t i = 0; i < nv::EnumMax<nv::MemoryPoolType>(); ++i) {
    const auto pool = static_cast<nv::MemoryPoolType>(i);
    Scene scene;
    config(scene)->setMemoryPoolLimit(pool, size_t{1} << 20);
    const auto now = outcomeOf(scene);
    EXPECT_FALSE(now.plan.empty());
    if (pool == nv::MemoryPoolType::kWORKSPACE) {
      EXPECT_TRUE(now.warnings.empty());
      continue;
    }
    ASSERT_EQ(now.warnings.size(), 1U) << "memory pool " << i << " is taken silently";
    EXPECT_TRUE(isOnThePage(now.warnings[0].substr(0, now.warnings[0].find(": ")))) << now.warnings[0];
  }
}

TEST(Effects, OfHowABuilderMeasures) {
  SEEN(IBuilderConfig, setBuilderOptimizationLevel);
  Scene scene;
  contraction(scene);
  const int whole = timed(scene);
  EXPECT_GT(whole, 1);
  Scene none;
  contraction(none)->setBuilderOptimizationLevel(0);
  delete none.builder->buildSerializedNetwork(*none.network, *none.config);
  EXPECT_TRUE(anyStarts(none.log.notes, "Tactics: 0 timed"));
  SEEN(IBuilderConfig, setMaxNbTactics);
  Scene few;
  contraction(few)->setMaxNbTactics(1);
  EXPECT_LT(timed(few), whole);
  SEEN(IBuilderConfig, setTimingCache);
  Scene cached;
  const std::unique_ptr<nv::ITimingCache> cache(contraction(cached)->createTimingCache(nullptr, 0));
  cached.config->setTimingCache(*cache, false);
  EXPECT_GT(timed(cached), 1);  // how many, the times decide: layouts that gain nothing are not measured everywhere
  cached.log.notes.clear();
  EXPECT_EQ(timed(cached), 0) << "the second build has the times of the first";
  cached.log.notes.clear();
  cached.config->setFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
  EXPECT_GT(timed(cached), 1) << "the cache is not read";
  SEEN(IBuilderConfig, setAvgTimingIterations);
  const auto seconds = [](int32_t iterations) {
    Scene s;
    contraction(s)->setAvgTimingIterations(iterations);
    const auto start = std::chrono::steady_clock::now();
    saidWhileMeasuring(s, "-");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_GT(seconds(10000), seconds(1)) << "more measurements take longer";
}

TEST(Effects, OfWhatABuilderShows) {
  CHANGES(IOptimizationProfile, setDimensions, profile, "x", nv::OptProfileSelector::kMAX, dims({3, 4}));
  SHOWN_BY(IOptimizationProfile, setShapeValuesV2, "api/objects/engine_test.cpp");
  SEEN(IOptimizationProfile, setShapeValues);
  Scene scene;
  const int32_t values[] = {1, 2};
  auto* shapes = profile(scene);
  EXPECT_TRUE(shapes->setShapeValues("s", nv::OptProfileSelector::kMIN, values, 2));
  EXPECT_EQ(shapes->getShapeValuesV2("s", nv::OptProfileSelector::kMIN)[1], 2);  // as the other setter would have done
  SEEN(IBuilderConfig, setProfilingVerbosity);
  SHOWN_BY(IBuilderConfig, setProfilingVerbosity, "api/objects/inspector_test.cpp");
  SHOWN_BY(IBuilderConfig, setProgressMonitor, "api/objects/hooks_test.cpp");
  SHOWN_BY(IBuilderConfig, setAlgorithmSelector, "api/objects/algorithm_selector_test.cpp");
}

}  // namespace
}  // namespace setters
