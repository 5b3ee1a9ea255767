// tensorrt_player: the command line.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "player/emit_cpp.h"
#include "player/list.h"
#include "player/replay.h"
#include "player/verify.h"

namespace tenon::capture {
namespace {

// Exit codes, as docs/capture.md lists them.
enum Exit : int { kDone = 0, kRefused = 1, kDiffers = 2, kFailedAgain = 3 };

struct CommandLine {
  std::string json;
  ReplayOptions replay;
  std::vector<std::string> plugins;
  std::string emit;
  std::string reference;
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
    std::ifstream file(json);
    for (std::string line; isShown_ && std::getline(file, line);) {
      ++lines_;
    }
  }
  ~ProgressBar() {
    if (isShown_) {
      std::fprintf(stderr, "\r%60s\r", "");
    }
  }
  void operator()(int line) {
    const int percent = lines_ > 0 ? line * 100 / lines_ : 0;
    if (isShown_ && percent != shown_) {
      shown_ = percent;
      std::fprintf(stderr, "\r[%-40.*s] %3d %%", 40, std::string(static_cast<size_t>(percent) * 2 / 5, '#').c_str(), percent);
    }
  }

 private:
  bool isShown_;
  int lines_ = 0;
  int shown_ = -1;
};

int report(const Replay& replay) {
  int code = kDone;
  if (replay.differences() > 0) {
    fmt::print(stderr, "{} results differ from the application's; the first: {}\n", replay.differences(),
               replay.firstDifference());
  }
  for (const BuildResult& build : replay.builds()) {
    if (!build.file.empty()) {
      fmt::print("build {} (line {}): {} bytes{}{}\n", build.build, build.line, build.bytes,
                 build.file == "-" ? "" : fmt::format(" in '{}'", build.file),
                 !build.comparable ? "" : build.identical ? ", the application's engine" : ", not the application's bytes");
      code = build.failedThen ? kDiffers : code;
    } else if (build.failedThen) {
      fmt::print("build {} (line {}) fails as it did in the application: {}\n", build.build, build.line, replay.lastError());
      code = code == kDone ? kFailedAgain : code;
    } else {
      fmt::print("build {} (line {}) fails, but not in the application: {}\n", build.build, build.line, replay.lastError());
      code = kDiffers;
    }
  }
  if (replay.builds().empty()) {
    fmt::print("the capture holds no build\n");
  }
  return code;
}

int verify(const CommandLine& line, Replay& replay) {
  const Verification result = verifyEngines(replay.users().logger(), replay.builds().front().file, line.reference,
                                            line.replay.randomSeed + 1);
  fmt::print("{}\n", result.text);
  return result.agrees ? kDone : kDiffers;
}

int run(CommandLine& line) {
  CaptureFile capture(line.json);
  if (line.list) {
    fmt::print("{}", listing(capture));
    return kDone;
  }
  if (!line.emit.empty()) {
    std::ofstream file(line.emit);
    file << emitCpp(capture);
    file.close();
    if (!file) {
      throw CaptureError(fmt::format("cannot write '{}'", line.emit));
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
  return line.verify && code == kDone ? verify(line, replay) : code;
}

}  // namespace
}  // namespace tenon::capture

int main(int argc, char** argv) {
  using namespace tenon::capture;
  CLI::App app("Builds the engines of a program again from what libtensorrt_shim.so captured of it.");
  CommandLine line;
  app.add_option("-j,--json", line.json, "the capture")->required();
  app.add_option("-o,--output", line.replay.output, "file of the engine; with several builds 0, 1, ... are appended");
  app.add_option("--plugins", line.plugins, "libraries with the plugins the capture uses");
  app.add_flag("--list", line.list, "tell what the capture holds and make no call");
  app.add_option("--network", line.replay.network, "only the network of this number (see --list)");
  app.add_option("--random-weights", line.replay.randomSeed, "seed for weights whose values were not captured");
  app.add_option("--timing-cache", line.replay.timingCache, "file of a timing cache, used and written again");
  app.add_option("--emit-cpp", line.emit, "write a C++ program that makes the same calls, and make none here");
  auto* reference = app.add_option("--engine", line.reference, "the engine that --verify compares with");
  auto* output = app.get_option("--output");
  app.add_flag("--verify", line.verify, "run the (first) engine and the one of --engine on the same random inputs")
      ->needs(reference)
      ->needs(output);
  app.add_flag("-v,--verbose", line.verbose, "show all messages of the library");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(line);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tensorrt_player: {}\n", error.what());
    return kRefused;
  }
}
