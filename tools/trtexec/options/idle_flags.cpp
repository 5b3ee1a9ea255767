// Flags that allow what the device does not do: they are no errors, but whoever gives them expects something.
#include "command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon::trtexec {

std::vector<std::string> idleFlags(const BuildOptions& build, bool onHost) {
  struct Precision {
    bool allowed;
    std::string_view flag;
    std::string_view type;
  };
  const Precision precisions[] = {
      {build.fp16, "--fp16", "FP16"}, {build.bf16, "--bf16", "BF16"}, {build.int8, "--int8", "INT8"}};
  std::vector<std::string_view> flags;
  std::vector<std::string_view> types;
  for (const Precision& precision : precisions) {
    if (precision.allowed) {
      flags.push_back(precision.flag);
    }
    if (precision.allowed || build.best) {
      types.push_back(precision.type);
    }
  }
  if (build.best) {
    flags.push_back("--best");
  }
  std::vector<std::string> lines;
  const std::string_view are = types.size() == 1 ? "is" : "are";
  if (onHost && !flags.empty()) {
    lines.push_back(fmt::format("{}: {} {} allowed; the CPU computes in FP32", fmt::join(flags, ", "),
                                fmt::join(types, ", "), are));
  } else if (!onHost && (build.int8 || build.best)) {
    lines.push_back(fmt::format(
        "{}: INT8 is allowed; Tenon quantizes nothing by itself, and computes Q/DQ layers in floating point",
        build.best ? "--best" : "--int8"));
  }
  if (!onHost && !build.best && build.fp16 && build.bf16) {
    lines.emplace_back("--bf16: BF16 is allowed; with --fp16 the GPU computes in FP16");
  }
  if (build.sparsity) {
    lines.emplace_back("--sparsity=enable: structured sparsity is allowed; no tactic of Tenon uses it");
  }
  if ((build.tacticSourcesOn | build.tacticSourcesOff) != 0) {
    lines.emplace_back("--tacticSources: the sources are set; Tenon's choice of tactics does not depend on them");
  }
  return lines;
}

}  // namespace tenon::trtexec
