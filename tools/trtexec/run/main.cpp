// trtexec: builds engines from ONNX models, or loads them, and measures inference.
#include "../options/command_line.h"
#include "failure.h"
#include "log.h"
#include "process/interrupt.h"
#include "process/standard_output.h"
#include "session.h"

#include <NvInferRuntime.h>
#include <fmt/ranges.h>

#include <new>

using namespace tenon::trtexec;
namespace tools = tenon::tools;

namespace {

std::string banner(std::string_view state, const std::vector<std::string>& words) {
  return fmt::format("&&&& {} TensorRT.trtexec [TensorRT v{}] [b{}] # {}", state, getInferLibVersion(),
                     getInferLibBuildVersion(), fmt::join(words, " "));
}

bool run(const Options& options) {
  try {
    runSession(options);
    if (const std::string problem = tools::outputProblem(); !problem.empty()) {
      throw Failure("{}", problem);
    }
    return true;
  } catch (const std::bad_alloc&) {
    error("there is not enough memory");
  } catch (const std::exception& failure) {
    error("{}", failure.what());
  }
  return false;
}

std::string pageText(Page page) {
  switch (page) {
    case Page::kMarkdown: return flagTableMarkdown();
    case Page::kMan: return manPage("Tenon " TENON_VERSION);
    case Page::kBash: return bashCompletion();
    case Page::kZsh: return zshCompletion();
    case Page::kFish: return fishCompletion();
    case Page::kVersion:
      return fmt::format("trtexec of Tenon {}, interface of TensorRT {}.{}.{}.{}\n", TENON_VERSION,
                         getInferLibMajorVersion(), getInferLibMinorVersion(), getInferLibPatchVersion(),
                         getInferLibBuildVersion());
    case Page::kHelp:
    case Page::kNone: break;
  }
  return helpText();
}

//! The exit status when the standard output may be all that the run is for.
int printPage(Page page) {
  tools::print(pageText(page));
  const std::string problem = tools::outputProblem();
  if (!problem.empty()) {
    error("{}", problem);
  }
  return problem.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** values) {
  tools::prepareStandardStreams();
  const std::vector<std::string> words(values, values + count);
  const std::vector<std::string> arguments(words.begin() + (words.empty() ? 0 : 1), words.end());
  const CommandLine line = readCommandLine(arguments);
  if (arguments.empty() || line.page != Page::kNone) {
    return printPage(line.page);
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
    for (const std::string& problem : line.errors) {
      error("{}", problem);
    }
    error("Nothing was done. trtexec --help lists all flags.");
  }
  theLog().writeBare(banner(passed ? "PASSED" : "FAILED", words));
  // The convention of shells: 130 after Ctrl-C.
  constexpr int kSignalled = 128;
  return passed && tools::outputProblem().empty() ? 0
         : tools::wasInterrupted()                ? kSignalled + tools::interruptSignal()
                                                  : 1;
}
