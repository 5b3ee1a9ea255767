// Flag rows: what is reported, the system, and help.
#include "flag.h"
#include "values.h"

#include <limits>

namespace tenon::trtexec {

namespace {

using Text = std::string_view;
using Context = FlagContext;
constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
constexpr auto kOn = FlagStatus::kSupported;
constexpr auto kReporting = FlagGroup::kReporting;
constexpr auto kSystem = FlagGroup::kSystem;

void setPercentiles(Context& context, Text text) {
  context.options.report.percentiles.clear();
  for (const std::string& part : splitList(text, ',')) {
    context.options.report.percentiles.push_back(static_cast<float>(readNumber(part, 0, 100)));
  }
}

void addStaticPlugin(Context& context, Text text) { context.options.system.staticPlugins.push_back(expandHome(text)); }

}  // namespace

std::vector<Flag> reportingFlags() {
  return {
      {"--verbose", "", kReporting, kOn, "log everything", [](Context& c, Text) { c.options.report.verbose = true; }},
      {"--avgRuns", "=<n>", kReporting, kOn, "iterations in each reported average (default: 10)",
       [](Context& c, Text v) { c.options.report.avgRuns = readInt(v, 1, kMost); }},
      {"--percentile", "=<p>[,...]", kReporting, kOn, "percentiles to report, each from 0 to 100 (default: 90,95,99)",
       setPercentiles},
      {"--dumpOutput", "", kReporting, kOn, "print the outputs of the last iteration",
       [](Context& c, Text) { c.options.report.dumpOutput = true; }},
      {"--dumpRawBindingsToFile", "", kReporting, kOn,
       "write the inputs and outputs of the last iteration to raw files",
       [](Context& c, Text) { c.options.report.dumpRawBindings = true; }},
      {"--dumpProfile", "", kReporting, kOn, "print the time of each layer",
       [](Context& c, Text) { c.options.report.dumpProfile = true; }},
      {"--dumpLayerInfo", "", kReporting, kOn, "print the layers of the engine",
       [](Context& c, Text) { c.options.report.dumpLayerInfo = true; }},
      {"--dumpOptimizationProfile", "", kReporting, kOn, "print the optimization profiles of the engine",
       [](Context& c, Text) { c.options.report.dumpOptimizationProfile = true; }},
      {"--exportTimes", "=<file>", kReporting, kOn, "write the times of each iteration as JSON",
       [](Context& c, Text v) { c.options.report.exportTimes = expandHome(v); }},
      {"--exportOutput", "=<file>", kReporting, kOn, "write the outputs as JSON",
       [](Context& c, Text v) { c.options.report.exportOutput = expandHome(v); }},
      {"--exportProfile", "=<file>", kReporting, kOn, "write the time of each layer as JSON",
       [](Context& c, Text v) { c.options.report.exportProfile = expandHome(v); }},
      {"--exportLayerInfo", "=<file>", kReporting, kOn, "write the layers of the engine as JSON",
       [](Context& c, Text v) { c.options.report.exportLayerInfo = expandHome(v); }},

      {"--device", "=<n>", kSystem, kOn, "the CUDA device to use (default: 0)",
       [](Context& c, Text v) { c.options.system.device = readInt(v, 0, kMost); }},
      {"--staticPlugins", "=<file>", kSystem, kOn, "plugin library to load at the start; repeatable", addStaticPlugin},
      {"--plugins", "=<file>", kSystem, FlagStatus::kDeprecated, "--staticPlugins", addStaticPlugin},
      {"--dynamicPlugins", "=<file>", kSystem, kOn, "plugin library to load through the plugin registry; repeatable",
       [](Context& c, Text v) { c.options.system.dynamicPlugins.push_back(expandHome(v)); }},
      {"--setPluginsToSerialize", "=<file>", kSystem, kOn,
       "plugin library to load as --dynamicPlugins does, and to put into the engine; repeatable",
       [](Context& c, Text v) { c.options.system.serializedPlugins.push_back(expandHome(v)); }},

      {"--help", "=markdown|man|bash|zsh|fish", FlagGroup::kHelp, kOn,
       "print this text; with a value the table of all flags, the manual page or the completions of a shell"},
      {"-h", "", FlagGroup::kHelp, kOn, "the same as --help"},
      {"--version", "", FlagGroup::kHelp, kOn, "print the versions of Tenon and of the interface"},
  };
}

}  // namespace tenon::trtexec
