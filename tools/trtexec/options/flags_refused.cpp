// Flag rows: what trtexec knows and Tenon refuses, with the reason, and what is gone, with the replacement.
#include "flag.h"

namespace tenon::trtexec {

namespace {

constexpr auto kNo = FlagStatus::kRefused;
constexpr auto kGone = FlagStatus::kRemoved;
constexpr auto kQuiet = FlagStatus::kNoEffect;
constexpr auto kModel = FlagGroup::kModel;
constexpr auto kBuild = FlagGroup::kBuild;
constexpr auto kInference = FlagGroup::kInference;
constexpr auto kReporting = FlagGroup::kReporting;
constexpr auto kSystem = FlagGroup::kSystem;

constexpr std::string_view kCalibration = "INT8 calibration; models with Q/DQ layers bring their scales";
constexpr std::string_view kStripped = "engines without weights";
constexpr std::string_view kVersions = "engines that other library versions load";
constexpr std::string_view kDla = "DLA";
constexpr std::string_view kSafety = "the safety runtime";
constexpr std::string_view kStreaming = "weight streaming";
constexpr std::string_view kCaffe = "the Caffe format; convert the model to ONNX and use --onnx=<file>";
constexpr std::string_view kUff =
    "the UFF format, which TensorRT dropped in 9.0; convert the model to ONNX and use --onnx=<file>";
constexpr std::string_view kBatch =
    "implicit batch is gone; give the batch in the shapes, as --shapes=input:8x3x224x224";

}  // namespace

std::vector<Flag> refusedFlags() {
  return {
      {"--minShapesCalib", "=<shapes>", kBuild, kNo, kCalibration},
      {"--optShapesCalib", "=<shapes>", kBuild, kNo, kCalibration},
      {"--maxShapesCalib", "=<shapes>", kBuild, kNo, kCalibration},
      {"--calibProfile", "=<index>", kBuild, kNo, kCalibration},
      {"--calib", "=<file>", kBuild, kNo, kCalibration},
      {"--refit", "", kBuild, kNo, "engines whose weights can be replaced"},
      {"--stripWeights", "", kBuild, kNo, kStripped},
      {"--stripAllWeights", "", kBuild, kNo, kStripped},
      {"--weightless", "", kBuild, kNo, kStripped},
      {"--versionCompatible", "", kBuild, kNo, kVersions},
      {"--vc", "", kBuild, kNo, kVersions},
      {"--leanDLLPath", "=<file>", kBuild, kNo, kVersions},
      {"--pluginInstanceNorm", "", kBuild, kNo, "InstanceNormalization as a plugin; the layer does the same"},
      {"--pi", "", kBuild, kNo, "InstanceNormalization as a plugin; the layer does the same"},
      {"--uint8AsymmetricQuantizationDLA", "", kBuild, kNo, kDla},
      {"--reportCapabilityDLA", "", kBuild, kNo, kDla},
      {"--adjustForDLA", "", kBuild, kNo, kDla},
      {"--fp8", "", kBuild, kNo, "FP8 layers"},
      {"--int4", "", kBuild, kNo, "INT4 layers"},
      {"--distributiveIndependence", "", kBuild, kNo, "results that do not depend on the distribution of work"},
      {"--layerDeviceTypes", "=<layer>:GPU|DLA[,...]", kBuild, kNo, kDla},
      {"--safe", "", kBuild, kNo, kSafety},
      {"--dumpKernelText", "", kBuild, kNo, kSafety},
      {"--consistency", "", kBuild, kNo, kSafety},
      {"--restricted", "", kBuild, kNo, kSafety},
      {"--remoteAutoTuningConfig", "=<address>", kBuild, kNo, kSafety},
      {"--cpuOnly", "", kBuild, kNo,
       "remote tuning for the safety runtime; to run on the processor set TENON_DEVICE=cpu in the environment"},
      {"--buildDLAStandalone", "", kBuild, kNo, kDla},
      {"--allowGPUFallback", "", kBuild, kNo, kDla},
      {"--allowWeightStreaming", "", kBuild, kNo, kStreaming},
      {"--refitFromOnnx", "=<file>", kBuild, kNo, "refitting from a model"},

      {"--timeRefit", "", kInference, kNo, "measuring refits"},
      {"--persistentCacheRatio", "=<0..1>", kInference, kNo, "persistent lines in the L2 cache"},
      {"--weightStreamingBudget", "=<budget>", kInference, kNo, kStreaming},

      {"--dumpRefit", "", kReporting, kNo, "listing the weights that can be refitted"},

      {"--useDLACore", "=<n>", kSystem, kNo, kDla},
      {"--ignoreParsedPluginLibs", "", kSystem, kQuiet, "only what --setPluginsToSerialize names goes into engines"},
      {"--safetyPlugins", "=<file>", kSystem, kNo, kSafety},

      {"--model", "=<file>", kModel, kNo, kCaffe},
      {"--deploy", "=<file>", kModel, kNo, kCaffe},
      {"--output", "=<name>[,...]", kModel, kGone, "the outputs are those of the ONNX model"},
      {"--uff", "=<file>", kModel, kGone, kUff},
      {"--uffInput", "=<name>,<c>,<h>,<w>", kModel, kGone, kUff},
      {"--uffNHWC", "", kModel, kGone, kUff},
      {"--maxBatch", "=<n>", kBuild, kGone, kBatch},
      {"--batch", "=<n>", kInference, kGone, kBatch},
      {"--explicitBatch", "", kBuild, kQuiet, "every network has an explicit batch"},
      {"--explicitPrecision", "", kBuild, kQuiet, "Q/DQ layers in the model are enough"},
      {"--workspace", "=<MiB>", kBuild, kGone, "use --memPoolSize=workspace:<MiB>"},
      {"--minTiming", "=<n>", kBuild, kGone, "use --avgTiming=<n>"},
      {"--buildOnly", "", kBuild, kGone, "use --skipInference"},
      {"--nvtxMode", "=default|verbose|none", kBuild, kGone, "use --profilingVerbosity=layer_names_only|detailed|none"},
      {"--heuristic", "", kBuild, kGone, "use --builderOptimizationLevel=2 or less"},
      {"--nativeInstanceNorm", "", kBuild, kQuiet, "it is the only way"},
      {"--ni", "", kBuild, kQuiet, "it is the only way"},
      {"--input", "=<name>", kModel, kGone, "the inputs are those of the ONNX model"},
      {"--engine", "=<file>", kBuild, kGone, "use --saveEngine=<file>"},
      {"--calibOut", "=<file>", kBuild, kGone, "calibration caches are not written"},
      {"--dumpLayerTime", "", kReporting, kGone, "use --dumpProfile"},
  };
}

}  // namespace tenon::trtexec
