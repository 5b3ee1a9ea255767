// Reads the command line from left to right against the flag table, then checks what holds between flags.
//
// The form is trtexec's own: an argument is --flag or --flag=value and nothing else, a value may follow on a switch,
// and the order matters for some flags. General command-line libraries take the next argument for a value; here that
// would read `--onnx model.onnx`, which TensorRT's tool refuses, and change the meaning of others.
#include "command_line.h"

#include "flag.h"
#include "shapes.h"
#include "values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

namespace tenon::trtexec {

namespace {

std::string unknownFlag(std::string_view argument, std::string_view name) {
  if (name.empty() || name[0] != '-') {
    const bool isModel = argument.size() > 5 && argument.substr(argument.size() - 5) == ".onnx";
    return fmt::format("'{}' belongs to no flag; values are written --flag=value, without a space{}", argument,
                       isModel ? fmt::format("; did you mean --onnx={}?", argument) : "");
  }
  const std::string_view nearest = nearestFlag(name);
  return nearest.empty() ? fmt::format("unknown flag {}; no flag has a similar name", name)
                         : fmt::format("unknown flag {}; did you mean {}?", name, nearest);
}

void readPage(const Flag& flag, std::string_view value, CommandLine& line) {
  constexpr Page kForms[] = {Page::kMarkdown, Page::kMan, Page::kBash, Page::kZsh, Page::kFish};
  try {
    line.page = flag.name == "--version" ? Page::kVersion
                : value.empty()          ? Page::kHelp
                                         : kForms[readChoice(value, {"markdown", "man", "bash", "zsh", "fish"})];
  } catch (const std::invalid_argument& problem) {
    line.errors.push_back(fmt::format("{}: {}", flag.name, problem.what()));
  }
}

void applyFlag(const Flag& flag, FlagContext& context, std::string_view value) {
  if (flag.takesValue() && value.empty()) {
    throw std::invalid_argument(fmt::format("a value is missing; write {}{}", flag.name, flag.argument));
  }
  const bool boundToProfile = flag.name == "--minShapes" || flag.name == "--optShapes" || flag.name == "--maxShapes";
  if (!boundToProfile) {
    context.profileFlagsLeft = 0;
  }
  flag.apply(context, value);
  if (flag.group == FlagGroup::kBuild) {
    context.buildFlags.push_back(flag.name);
  }
}

void readArgument(const std::string& argument, CommandLine& line, FlagContext& context) {
  const size_t equals = argument.find('=');
  const std::string name = argument.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
  const Flag* flag = findFlag(name);
  if (flag == nullptr) {
    line.errors.push_back(unknownFlag(argument, name));
    return;
  }
  if (flag->group == FlagGroup::kHelp) {
    readPage(*flag, value, line);
    return;
  }
  switch (flag->status) {
    case FlagStatus::kRefused:
      line.errors.push_back(fmt::format("{}: not supported by Tenon yet: {}", name, flag->text));
      return;
    case FlagStatus::kRemoved: line.errors.push_back(fmt::format("{}: no longer a flag: {}", name, flag->text)); return;
    case FlagStatus::kNoEffect:
      line.warnings.push_back(fmt::format("{} is accepted without effect: {}", name, flag->text));
      return;
    case FlagStatus::kDeprecated:
      line.warnings.push_back(fmt::format("{} is the old name of {}", name, flag->text));
      break;
    case FlagStatus::kSupported: break;
  }
  if (!flag->takesValue() && equals != std::string::npos) {
    line.warnings.push_back(fmt::format("{} is a switch: it is on, and the value '{}' is ignored", name, value));
  }
  try {
    applyFlag(*flag, context, value);
  } catch (const std::invalid_argument& problem) {
    line.errors.push_back(fmt::format("{}: {}", name, problem.what()));
  }
}

//! What is built cannot be changed any more.
void warnOfBuildFlags(const std::vector<std::string_view>& given, CommandLine& line) {
  constexpr std::string_view kOfLoading[] = {"--loadEngine",         "--saveEngine",   "--asyncFileReader",
                                             "--getPlanVersionOnly", "--useRuntime",   "--tempdir",
                                             "--tempfileControls",   "--skipInference"};
  constexpr std::string_view kShapes[] = {"--minShapes", "--optShapes", "--maxShapes", "--profile"};
  std::vector<std::string_view> idle;
  for (const std::string_view flag : given) {
    if (std::find(std::begin(kShapes), std::end(kShapes), flag) == std::end(kShapes) &&
        std::find(std::begin(kOfLoading), std::end(kOfLoading), flag) == std::end(kOfLoading)) {
      idle.push_back(flag);
    }
  }
  if (!idle.empty()) {
    line.warnings.push_back(fmt::format("without effect on the engine of --loadEngine: {}", fmt::join(idle, ", ")));
  }
}

void checkModel(const FlagContext& context, CommandLine& line) {
  const Options& options = context.options;
  const BuildOptions& build = options.build;
  if (build.loadEngine.empty()) {
    if (options.model.onnx.empty()) {
      line.errors.emplace_back("no model is given: --onnx=<file> builds an engine, --loadEngine=<file> loads one");
    }
    if (build.planVersionOnly) {
      line.errors.emplace_back("--getPlanVersionOnly: needs --loadEngine=<file>");
    }
    if (build.asyncFileReader) {
      line.warnings.emplace_back("--asyncFileReader has no effect without --loadEngine");
    }
    return;
  }
  if (!build.saveEngine.empty()) {
    line.errors.emplace_back("--saveEngine and --loadEngine exclude each other: a loaded engine is on disk already");
  }
  if (!options.model.onnx.empty()) {
    line.warnings.emplace_back("--onnx has no effect with --loadEngine");
  }
  if (!build.profiles.empty()) {
    line.warnings.emplace_back(
        "with --loadEngine the shape flags of the build make no profile; inference runs their optimum "
        "where --shapes says nothing");
  }
  warnOfBuildFlags(context.buildFlags, line);
}

void checkPrecision(BuildOptions& build, CommandLine& line) {
  if (build.best && build.stronglyTyped) {
    line.errors.emplace_back("--best and --stronglyTyped exclude each other");
  }
  if (build.stronglyTyped && (build.fp16 || build.bf16 || build.int8)) {
    line.warnings.emplace_back("--stronglyTyped: the model decides its types, so the precision flags are ignored");
    build.fp16 = build.bf16 = build.int8 = false;
  }
  const bool perLayer = !build.layerPrecisions.empty() || !build.layerOutputTypes.empty();
  if (perLayer && build.precisionConstraints == PrecisionConstraints::kNone) {
    line.warnings.emplace_back(
        "--layerPrecisions and --layerOutputTypes need --precisionConstraints=prefer or obey to bind");
  }
}

//! What a run without inference has none of, each as the flag that asks for it.
void checkReports(const Options& options, CommandLine& line) {
  const std::string_view reason = options.build.skipInference         ? "--skipInference"
                                  : options.inference.timeDeserialize ? "--timeDeserialize"
                                                                      : "";
  if (reason.empty()) {
    return;
  }
  const ReportOptions& report = options.report;
  const std::pair<bool, std::string_view> flags[] = {
      {report.dumpOutput, "--dumpOutput"},
      {report.dumpRawBindings, "--dumpRawBindingsToFile"},
      {report.dumpProfile, "--dumpProfile"},
      {!report.exportTimes.empty(), "--exportTimes"},
      {!report.exportOutput.empty(), "--exportOutput"},
      {!report.exportProfile.empty(), "--exportProfile"},
      {!options.inference.debugTensorFiles.empty(), "--saveDebugTensors"},
      {!options.inference.inputFiles.empty(), "--loadInputs"},
  };
  for (const auto& [given, flag] : flags) {
    if (given) {
      line.warnings.push_back(fmt::format("{} has no effect with {}: nothing is inferred", flag, reason));
    }
  }
}

void checkInference(const Options& options, CommandLine& line) {
  const InferenceOptions& inference = options.inference;
  if (inference.durationSeconds < 0 && inference.warmUpMs > 0) {
    line.warnings.emplace_back("--duration=-1 runs until the process is stopped and reports nothing");
  }
  const int32_t profiles = static_cast<int32_t>(options.build.profiles.size());
  if (profiles > 0 && inference.profile >= profiles && options.build.loadEngine.empty()) {
    line.errors.push_back(
        fmt::format("--useProfile: index {} is given and the flags make {} profile(s)", inference.profile, profiles));
  }
}

}  // namespace

CommandLine readCommandLine(const std::vector<std::string>& arguments) {
  CommandLine line;
  FlagContext context;
  for (const std::string& argument : arguments) {
    readArgument(argument, line, context);
  }
  if (line.page != Page::kNone) {
    return line;
  }
  checkModel(context, line);
  try {
    completeShapes(context.options);
  } catch (const std::invalid_argument& problem) {
    line.errors.push_back(problem.what());
  }
  checkPrecision(context.options.build, line);
  checkInference(context.options, line);
  checkReports(context.options, line);
  line.options = std::move(context.options);
  return line;
}

}  // namespace tenon::trtexec
