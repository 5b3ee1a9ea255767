// Flag rows: how inference is run and measured.
#include "flag.h"
#include "values.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace tenon::trtexec {

namespace {

using Text = std::string_view;
using Context = FlagContext;
constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
// Some 30 years in seconds, 11 days in milliseconds: clocks of 64 bits in ns hold it.
constexpr double kLongest = 1e9;
constexpr auto kOn = FlagStatus::kSupported;
constexpr auto kInference = FlagGroup::kInference;

void setDuration(Context& context, Text text) {
  context.options.inference.durationSeconds = text == "-1" ? -1 : readNumber(text, 0, kLongest);
}

void setFiles(std::map<std::string, std::string>& files, Text text) {
  for (const auto& [name, file] : readPairs(text)) {
    if (!files.emplace(name, expandHome(file)).second) {
      throw std::invalid_argument(fmt::format("'{}' is given twice", name));
    }
  }
}

void setDebugFormats(Context& context, Text text) {
  for (const std::string& format : splitList(text, ',')) {
    const size_t choice = readChoice(format, {"summary", "numpy", "string", "raw"});
    context.options.inference.debugFormats.push_back(static_cast<DebugFormat>(choice));
  }
}

void setStreams(Context& context, Text text) { context.options.inference.streams = readInt(text, 1, 1024); }

}  // namespace

std::vector<Flag> inferenceFlags() {
  return {
      {"--shapes", "=<shapes>", kInference, kOn,
       "input shapes to run; inputs without a profile get one for exactly these (default: the shapes tuned for)",
       [](Context& c, Text v) { c.options.inference.shapes = readShapes(v); }},
      {"--loadInputs", "=<name>:<file>[,...]", kInference, kOn,
       "input values from raw files (default: values from a fixed random sequence)",
       [](Context& c, Text v) { setFiles(c.options.inference.inputFiles, v); }},
      {"--iterations", "=<n>", kInference, kOn, "run at least that many iterations (default: 10)",
       [](Context& c, Text v) { c.options.inference.iterations = readInt(v, 0, kMost); }},
      {"--warmUp", "=<ms>", kInference, kOn, "run that long before measuring (default: 200)",
       [](Context& c, Text v) { c.options.inference.warmUpMs = readNumber(v, 0, kLongest); }},
      {"--duration", "=<s>", kInference, kOn, "measure at least that long; -1 runs until stopped (default: 3)",
       setDuration},
      {"--sleepTime", "=<ms>", kInference, kOn,
       "let the device wait that long before the first computation (default: 0)",
       [](Context& c, Text v) { c.options.inference.sleepMs = readNumber(v, 0, kLongest); }},
      {"--idleTime", "=<ms>", kInference, kOn, "pause between iterations (default: 0)",
       [](Context& c, Text v) { c.options.inference.idleMs = readNumber(v, 0, kLongest); }},
      {"--infStreams", "=<n>", kInference, kOn, "execution contexts that run side by side (default: 1)", setStreams},
      {"--streams", "=<n>", kInference, FlagStatus::kDeprecated, "--infStreams", setStreams},
      {"--exposeDMA", "", kInference, kOn, "do not overlap transfers with computation",
       [](Context& c, Text) { c.options.inference.exposeDma = true; }},
      {"--noDataTransfers", "", kInference, kOn, "leave the transfers between host and device out of the loop",
       [](Context& c, Text) { c.options.inference.dataTransfers = false; }},
      {"--useManagedMemory", "", kInference, kOn, "keep inputs and outputs in managed memory",
       [](Context& c, Text) { c.options.inference.managedMemory = true; }},
      {"--useSpinWait", "", kInference, kOn, "wait for the device by polling: less delay, a busy processor",
       [](Context& c, Text) { c.options.inference.spinWait = true; }},
      {"--threads", "", kInference, kOn, "drive each stream from a thread of its own",
       [](Context& c, Text) { c.options.inference.threads = true; }},
      {"--useCudaGraph", "", kInference, kOn, "capture one inference as a CUDA graph and launch that",
       [](Context& c, Text) { c.options.inference.cudaGraph = true; }},
      {"--timeDeserialize", "", kInference, kOn, "measure how long the engine takes to load, and stop",
       [](Context& c, Text) { c.options.inference.timeDeserialize = true; }},
      {"--separateProfileRun", "", kInference, kOn, "measure without the profiler; profile layers in a second run",
       [](Context& c, Text) { c.options.inference.separateProfileRun = true; }},
      {"--useProfile", "=<index>", kInference, kOn, "the optimization profile to run (default: 0)",
       [](Context& c, Text v) { c.options.inference.profile = readInt(v, 0, kMost); }},
      {"--allocationStrategy", "=static|profile|runtime", kInference, kOn,
       "size working memory for all profiles, for the profile in use, or for the shapes in use (default: static)",
       [](Context& c, Text v) {
         c.options.inference.allocation =
             static_cast<AllocationStrategy>(readChoice(v, {"static", "profile", "runtime"}));
       }},
      {"--saveDebugTensors", "=<tensor>:<file>[,...]", kInference, kOn,
       "write these debug tensors (see --markDebug) to files, as JSON",
       [](Context& c, Text v) { setFiles(c.options.inference.debugTensorFiles, v); }},
      {"--saveAllDebugTensors", "=<format>[,...]", kInference, kOn,
       "show all debug tensors: summary in the log, numpy, string and raw in a file <tensor>.npy, .txt or .raw each",
       setDebugFormats},
  };
}

}  // namespace tenon::trtexec
