// tensorrt_player: the command line.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <tenon/printable.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "player/emit_cpp.h"
#include "player/list.h"
#include "player/replay.h"
#include "player/verify.h"
#include "process/interrupt.h"
#include "process/standard_output.h"
#include "process/whole_file.h"

namespace tenon::capture {
namespace {

// Exit codes, as docs/capture.md lists them.
enum Exit : int { kDone = 0, kRefused = 1, kDiffers = 2, kFailedAgain = 3 };

// On the standard output; main() looks whether it arrived.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... arguments) {
  tools::print(fmt::format(format, std::forward<Args>(arguments)...));
}

struct CommandLine {
  std::string json;
  ReplayOptions replay;
  std::vector<std::string> plugins;
  std::string emit;
  std::vector<std::string> references;
  bool list = false;
  bool verify = false;
  bool verbose = false;
};

void loadPlugins(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    if (dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
      throw CaptureError(fmt::format("the plugin library '{}' cannot be loaded: {}", library, dlerror()));
    }
  }
}

// A bar on a terminal, nothing elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(const std::string& json) : isShown_(::isatty(STDERR_FILENO) == 1) {
    struct winsize size {};
    constexpr int kAround = 9;  // brackets, percent, and a column that stays free
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
      cells_ = std::clamp(size.ws_col - kAround, 0, cells_);
    }
    files::InputFile file;
    if (isShown_ && file.open(json).empty()) {
      lines_ = static_cast<int>(std::count(file.bytes().begin(), file.bytes().end(), '\n'));
    }
  }
  ~ProgressBar() {
    if (isShown_) {
      std::fprintf(stderr, "\r\033[K");
    }
  }
  void operator()(int line) {
    const int percent = lines_ > 0 ? line * 100 / lines_ : 0;
    if (isShown_ && percent != shown_) {
      shown_ = percent;
      fmt::print(stderr, "\r[{:<{}}] {:3} %", std::string(static_cast<size_t>(percent * cells_ / 100), '#'), cells_,
                 percent);
    }
  }

 private:
  bool isShown_;
  int lines_ = 0;
  int shown_ = -1;
  int cells_ = 40;
};

int report(const Replay& replay) {
  int code = kDone;
  if (replay.differences() > 0) {
    fmt::print(stderr, "{} results differ from the application's; the first: {}\n", replay.differences(),
               printable(replay.firstDifference()));
  }
  for (const BuildResult& build : replay.builds()) {
    if (!build.file.empty()) {
      say("build {} (line {}): {} bytes{}{}\n", build.build, build.line, build.bytes,
          build.file == "-" ? "" : fmt::format(" in '{}'", printable(build.file)),
          !build.comparable ? ""
          : build.identical ? ", the application's engine"
                            : ", not the application's bytes");
      code = build.failedThen ? kDiffers : code;
    } else if (build.failedThen) {
      say("build {} (line {}): {} fails as it did in the application: {}\n", build.build, build.line, build.method,
          printable(build.error, LineBreaks::kIndented));
      code = code == kDone ? kFailedAgain : code;
    } else {
      say("build {} (line {}): {} fails, but not in the application: {}\n", build.build, build.line, build.method,
          printable(build.error, LineBreaks::kIndented));
      code = kDiffers;
    }
  }
  if (replay.failures() > 0) {
    say("{} calls fail as they did in the application; the first: {}\n", replay.failures(),
        printable(replay.firstFailure(), LineBreaks::kIndented));
  }
  if (replay.builds().empty()) {
    say("the capture holds no build\n");
    code = replay.failures() > 0 ? kFailedAgain : code;
  }
  return code;
}

// Each rebuilt engine beside its reference; the code is that of the replay unless one differs.
int verify(const CommandLine& line, Replay& replay, int code) {
  const size_t count = replay.builds().size();
  std::vector<std::string> references = line.references;
  if (references.size() == 1 && count > 1) {
    references.clear();
    for (size_t i = 0; i < count; ++i) {
      references.push_back(line.references.front() + std::to_string(i));
    }
  }
  if (references.size() != count) {
    throw CaptureError(
        fmt::format("--verify: {} engines with --engine for {} builds: name one for each, or one name to which "
                    "0, 1, ... are appended",
                    references.size(), count));
  }
  for (size_t i = 0; i < count; ++i) {
    const BuildResult& build = replay.builds()[i];
    if (build.file.empty()) {
      continue;  // a build that failed in the application too: there is nothing to compare
    }
    const Verification result =
        verifyEngines(replay.users().logger(), build.file, references[i], line.replay.randomSeed + 1);
    say("{}{}\n", count > 1 ? fmt::format("build {}: ", i) : "", result.text);
    code = result.agrees ? code : static_cast<int>(kDiffers);
  }
  return code;
}

int run(CommandLine& line) {
  CaptureFile capture(line.json);
  if (line.list) {
    say("{}", listing(capture));
    return kDone;
  }
  if (!line.emit.empty()) {
    const std::string text = emitCpp(capture);  // before there is a file
    if (const std::string reason = tools::writeWholeFile(line.emit, text.data(), text.size()); !reason.empty()) {
      throw CaptureError(fmt::format("cannot write '{}': {}", line.emit, reason));
    }
    return kDone;
  }
  loadPlugins(line.plugins);
  ProgressBar bar(line.json);
  line.replay.progress = [&](int number) { bar(number); };
  Replay replay(capture, line.replay);
  replay.users().logger().verbose = line.verbose;
  replay.run();
  const int code = report(replay);
  return line.verify && code != kDiffers ? verify(line, replay, code) : code;
}

}  // namespace
}  // namespace tenon::capture

int main(int argc, char** argv) {
  using namespace tenon::capture;
  tenon::tools::prepareStandardStreams();
  CLI::App app("Builds the engines of a program again from what libtensorrt_shim.so captured of it.");
  CommandLine line;
  app.add_option("-j,--json", line.json, "the capture")->required();
  app.add_option("-o,--output", line.replay.output, "file of the engine; with several builds 0, 1, ... are appended");
  app.add_option("--plugins", line.plugins, "libraries with the plugins the capture uses");
  app.add_flag("--list", line.list, "tell what the capture holds and make no call");
  app.add_option("--network", line.replay.network, "only the network of this number (see --list)");
  app.add_option("--random-weights", line.replay.randomSeed, "seed for weights whose values were not captured");
  app.add_option("--timing-cache", line.replay.timingCache, "file of a timing cache, used and written again");
  app.add_option("--emit-cpp", line.emit, "write a C++ program that makes the same calls, and make none here")
      ->excludes("--network");
  auto* reference = app.add_option("--engine", line.references,
                                   "the engine that --verify compares with; with several builds "
                                   "0, 1, ... are appended, or one is named for each");
  auto* output = app.get_option("--output");
  app.add_flag("--verify", line.verify, "run each engine and the one of --engine on the same random inputs")
      ->needs(reference)
      ->needs(output);
  app.add_flag("-v,--verbose", line.verbose, "show all messages of the library");
  int code = kDone;
  try {
    app.parse(argc, argv);
    code = run(line);
  } catch (const CLI::ParseError& error) {
    code = app.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tensorrt_player: {}\n", tenon::printable(error.what(), tenon::LineBreaks::kIndented));
    constexpr int kSignalled = 128;  // the convention of shells
    return tenon::tools::wasInterrupted() ? kSignalled + tenon::tools::interruptSignal() : static_cast<int>(kRefused);
  }
  std::cout.flush();  // where the help goes
  if (const std::string problem = tenon::tools::outputProblem(); !problem.empty() || !std::cout) {
    fmt::print(stderr, "tensorrt_player: {}\n", problem.empty() ? "the help could not be written" : problem);
    return kRefused;
  }
  return code;
}
