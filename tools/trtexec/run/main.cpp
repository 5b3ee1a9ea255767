// trtexec: builds engines from ONNX models, or loads them, and measures inference.
#include "../options/command_line.h"
#include "failure.h"
#include "log.h"
#include "session.h"

#include <NvInferRuntime.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <new>

using namespace tenon::trtexec;

namespace {

std::string banner(std::string_view state, const std::vector<std::string>& words) {
  return fmt::format("&&&& {} TensorRT.trtexec [TensorRT v{}] [b{}] # {}", state, getInferLibVersion(),
                     getInferLibBuildVersion(), fmt::join(words, " "));
}

bool run(const Options& options) {
  try {
    runSession(options);
    return true;
  } catch (const std::bad_alloc&) {
    error("there is not enough memory");
  } catch (const std::exception& failure) {
    error("{}", failure.what());
  }
  return false;
}

} // namespace

int main(int count, char** values) {
  // Whoever reads along through a pipe sees each line when it is written.
  std::setvbuf(stdout, nullptr, _IOLBF, size_t{1} << 14);
  const std::vector<std::string> words(values, values + count);
  const std::vector<std::string> arguments(words.begin() + 1, words.end());
  const CommandLine line = readCommandLine(arguments);
  if (line.markdown) {
    std::fputs(flagTableMarkdown().c_str(), stdout);
    return 0;
  }
  if (arguments.empty() || line.help) {
    std::fputs(helpText().c_str(), stdout);
    return 0;
  }
  theLog().setVerbose(line.options.report.verbose);
  theLog().writeBare(banner("RUNNING", words));
  for (const std::string& warning : line.warnings) {
    warn("{}", warning);
  }
  bool passed = false;
  if (line.errors.empty()) {
    passed = run(line.options);
  } else {
    std::fputs(helpText().c_str(), stdout);
    for (const std::string& problem : line.errors) {
      error("{}", problem);
    }
  }
  theLog().writeBare(banner(passed ? "PASSED" : "FAILED", words));
  return passed ? 0 : 1;
}
