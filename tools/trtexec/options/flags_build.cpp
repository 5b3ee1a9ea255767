// Flag rows: the model and how an engine is built from it.
#include "flag.h"
#include "values.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace tenon::trtexec {

namespace {

using Text = std::string_view;
using Context = FlagContext;
using nvinfer1::TacticSource;
constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
constexpr auto kOn = FlagStatus::kSupported;
constexpr auto kModel = FlagGroup::kModel;
constexpr auto kBuild = FlagGroup::kBuild;

void setShapes(Context& context, size_t selector, Text text) {
  // Only flags directly after --profile belong to its index; all others speak of profile 0.
  const int32_t index = context.profileFlagsLeft-- > 0 ? context.profile : 0;
  ShapeMap& shapes = context.options.build.profiles[index].bySelector[selector];
  if (!shapes.empty()) {
    throw std::invalid_argument(
        fmt::format("profile {} has these shapes already; start another profile with --profile=<index>", index));
  }
  shapes = readShapes(text);
}

void startProfile(Context& context, Text text) {
  context.profile = readInt(text, 0, kMost);
  context.profileFlagsLeft = 3;
  context.options.build.profiles[context.profile];
}

std::vector<IoFormat> readIoFormats(Text text) {
  std::vector<IoFormat> formats;
  for (const std::string& part : splitList(text, ',')) {
    formats.push_back(readIoFormat(part));
  }
  return formats;
}

void setMemoryPools(Context& context, Text text) {
  for (const auto& [pool, size] : readPairs(text)) {
    if (pool.substr(0, 3) == "dla") {
      throw std::invalid_argument(fmt::format("pool {}: Tenon has no DLA", pool));
    }
    const size_t choice = readChoice(pool, {"workspace", "tacticSharedMem"});
    const auto type =
        choice == 0 ? nvinfer1::MemoryPoolType::kWORKSPACE : nvinfer1::MemoryPoolType::kTACTIC_SHARED_MEMORY;
    context.options.build.memoryPools[type] = readSize(size, size_t{1} << 20);
  }
}

void setVerbosity(Context& context, Text text) {
  using nvinfer1::ProfilingVerbosity;
  const ProfilingVerbosity levels[] = {ProfilingVerbosity::kLAYER_NAMES_ONLY, ProfilingVerbosity::kDETAILED,
                                       ProfilingVerbosity::kNONE, ProfilingVerbosity::kLAYER_NAMES_ONLY,
                                       ProfilingVerbosity::kDETAILED};
  context.options.build.profilingVerbosity =
      levels[readChoice(text, {"layer_names_only", "detailed", "none", "default", "verbose"})];
}

std::string upperCase(Text text) {
  std::string upper(text);
  for (char& c : upper) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return upper;
}

// Entries +<name> and -<name>, as the name and whether it is switched on.
std::vector<std::pair<std::string, bool>> readSigned(Text text) {
  std::vector<std::pair<std::string, bool>> entries;
  for (const std::string& entry : splitList(text, ',')) {
    if (entry.empty() || (entry[0] != '+' && entry[0] != '-')) {
      throw std::invalid_argument(fmt::format("'{}' begins with neither + nor -", entry));
    }
    entries.emplace_back(entry.substr(1), entry[0] == '+');
  }
  return entries;
}

void setTacticSources(Context& context, Text text) {
  const TacticSource sources[] = {TacticSource::kCUBLAS,
                                  TacticSource::kCUBLAS_LT,
                                  TacticSource::kCUBLAS_LT,
                                  TacticSource::kCUDNN,
                                  TacticSource::kEDGE_MASK_CONVOLUTIONS,
                                  TacticSource::kJIT_CONVOLUTIONS};
  for (const auto& [entry, on] : readSigned(text)) {
    const size_t choice = readChoice(
        upperCase(entry), {"CUBLAS", "CUBLAS_LT", "CUBLASLT", "CUDNN", "EDGE_MASK_CONVOLUTIONS", "JIT_CONVOLUTIONS"});
    const uint32_t bit = 1U << static_cast<uint32_t>(sources[choice]);
    BuildOptions& build = context.options.build;
    (on ? build.tacticSourcesOn : build.tacticSourcesOff) |= bit;
    (on ? build.tacticSourcesOff : build.tacticSourcesOn) &= ~bit;
  }
}

void setPreviewFeatures(Context& context, Text text) {
  using nvinfer1::PreviewFeature;
  const PreviewFeature features[] = {PreviewFeature::kPROFILE_SHARING_0806, PreviewFeature::kALIASED_PLUGIN_IO_10_03,
                                     PreviewFeature::kRUNTIME_ACTIVATION_RESIZE_10_10,
                                     PreviewFeature::kMULTIDEVICE_RUNTIME_10_16};
  for (const auto& [entry, on] : readSigned(text)) {
    const size_t choice = readChoice(
        entry, {"profileSharing0806", "aliasedPluginIO1003", "runtimeActivationResize", "multiDeviceRuntime"});
    context.options.build.previewFeatures.emplace_back(features[choice], on);
  }
}

void setLayerPrecisions(Context& context, Text text) {
  for (const auto& [layer, type] : readPairs(text)) {
    readChoice(type, {"fp32", "fp16", "bf16", "int32", "int8"});
    context.options.build.layerPrecisions.emplace_back(layer, readDataType(type));
  }
}

void setLayerOutputTypes(Context& context, Text text) {
  for (const auto& [layer, types] : readPairs(text)) {
    std::vector<nvinfer1::DataType> outputs;
    for (const std::string& type : splitList(types, '+')) {
      readChoice(type, {"fp32", "fp16", "bf16", "int32", "int8"});
      outputs.push_back(readDataType(type));
    }
    context.options.build.layerOutputTypes.emplace_back(layer, outputs);
  }
}

void setTempfileControls(Context& context, Text text) {
  uint32_t flags = 0b11;
  for (const auto& [kind, rule] : readPairs(text)) {
    const uint32_t bit = 1U << readChoice(kind, {"in_memory", "temporary"});
    flags = readChoice(rule, {"allow", "deny"}) == 0 ? flags | bit : flags & ~bit;
  }
  context.options.build.tempfileControls = flags;
}

}  // namespace

std::vector<Flag> buildFlags() {
  return {
      {"--onnx", "=<file>", kModel, kOn, "the ONNX model; a leading ~ stands for $HOME",
       [](Context& c, Text v) { c.options.model.onnx = expandHome(v); }},

      {"--minShapes", "=<shapes>", kBuild, kOn, "lower bounds of the input shapes, as a:1x3x8x8,b:4 (0-D: b:scalar)",
       [](Context& c, Text v) { setShapes(c, 0, v); }},
      {"--optShapes", "=<shapes>", kBuild, kOn, "shapes to tune for; given alone they are the bounds as well",
       [](Context& c, Text v) { setShapes(c, 1, v); }},
      {"--maxShapes", "=<shapes>", kBuild, kOn, "upper bounds of the input shapes",
       [](Context& c, Text v) { setShapes(c, 2, v); }},
      {"--profile", "=<index>", kBuild, kOn,
       "begins optimization profile <index>: up to three shape flags directly after it belong to it", startProfile},
      {"--inputIOFormats", "=<formats>", kBuild, kOn,
       "type and memory formats of each input, as fp32:chw,fp16:chw+hwc8; one entry holds for all inputs",
       [](Context& c, Text v) { c.options.build.inputFormats = readIoFormats(v); }},
      {"--outputIOFormats", "=<formats>", kBuild, kOn, "the same for the outputs",
       [](Context& c, Text v) { c.options.build.outputFormats = readIoFormats(v); }},
      {"--memPoolSize", "=<pools>", kBuild, kOn,
       "limits of the pools workspace and tacticSharedMem, as workspace:512M; MiB when there is no suffix B, K, M or G",
       setMemoryPools},
      {"--profilingVerbosity", "=layer_names_only|detailed|none", kBuild, kOn,
       "how much the engine remembers of its layers (default: layer_names_only)", setVerbosity},
      {"--avgTiming", "=<n>", kBuild, kOn, "timed runs that are averaged for each tactic (default: the library's)",
       [](Context& c, Text v) { c.options.build.avgTiming = readInt(v, 1, kMost); }},
      {"--sparsity", "=disable|enable", kBuild, kOn,
       "whether tactics for structured sparsity may be used (default: disable)",
       [](Context& c, Text v) {
         if (v == "force") {
           throw std::invalid_argument("force rewrites the weights of the model, which Tenon does not do");
         }
         c.options.build.sparsity = readChoice(v, {"disable", "enable"}) == 1;
       }},
      {"--noTF32", "", kBuild, kOn, "compute FP32 without TF32",
       [](Context& c, Text) { c.options.build.tf32 = false; }},
      {"--fp16", "", kBuild, kOn, "allow FP16 layers (weakly typed networks)",
       [](Context& c, Text) { c.options.build.fp16 = true; }},
      {"--bf16", "", kBuild, kOn, "allow BF16 layers (weakly typed networks)",
       [](Context& c, Text) { c.options.build.bf16 = true; }},
      {"--int8", "", kBuild, kOn, "allow INT8 layers (weakly typed networks)",
       [](Context& c, Text) { c.options.build.int8 = true; }},
      {"--best", "", kBuild, kOn, "allow every precision the device has: FP16, BF16 and INT8",
       [](Context& c, Text) { c.options.build.best = true; }},
      {"--stronglyTyped", "", kBuild, kOn, "let the types of the model decide; the precision flags are then ignored",
       [](Context& c, Text) { c.options.build.stronglyTyped = true; }},
      {"--precisionConstraints", "=none|prefer|obey", kBuild, kOn,
       "how binding --layerPrecisions and --layerOutputTypes are (default: none)",
       [](Context& c, Text v) {
         c.options.build.precisionConstraints =
             static_cast<PrecisionConstraints>(readChoice(v, {"none", "prefer", "obey"}));
       }},
      {"--layerPrecisions", "=<layer>:<type>[,...]", kBuild, kOn,
       "compute precision of layers; a name may hold one *, and later entries win", setLayerPrecisions},
      {"--layerOutputTypes", "=<layer>:<type>[+<type>][,...]", kBuild, kOn,
       "types of the outputs of layers, joined with +", setLayerOutputTypes},
      {"--saveEngine", "=<file>", kBuild, kOn, "write the engine to that file",
       [](Context& c, Text v) { c.options.build.saveEngine = v; }},
      {"--loadEngine", "=<file>", kBuild, kOn, "read an engine from that file instead of building one",
       [](Context& c, Text v) { c.options.build.loadEngine = v; }},
      {"--asyncFileReader", "", kBuild, kOn, "read the engine through the stream reader interface",
       [](Context& c, Text) { c.options.build.asyncFileReader = true; }},
      {"--getPlanVersionOnly", "", kBuild, kOn, "print the version that wrote the engine file, and stop",
       [](Context& c, Text) { c.options.build.planVersionOnly = true; }},
      {"--tacticSources", "=(+|-)<source>[,...]", kBuild, kOn,
       "sources of tactics to add or remove: CUBLAS, CUBLAS_LT, CUDNN, EDGE_MASK_CONVOLUTIONS, JIT_CONVOLUTIONS",
       setTacticSources},
      {"--noBuilderCache", "", kBuild, kOn, "do not reuse timings while building",
       [](Context& c, Text) { c.options.build.builderCache = false; }},
      {"--noCompilationCache", "", kBuild, kOn, "do not keep compiled kernels in the timing cache",
       [](Context& c, Text) { c.options.build.compilationCache = false; }},
      {"--directIO", "", kBuild, kOn, "fail where an input or output would have to be reformatted",
       [](Context& c, Text) { c.options.build.directIo = true; }},
      {"--errorOnTimingCacheMiss", "", kBuild, kOn, "fail when a tactic would have to be timed",
       [](Context& c, Text) { c.options.build.errorOnTimingCacheMiss = true; }},
      {"--timingCacheFile", "=<file>", kBuild, kOn, "start from the timings in that file and write the new ones back",
       [](Context& c, Text v) { c.options.build.timingCacheFile = v; }},
      {"--builderOptimizationLevel", "=<0..5>", kBuild, kOn, "how hard the builder searches (default: 3)",
       [](Context& c, Text v) { c.options.build.optimizationLevel = readInt(v, 0, 5); }},
      {"--preview", "=(+|-)<feature>[,...]", kBuild, kOn,
       "preview features to switch: profileSharing0806, aliasedPluginIO1003, runtimeActivationResize, multiDeviceRuntime",
       setPreviewFeatures},
      {"--tilingOptimizationLevel", "=<0..3>", kBuild, kOn, "how hard the builder searches for tilings (default: 0)",
       [](Context& c, Text v) {
         c.options.build.tilingLevel = static_cast<nvinfer1::TilingOptimizationLevel>(readInt(v, 0, 3));
       }},
      {"--l2LimitForTiling", "=<bytes>", kBuild, kOn, "most of the L2 cache that tilings may use; -1 for no limit",
       [](Context& c, Text v) {
         c.options.build.l2LimitForTiling = v == "-1" ? -1 : static_cast<int64_t>(readSize(v, 1));
       }},
      {"--monitorMemory", "", kBuild, kOn, "say during the build how much host memory the process has",
       [](Context& c, Text) { c.options.build.monitorMemory = true; }},
      {"--excludeLeanRuntime", "", kBuild, kOn, "put no lean runtime into the engine",
       [](Context& c, Text) { c.options.build.excludeLeanRuntime = true; }},
      {"--maxTactics", "=<n>", kBuild, kOn, "most tactics to time for each choice; -1 leaves it to the builder",
       [](Context& c, Text v) { c.options.build.maxTactics = readInt(v, -1, kMost); }},
      {"--hardwareCompatibilityLevel", "=none", kBuild, kOn, "the device that builds is the one that runs",
       [](Context&, Text v) {
         if (v != "none") {
           throw std::invalid_argument(fmt::format("'{}' is not supported by Tenon yet; only none is", v));
         }
       }},
      {"--runtimePlatform", "=SameAsBuild", kBuild, kOn, "the platform that builds is the one that runs",
       [](Context&, Text v) {
         if (v != "SameAsBuild") {
           throw std::invalid_argument(fmt::format("'{}' is not supported by Tenon yet; only SameAsBuild is", v));
         }
       }},
      {"--useRuntime", "=full", kBuild, kOn, "the library that runs engines",
       [](Context&, Text v) {
         if (v != "full") {
           throw std::invalid_argument(fmt::format("'{}' is not supported by Tenon yet; only full is", v));
         }
       }},
      {"--tempdir", "=<folder>", kBuild, kOn, "folder for temporary files of the runtime",
       [](Context& c, Text v) { c.options.build.temporaryDirectory = v; }},
      {"--tempfileControls", "=<kind>:<rule>[,...]", kBuild, kOn,
       "which temporary files the runtime may make: kinds in_memory and temporary, rules allow and deny",
       setTempfileControls},
      {"--maxAuxStreams", "=<n>", kBuild, kOn,
       "most helper streams of an inference stream; -1 leaves it to the builder",
       [](Context& c, Text v) { c.options.build.maxAuxStreams = readInt(v, -1, kMost); }},
      {"--markDebug", "=<tensor>[,...]", kBuild, kOn, "mark tensors of the network as debug tensors",
       [](Context& c, Text v) { c.options.build.debugTensors = splitList(v, ','); }},
      {"--markUnfusedTensorsAsDebugTensors", "", kBuild, kOn, "mark all tensors that fusion keeps as debug tensors",
       [](Context& c, Text) { c.options.build.debugUnfusedTensors = true; }},
      {"--enablePluginOverride", "", kBuild, kOn, "plugins go before the parser's own operators of the same name",
       [](Context& c, Text) { c.options.build.pluginOverride = true; }},
      {"--decomposableAttentions", "=<name>[,...]", kBuild, kOn,
       "these attentions may be computed in steps where no kernel does them whole",
       [](Context& c, Text v) { c.options.build.decomposableAttentions = splitList(v, ','); }},
      {"--skipInference", "", kBuild, kOn, "stop once the engine is there",
       [](Context& c, Text) { c.options.build.skipInference = true; }},
  };
}

}  // namespace tenon::trtexec
