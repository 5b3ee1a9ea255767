// One run of the tool, from options to report: get an engine, show it, measure it, report.
#include "session.h"

#include "../options/values.h"
#include "../report/exports.h"
#include "../report/performance.h"
#include "cuda.h"
#include "debug_tensors.h"
#include "engine.h"
#include "failure.h"
#include "files.h"
#include "inference.h"
#include "log.h"
#include "outputs.h"
#include "plan_version.h"
#include "plugins.h"

namespace tenon::trtexec {

namespace {

void logOptions(const Options& options) {
  const auto list = [](const ShapeMap& shapes) {
    std::string text;
    for (const auto& [name, shape] : shapes) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, shapeText(shape));
    }
    return text.empty() ? std::string("of the model") : text;
  };
  const InferenceOptions& inference = options.inference;
  info("=== Model Options ===");
  info("{}: {}", options.build.loadEngine.empty() ? "ONNX model" : "Engine",
       options.build.loadEngine.empty() ? options.model.onnx : options.build.loadEngine);
  info("=== Build Options ===");
  for (const auto& [index, profile] : options.build.profiles) {
    info("Profile {}: min {}; opt {}; max {}", index, list(profile.bySelector[0]), list(profile.bySelector[1]),
         list(profile.bySelector[2]));
  }
  info("Precision: {}FP32{}{}{}", options.build.stronglyTyped ? "of the model, else " : "",
       options.build.fp16 || options.build.best ? "+FP16" : "", options.build.bf16 || options.build.best ? "+BF16" : "",
       options.build.int8 || options.build.best ? "+INT8" : "");
  info("TF32: {}", options.build.tf32 ? "Enabled" : "Disabled");
  info("=== Inference Options ===");
  info("Input shapes: {}", list(inference.shapes));
  info("Iterations: {}", inference.iterations);
  info("Duration: {:g}s (+ {:g}ms warm up)", inference.durationSeconds, inference.warmUpMs);
  info("Streams: {}", inference.streams);
  info("CUDA Graph: {}", inference.cudaGraph ? "Enabled" : "Disabled");
  info("Data transfers: {}", inference.dataTransfers ? "Enabled" : "Disabled");
  info("");
}

LoadedEngine getEngine(const Options& options) {
  if (!options.build.loadEngine.empty()) {
    return loadEngine(options);
  }
  const std::unique_ptr<nvinfer1::IHostMemory> plan = buildPlan(options);
  return deserialize(plan->data(), plan->size(), "the engine just built", options);
}

void timeOnly(const Options& options) {
  if (options.build.loadEngine.empty()) {
    const std::unique_ptr<nvinfer1::IHostMemory> plan = buildPlan(options);
    timeDeserialize(plan->data(), plan->size(), "the engine just built", options);
    return;
  }
  const files::InputFile plan = readPlan(options.build.loadEngine);
  timeDeserialize(plan.data(), plan.size(), fmt::format("the file '{}'", options.build.loadEngine), options);
}

void reportTimes(const std::vector<InferenceTrace>& traces, const Options& options) {
  for (const ReportLine& line : performanceReport(traces, options.inference, options.report, computesOnHost())) {
    theLog().write(line.severity, line.text);
  }
  if (!options.report.exportTimes.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(countWarmUps(traces, options.inference.warmUpMs));
    writeFile(options.report.exportTimes, timesJson({traces.begin() + first, traces.end()}), "times");
  }
}

void reportProfile(const LayerProfile& profile, const ReportOptions& options) {
  if (options.dumpProfile) {
    info("");
    for (const std::string& line : profile.table()) {
      info("{}", line);
    }
    info("");
  }
  if (!options.exportProfile.empty()) {
    writeFile(options.exportProfile, profileJson(profile), "layer times");
  }
}

void measure(nvinfer1::ICudaEngine& engine, const Options& options) {
  LayerProfile profile;
  const bool profiled = options.report.wantsProfile();
  const bool apart = options.inference.separateProfileRun;
  {
    Inference inference(engine, options, profiled && !apart ? &profile : nullptr);
    reportLayers(engine, &inference.stream(0).context(), options.report);
    const std::vector<InferenceTrace> traces = inference.run();
    reportTimes(traces, options);
    if (options.report.wantsOutput() && traces.empty()) {
      warn("there are no outputs: with --iterations=0 and --duration=0 nothing runs");
    } else if (options.report.wantsOutput()) {
      reportOutputs(inference.stream(0).finish(), options.report);
    }
    if (!options.inference.debugTensorFiles.empty() || !options.inference.debugFormats.empty()) {
      saveDebugTensors(engine, inference.stream(0), options.inference);
    }
  }
  if (profiled && apart) {
    info("Running once more to profile the layers");
    Inference inference(engine, options, &profile);
    inference.run();
  }
  if (profiled) {
    reportProfile(profile, options.report);
  }
}

//! A build may take hours, and what it makes must find its place.
void checkOutputs(const Options& options) {
  if (options.build.loadEngine.empty()) {
    checkWritable(options.build.saveEngine, "--saveEngine");
    checkWritable(options.build.timingCacheFile, "--timingCacheFile");
  }
  checkWritable(options.report.exportTimes, "--exportTimes");
  checkWritable(options.report.exportOutput, "--exportOutput");
  checkWritable(options.report.exportProfile, "--exportProfile");
  checkWritable(options.report.exportLayerInfo, "--exportLayerInfo");
  for (const auto& [name, file] : options.inference.debugTensorFiles) {
    checkWritable(file, "--saveDebugTensors");
  }
}

}  // namespace

void runSession(const Options& options) {
  if (options.build.planVersionOnly) {
    printPlanVersion(options.build.loadEngine);
    return;
  }
  checkOutputs(options);
  logOptions(options);
  selectDevice(options.system.device);
  info("TensorRT version: {}.{}.{}", getInferLibMajorVersion(), getInferLibMinorVersion(), getInferLibPatchVersion());
  loadStaticPlugins(options.system);
  if (options.inference.timeDeserialize) {
    timeOnly(options);
    return;
  }
  if (options.build.skipInference && options.build.loadEngine.empty() && !options.report.wantsLayers() &&
      !options.report.dumpOptimizationProfile) {
    buildPlan(options);
    info("Skipped inference phase since --skipInference is added.");
    return;
  }
  // An engine must not outlive the runtime it came from, nor a context its engine.
  const LoadedEngine loaded = getEngine(options);
  if (options.report.dumpOptimizationProfile) {
    reportOptimizationProfiles(*loaded.engine);
  }
  if (options.build.skipInference) {
    reportLayers(*loaded.engine, nullptr, options.report);
    info("Skipped inference phase since --skipInference is added.");
    return;
  }
  measure(*loaded.engine, options);
}

}  // namespace tenon::trtexec
