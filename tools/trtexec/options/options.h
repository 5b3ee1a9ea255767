// What one command line asks for: plain values, filled from the flag table and read by the rest of the tool.
#pragma once

#include <NvInfer.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tenon::trtexec {

using Shape = std::vector<int64_t>;

//! Shapes by input name; a name may hold one `*`, which stands for any run of characters.
using ShapeMap = std::map<std::string, Shape>;

//! The bounds of one optimization profile. Index 0, 1, 2 is OptProfileSelector kMIN, kOPT, kMAX.
struct ProfileShapes {
  std::array<ShapeMap, 3> bySelector;

  bool empty() const { return bySelector[0].empty() && bySelector[1].empty() && bySelector[2].empty(); }
};

//! Data type and the bit mask of the memory formats that are allowed, for one network input or output.
struct IoFormat {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::TensorFormats formats = 1U << static_cast<uint32_t>(nvinfer1::TensorFormat::kLINEAR);
};

enum class PrecisionConstraints { kNone, kPrefer, kObey };
enum class AllocationStrategy { kStatic, kProfile, kRuntime };

struct ModelOptions {
  std::string onnx;
};

//! How --saveAllDebugTensors shows a tensor.
enum class DebugFormat { kSummary, kNumpy, kString, kRaw };

struct BuildOptions {
  //! By profile index. Filled up by completeShapes() once all flags are read.
  std::map<int32_t, ProfileShapes> profiles;
  std::vector<IoFormat> inputFormats;
  std::vector<IoFormat> outputFormats;
  //! Limits in bytes.
  std::map<nvinfer1::MemoryPoolType, size_t> memoryPools;
  nvinfer1::ProfilingVerbosity profilingVerbosity = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
  std::optional<int32_t> avgTiming;
  std::optional<int32_t> optimizationLevel;
  std::optional<int32_t> maxTactics;
  std::optional<int32_t> maxAuxStreams;
  bool sparsity = false;
  bool tf32 = true;
  bool fp16 = false;
  bool bf16 = false;
  bool int8 = false;
  bool best = false;
  bool stronglyTyped = false;
  PrecisionConstraints precisionConstraints = PrecisionConstraints::kNone;
  //! In the order of the command line, since later entries win.
  std::vector<std::pair<std::string, nvinfer1::DataType>> layerPrecisions;
  std::vector<std::pair<std::string, std::vector<nvinfer1::DataType>>> layerOutputTypes;
  bool monitorMemory = false;
  bool excludeLeanRuntime = false;
  std::vector<std::pair<nvinfer1::PreviewFeature, bool>> previewFeatures;
  std::optional<nvinfer1::TilingOptimizationLevel> tilingLevel;
  std::optional<int64_t> l2LimitForTiling;
  nvinfer1::TacticSources tacticSourcesOn = 0;
  nvinfer1::TacticSources tacticSourcesOff = 0;
  bool builderCache = true;
  bool compilationCache = true;
  bool errorOnTimingCacheMiss = false;
  bool directIo = false;
  std::string timingCacheFile;
  std::vector<std::string> debugTensors;
  bool debugUnfusedTensors = false;
  bool pluginOverride = false;
  std::vector<std::string> decomposableAttentions;
  std::string saveEngine;
  std::string loadEngine;
  bool asyncFileReader = false;
  bool planVersionOnly = false;
  bool skipInference = false;
  std::string temporaryDirectory;
  std::optional<nvinfer1::TempfileControlFlags> tempfileControls;
};

struct InferenceOptions {
  ShapeMap shapes;
  std::map<std::string, std::string> inputFiles;
  int32_t iterations = 10;
  double warmUpMs = 200;
  //! -1 runs until the process is stopped.
  double durationSeconds = 3;
  double sleepMs = 0;
  double idleMs = 0;
  int32_t streams = 1;
  bool exposeDma = false;
  bool dataTransfers = true;
  bool managedMemory = false;
  bool spinWait = false;
  bool threads = false;
  bool cudaGraph = false;
  bool timeDeserialize = false;
  bool separateProfileRun = false;
  int32_t profile = 0;
  AllocationStrategy allocation = AllocationStrategy::kStatic;
  std::map<std::string, std::string> debugTensorFiles;
  std::vector<DebugFormat> debugFormats;
};

struct ReportOptions {
  bool verbose = false;
  int32_t avgRuns = 10;
  std::vector<float> percentiles{90, 95, 99};
  bool dumpOutput = false;
  bool dumpRawBindings = false;
  bool dumpProfile = false;
  bool dumpLayerInfo = false;
  bool dumpOptimizationProfile = false;
  std::string exportTimes;
  std::string exportOutput;
  std::string exportProfile;
  std::string exportLayerInfo;

  bool wantsOutput() const { return dumpOutput || dumpRawBindings || !exportOutput.empty(); }
  bool wantsLayers() const { return dumpLayerInfo || !exportLayerInfo.empty(); }
  bool wantsProfile() const { return dumpProfile || !exportProfile.empty(); }
};

struct SystemOptions {
  int32_t device = 0;
  std::vector<std::string> staticPlugins;
  std::vector<std::string> dynamicPlugins;
  std::vector<std::string> serializedPlugins;
};

struct Options {
  ModelOptions model;
  BuildOptions build;
  InferenceOptions inference;
  ReportOptions report;
  SystemOptions system;
};

}  // namespace tenon::trtexec
