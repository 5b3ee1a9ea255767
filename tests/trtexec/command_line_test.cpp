// What whole command lines mean, and what is said about wrong ones.
#include "../../tools/trtexec/options/command_line.h"
#include "../../tools/trtexec/options/flag.h"
#include "../../tools/trtexec/options/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace tenon::trtexec {
namespace {

//! All flags that trtexec 10.16 knows.
constexpr std::string_view kAllFlags =
    "--onnx --minShapes --optShapes --maxShapes --minShapesCalib --optShapesCalib --maxShapesCalib --profile "
    "--calibProfile --inputIOFormats --outputIOFormats --memPoolSize --profilingVerbosity --avgTiming --refit "
    "--stripWeights --stripAllWeights --weightless --versionCompatible --vc --excludeLeanRuntime --pluginInstanceNorm "
    "--pi --uint8AsymmetricQuantizationDLA --reportCapabilityDLA --adjustForDLA --enablePluginOverride --useRuntime "
    "--leanDLLPath --monitorMemory --sparsity --noTF32 --fp16 --bf16 --int8 --fp8 --int4 --best --stronglyTyped "
    "--distributiveIndependence --directIO --precisionConstraints --layerPrecisions --layerOutputTypes "
    "--layerDeviceTypes --decomposableAttentions --calib --safe --dumpKernelText --buildDLAStandalone "
    "--allowGPUFallback --consistency --restricted --saveEngine --loadEngine --asyncFileReader --getPlanVersionOnly "
    "--tacticSources --noBuilderCache --noCompilationCache --errorOnTimingCacheMiss --timingCacheFile --preview "
    "--builderOptimizationLevel --maxTactics --hardwareCompatibilityLevel --runtimePlatform --tempdir "
    "--tempfileControls --maxAuxStreams --allowWeightStreaming --markDebug --markUnfusedTensorsAsDebugTensors "
    "--tilingOptimizationLevel --l2LimitForTiling --remoteAutoTuningConfig --refitFromOnnx --cpuOnly --skipInference "
    "--shapes --loadInputs --iterations --warmUp --duration --sleepTime --idleTime --infStreams --streams --exposeDMA "
    "--noDataTransfers --useManagedMemory --useSpinWait --threads --useCudaGraph --timeDeserialize --timeRefit "
    "--separateProfileRun --persistentCacheRatio --useProfile --allocationStrategy --saveDebugTensors "
    "--saveAllDebugTensors --weightStreamingBudget --verbose --avgRuns --percentile --dumpRefit --dumpOutput "
    "--dumpRawBindingsToFile --dumpProfile --dumpLayerInfo --dumpOptimizationProfile --exportTimes --exportOutput "
    "--exportProfile --exportLayerInfo --device --useDLACore --staticPlugins --plugins --dynamicPlugins "
    "--setPluginsToSerialize --ignoreParsedPluginLibs --safetyPlugins --help -h";

//! Reads the arguments after --onnx=m.
CommandLine read(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--onnx=m");
  return readCommandLine(arguments);
}

//! As read(), and the line must be good.
Options good(std::vector<std::string> arguments) {
  const CommandLine line = read(std::move(arguments));
  EXPECT_TRUE(line.errors.empty()) << line.errors.front();
  return line.options;
}

std::string firstError(std::vector<std::string> arguments) {
  const CommandLine line = read(std::move(arguments));
  return line.errors.empty() ? "" : line.errors.front();
}

TEST(FlagTable, KnowsEveryFlagOfTrtexecOnce) {
  std::istringstream names{std::string(kAllFlags)};
  int count = 0;
  for (std::string name; names >> name; ++count) {
    const Flag* flag = findFlag(name);
    ASSERT_NE(flag, nullptr) << name;
    EXPECT_NE(flag->status, FlagStatus::kRemoved) << name;
  }
  EXPECT_EQ(count, 126);
  std::set<std::string_view> seen;
  for (const Flag& flag : flagTable()) {
    EXPECT_TRUE(seen.insert(flag.name).second) << flag.name;
    EXPECT_FALSE(flag.text.empty()) << flag.name;
    const bool applied = flag.status == FlagStatus::kSupported || flag.status == FlagStatus::kDeprecated;
    EXPECT_EQ(flag.apply != nullptr, applied && flag.group != FlagGroup::kHelp) << flag.name;
    EXPECT_TRUE(flag.argument.empty() || flag.argument[0] == '=') << flag.name;
  }
}

TEST(FlagTable, EveryRefusalNamesTheFlag) {
  for (const Flag& flag : flagTable()) {
    if (flag.status != FlagStatus::kRefused && flag.status != FlagStatus::kRemoved) {
      continue;
    }
    const std::string argument = std::string(flag.name) + (flag.takesValue() ? "=1" : "");
    const CommandLine line = read({argument});
    ASSERT_EQ(line.errors.size(), 1u) << flag.name;
    EXPECT_EQ(line.errors[0].rfind(std::string(flag.name) + ": ", 0), 0u) << line.errors[0];
  }
}

TEST(FlagTable, HelpHasEverySupportedFlag) {
  const std::string help = helpText();
  const std::string markdown = flagTableMarkdown();
  for (const Flag& flag : flagTable()) {
    if (flag.status == FlagStatus::kSupported) {
      EXPECT_NE(help.find(std::string(flag.name) + std::string(flag.argument)), std::string::npos) << flag.name;
    }
    EXPECT_NE(markdown.find("| `" + std::string(flag.name) + "` |"), std::string::npos) << flag.name;
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(FlagTable, PagesForShellsHaveEverySupportedFlagAndNoOther) {
  const std::string pages[] = {manPage("Tenon"), bashCompletion(), zshCompletion(), fishCompletion()};
  for (const Flag& flag : flagTable()) {
    const std::string name(flag.name);
    const std::string dashed = name == "-h" ? "\\-h\\fR" : "\\-\\-" + name.substr(2) + "\\fR";
    const std::string in[] = {"\n\\fB" + dashed, " " + name, "'*" + name,
                              name == "-h" ? " -s h " : " -l " + name.substr(2) + " "};
    const std::string ends[] = {"", " ='", "[=", ""};
    for (size_t i = 0; i < std::size(pages); ++i) {
      bool found = false;
      for (size_t at = pages[i].find(in[i]); at != std::string::npos; at = pages[i].find(in[i], at + 1)) {
        found = found || ends[i].empty() || ends[i].find(pages[i][at + in[i].size()]) != std::string::npos;
      }
      const bool old = flag.status == FlagStatus::kDeprecated && i == 0;
      EXPECT_EQ(found, flag.status == FlagStatus::kSupported || old) << name << " on page " << i;
    }
  }
}

TEST(FlagTable, DocumentationIsUpToDate) {
  std::ifstream file("docs/trtexec.md");
  ASSERT_TRUE(file) << "run from the root of the repository";
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(flagTableMarkdown()), std::string::npos)
      << "replace the tables at the end of docs/trtexec.md by what `trtexec --help=markdown` prints";
}

TEST(CommandLine, WrongFlagsGetTheNearestRightOne) {
  EXPECT_EQ(firstError({"--saveEngin=x"}), "unknown flag --saveEngin; did you mean --saveEngine?");
  EXPECT_EQ(firstError({"--SAVEENGINE=x"}), "unknown flag --SAVEENGINE; did you mean --saveEngine?");
  EXPECT_EQ(firstError({"-fp16"}), "unknown flag -fp16; did you mean --fp16?");
  EXPECT_EQ(firstError({"--itertaions=1"}), "unknown flag --itertaions; did you mean --iterations?");
  EXPECT_EQ(firstError({"--completelyDifferentThing"}),
            "unknown flag --completelyDifferentThing; no flag has a similar name");
  EXPECT_NE(firstError({"model.onnx"}).find("--flag=value"), std::string::npos);
  EXPECT_NE(firstError({"a/model.onnx"}).find("; did you mean --onnx=a/model.onnx?"), std::string::npos);
}

TEST(CommandLine, OneLinePerProblem) {
  const CommandLine line =
      read({"--avgRuns=0", "--useDLACore=1", "--foo", "--percentile=101", "--duration=-2", "--workspace=16"});
  ASSERT_EQ(line.errors.size(), 6u);
  EXPECT_EQ(line.errors[1], "--useDLACore: not supported by Tenon yet: DLA");
  EXPECT_NE(line.errors[5].find("--memPoolSize=workspace:"), std::string::npos);
}

TEST(CommandLine, ModelOrEngineIsNeeded) {
  EXPECT_EQ(readCommandLine({"--fp16"}).errors.size(), 1u);
  EXPECT_TRUE(readCommandLine({"--loadEngine=e"}).errors.empty());
  EXPECT_EQ(readCommandLine({"--loadEngine=e", "--saveEngine=f"}).errors.size(), 1u);
  EXPECT_EQ(readCommandLine({"--onnx"}).errors.size(), 2u);
  EXPECT_EQ(readCommandLine({"--onnx="}).errors.size(), 2u);
}

TEST(CommandLine, PagesTakeTheWholeLine) {
  EXPECT_EQ(readCommandLine({"-h"}).page, Page::kHelp);
  EXPECT_EQ(readCommandLine({"--foo", "--help", "--onnx=m"}).page, Page::kHelp);
  EXPECT_EQ(readCommandLine({"--version"}).page, Page::kVersion);
  EXPECT_EQ(readCommandLine({"--onnx=m"}).page, Page::kNone);
  const std::pair<const char*, Page> forms[] = {{"--help=markdown", Page::kMarkdown},
                                                {"--help=man", Page::kMan},
                                                {"--help=bash", Page::kBash},
                                                {"--help=zsh", Page::kZsh},
                                                {"--help=fish", Page::kFish}};
  for (const auto& [argument, page] : forms) {
    EXPECT_EQ(readCommandLine({argument}).page, page) << argument;
  }
  EXPECT_EQ(firstError({"--help=html"}), "--help: 'html' is not one of markdown, man, bash, zsh, fish");
}

TEST(CommandLine, SwitchesAreOnWithAnyValue) {
  EXPECT_TRUE(good({"--fp16=0"}).build.fp16);
  EXPECT_TRUE(good({"--useCudaGraph"}).inference.cudaGraph);
  EXPECT_FALSE(good({}).inference.cudaGraph);
  EXPECT_FALSE(good({"--noTF32"}).build.tf32);
  EXPECT_EQ(read({"--fp16=0"}).warnings,
            std::vector<std::string>{"--fp16 is a switch: it is on, and the value '0' is ignored"});
  EXPECT_TRUE(read({"--fp16"}).warnings.empty());
}

TEST(CommandLine, ValuesMayHoldEqualsSigns) { EXPECT_EQ(good({"--saveEngine=a=b"}).build.saveEngine, "a=b"); }

TEST(CommandLine, OldNamesWorkAndAreMentioned) {
  const CommandLine line = read({"--streams=3", "--plugins=p.so", "--explicitBatch"});
  EXPECT_TRUE(line.errors.empty());
  EXPECT_EQ(line.options.inference.streams, 3);
  EXPECT_EQ(line.options.system.staticPlugins, (std::vector<std::string>{"p.so"}));
  EXPECT_EQ(line.warnings.size(), 3u);
}

TEST(CommandLine, MemoryPoolsTakeSuffixes) {
  const auto pools = good({"--memPoolSize=workspace:1.5,tacticSharedMem:64K"}).build.memoryPools;
  EXPECT_EQ(pools.at(nvinfer1::MemoryPoolType::kWORKSPACE), size_t{3} << 19);
  EXPECT_EQ(pools.at(nvinfer1::MemoryPoolType::kTACTIC_SHARED_MEMORY), size_t{64} << 10);
  EXPECT_NE(firstError({"--memPoolSize=dlaSRAM:1"}).find("DLA"), std::string::npos);
  EXPECT_NE(firstError({"--memPoolSize=workspace"}), "");
}

TEST(CommandLine, TacticSourcesAddAndRemove) {
  const BuildOptions build = good({"--tacticSources=-CUDNN,+cublaslt,+CUBLAS,-CUBLAS"}).build;
  EXPECT_EQ(build.tacticSourcesOn, 1U << static_cast<uint32_t>(nvinfer1::TacticSource::kCUBLAS_LT));
  EXPECT_EQ(build.tacticSourcesOff, (1U << static_cast<uint32_t>(nvinfer1::TacticSource::kCUDNN)) |
                                        (1U << static_cast<uint32_t>(nvinfer1::TacticSource::kCUBLAS)));
  EXPECT_NE(firstError({"--tacticSources=CUDNN"}), "");
}

TEST(CommandLine, FlagsWithoutEffectOnALoadedEngineAreSaid) {
  EXPECT_EQ(readCommandLine({"--loadEngine=e", "--fp16", "--skipInference", "--timingCacheFile=c"}).warnings,
            std::vector<std::string>{"without effect on the engine of --loadEngine: --fp16, --timingCacheFile"});
  EXPECT_EQ(readCommandLine({"--loadEngine=e", "--optShapes=a:1"}).warnings.size(), 1U);
}

TEST(CommandLine, OptionsThatTheLibraryAnswersArePassedOn) {
  using nvinfer1::PreviewFeature;
  const BuildOptions build = good({"--preview=+aliasedPluginIO1003,-profileSharing0806", "--tilingOptimizationLevel=3",
                                   "--l2LimitForTiling=1048576", "--monitorMemory", "--excludeLeanRuntime"})
                                 .build;
  EXPECT_EQ(build.previewFeatures,
            (std::vector<std::pair<PreviewFeature, bool>>{{PreviewFeature::kALIASED_PLUGIN_IO_10_03, true},
                                                          {PreviewFeature::kPROFILE_SHARING_0806, false}}));
  EXPECT_EQ(build.tilingLevel, nvinfer1::TilingOptimizationLevel::kFULL);
  EXPECT_EQ(build.l2LimitForTiling, int64_t{1} << 20);
  EXPECT_TRUE(build.monitorMemory);
  EXPECT_TRUE(build.excludeLeanRuntime);
  EXPECT_EQ(good({"--l2LimitForTiling=-1"}).build.l2LimitForTiling, int64_t{-1});
  EXPECT_EQ(firstError({"--preview=aliasedPluginIO1003"}),
            "--preview: 'aliasedPluginIO1003' begins with neither + nor -");
  EXPECT_EQ(firstError({"--preview=+tiling"}),
            "--preview: 'tiling' is not one of profileSharing0806, aliasedPluginIO1003, runtimeActivationResize, "
            "multiDeviceRuntime");
  EXPECT_NE(firstError({"--tilingOptimizationLevel=4"}), "");
  EXPECT_NE(firstError({"--l2LimitForTiling=-2"}), "");
}

TEST(CommandLine, ReportsNeedInference) {
  EXPECT_EQ(read({"--skipInference", "--dumpOutput", "--exportTimes=t"}).warnings,
            (std::vector<std::string>{"--dumpOutput has no effect with --skipInference: nothing is inferred",
                                      "--exportTimes has no effect with --skipInference: nothing is inferred"}));
  EXPECT_EQ(read({"--timeDeserialize", "--dumpProfile"}).warnings,
            std::vector<std::string>{"--dumpProfile has no effect with --timeDeserialize: nothing is inferred"});
  EXPECT_TRUE(read({"--skipInference", "--dumpLayerInfo", "--exportLayerInfo=l"}).warnings.empty());
}

TEST(CommandLine, WrongValuesAreRefused) {
  EXPECT_EQ(firstError({"--duration=inf"}), "--duration: 'inf' is not a number from 0 to 1000000000, without a unit");
  EXPECT_EQ(firstError({"--warmUp=200ms"}), "--warmUp: '200ms' is not a number from 0 to 1000000000, without a unit");
  EXPECT_EQ(firstError({"--iterations=99999999999"}),
            "--iterations: '99999999999' is not a whole number from 0 to 2147483647");
  EXPECT_EQ(firstError({"--builderOptimizationLevel=6"}),
            "--builderOptimizationLevel: '6' is not a whole number from 0 to 5");
}

TEST(CommandLine, PrecisionFlags) {
  EXPECT_NE(firstError({"--best", "--stronglyTyped"}), "");
  const CommandLine line = read({"--stronglyTyped", "--fp16"});
  EXPECT_FALSE(line.options.build.fp16);
  EXPECT_EQ(line.warnings.size(), 1u);
  const BuildOptions build =
      good({"--precisionConstraints=obey", "--layerPrecisions=*:fp16,'a:b':fp32", "--layerOutputTypes=x:fp32+int32"})
          .build;
  ASSERT_EQ(build.layerPrecisions.size(), 2u);
  EXPECT_EQ(build.layerPrecisions[1].first, "a:b");
  EXPECT_EQ(build.layerOutputTypes[0].second.size(), 2u);
  EXPECT_NE(firstError({"--layerPrecisions=*:fp8"}), "");
}

TEST(Shapes, WildcardsMatchOneRun) {
  EXPECT_TRUE(matchesName("a*", "abc"));
  EXPECT_TRUE(matchesName("*c", "abc"));
  EXPECT_TRUE(matchesName("a*c", "ac"));
  EXPECT_TRUE(matchesName("*", ""));
  EXPECT_FALSE(matchesName("ab*bc", "abc"));
  EXPECT_FALSE(matchesName("abc", "abcd"));
  const ShapeMap shapes{{"in*", {1}}, {"input", {2}}};
  EXPECT_EQ(*findShape(shapes, "input"), Shape{2});
  EXPECT_EQ(*findShape(shapes, "in2"), Shape{1});
  EXPECT_EQ(findShape(shapes, "other"), nullptr);
}

std::array<Shape, 3> bounds(const Options& options, int32_t profile, const std::string& name) {
  const auto& by = options.build.profiles.at(profile).bySelector;
  return {by[0].at(name), by[1].at(name), by[2].at(name)};
}

TEST(Shapes, MissingBoundsAreFilledIn) {
  using Bounds = std::array<Shape, 3>;
  EXPECT_EQ(bounds(good({"--optShapes=a:2"}), 0, "a"), (Bounds{Shape{2}, {2}, {2}}));
  EXPECT_EQ(bounds(good({"--minShapes=a:2"}), 0, "a"), (Bounds{Shape{2}, {2}, {2}}));
  EXPECT_EQ(bounds(good({"--maxShapes=a:2"}), 0, "a"), (Bounds{Shape{2}, {2}, {2}}));
  EXPECT_EQ(bounds(good({"--minShapes=a:1", "--optShapes=a:2"}), 0, "a"), (Bounds{Shape{1}, {2}, {2}}));
  EXPECT_EQ(bounds(good({"--optShapes=a:2", "--maxShapes=a:3"}), 0, "a"), (Bounds{Shape{2}, {2}, {3}}));
  EXPECT_EQ(bounds(good({"--minShapes=a:1", "--maxShapes=a:3"}), 0, "a"), (Bounds{Shape{1}, {3}, {3}}));
  EXPECT_NE(firstError({"--minShapes=a:4", "--maxShapes=a:3"}), "");
  EXPECT_NE(firstError({"--minShapes=a:1", "--maxShapes=a:3x3"}), "");
}

TEST(Shapes, ShapesAloneMakeAProfile) {
  const Options options = good({"--shapes=a:2x3,b:scalar"});
  EXPECT_EQ(bounds(options, 0, "a"), (std::array<Shape, 3>{Shape{2, 3}, {2, 3}, {2, 3}}));
  EXPECT_EQ(bounds(options, 0, "b")[1], Shape{});
  EXPECT_TRUE(readCommandLine({"--loadEngine=e", "--shapes=a:2"}).options.build.profiles.empty());
}

TEST(Shapes, ShapesAddOnlyTheNamesThatProfilesLack) {
  const Options options = good({"--minShapes=a:1", "--optShapes=a:4", "--maxShapes=a:8", "--shapes=a:6,b:5"});
  EXPECT_EQ(bounds(options, 0, "a"), (std::array<Shape, 3>{Shape{1}, {4}, {8}}));
  EXPECT_EQ(bounds(options, 0, "b"), (std::array<Shape, 3>{Shape{5}, {5}, {5}}));
  EXPECT_EQ(options.inference.shapes.at("a"), Shape{6});
}

TEST(Shapes, InferenceRunsTheOptimum) {
  EXPECT_EQ(good({"--minShapes=a:1", "--optShapes=a:4", "--maxShapes=a:8"}).inference.shapes.at("a"), Shape{4});
}

TEST(Shapes, ProfilesOwnTheFlagsDirectlyAfter) {
  const Options options = good({"--profile=0", "--minShapes=a:1", "--optShapes=a:2", "--maxShapes=a:3", "--profile=1",
                                "--optShapes=a:9", "--useProfile=1"});
  ASSERT_EQ(options.build.profiles.size(), 2u);
  EXPECT_EQ(bounds(options, 0, "a"), (std::array<Shape, 3>{Shape{1}, {2}, {3}}));
  EXPECT_EQ(bounds(options, 1, "a"), (std::array<Shape, 3>{Shape{9}, {9}, {9}}));
  EXPECT_EQ(options.inference.shapes.at("a"), Shape{9});
  // Not directly after: profile 0.
  EXPECT_EQ(bounds(good({"--profile=1", "--optShapes=a:9", "--fp16", "--maxShapes=a:7"}), 0, "a")[2], Shape{7});
  EXPECT_NE(firstError({"--profile=2", "--optShapes=a:1"}), "");
  EXPECT_NE(firstError({"--optShapes=a:1", "--useProfile=1"}), "");
  EXPECT_NE(firstError({"--optShapes=a:1", "--optShapes=a:2"}), "");
}

}  // namespace
}  // namespace tenon::trtexec
