// What shares memory in a build at level 0, counted, and its values compared with the reference.
#pragma once

#include <cstdlib>

#include "support/build_and_run.h"

namespace tenon::test {

using plan::StepKind;

struct Counts {
  int views = 0;
  int concats = 0;  // kernels of concatenations; of a single part too
  int slices = 0;
  int copies = 0;
  int moved = 0;  // kernels of transposes and changes of format
};

inline Counts count(const plan::Program& program) {
  Counts counts;
  for (const auto& step : program.steps) {
    counts.views += step.kind == StepKind::kView;
    counts.copies += step.kind == StepKind::kCopy;
    counts.concats += step.kind == StepKind::kLaunch && step.layerType == "concat";
    counts.moved += step.kind == StepKind::kLaunch && (step.layerType == "transpose" || step.layerType == "reformat");
    counts.slices += step.kind == StepKind::kLaunch && step.layerType == "slice";
  }
  return counts;
}

// Sets an environment variable while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

// Builds at level 0 without the passes that would take the graph apart, compares with the reference, and counts.
inline Counts check(const std::string& text, compile::BuildOptions options = {}, std::vector<Dims> inputs = {}) {
  SCOPED_TRACE(text);
  const Setting noPasses("TENON_STOP_AFTER", "0");
  RecordingLog log;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = 0;
  expectMatchesReference(text, std::move(inputs), options);
  return count(compile::build(graph::parse(text), options).programs[0]);
}

}  // namespace tenon::test
