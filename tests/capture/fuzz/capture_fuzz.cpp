// Replays damaged captures: capture_fuzz FILE.json RUNS SEED. Every run must end with a CaptureError or in peace.
//
// The library behind it is whichever the loader finds; the test gives it one whose objects only remember calls, so that
// a run costs microseconds and a crash can only be the player's.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "damage.h"
#include "player/emit_cpp.h"
#include "player/list.h"
#include "player/replay.h"

namespace {

using namespace tenon::capture;

std::string readFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: capture_fuzz FILE.json RUNS SEED\n");
    return 64;
  }
  const std::string name = argv[1];
  const std::vector<std::string> whole = split(readFile(name));
  const std::string bin = readFile(name.substr(0, name.size() - 5) + ".bin");
  MemoryFile jsonFile("json");
  MemoryFile binFile("bin");
  const std::string path = fmt::format("/proc/self/fd/{}", jsonFile.number());
  uint64_t refused = 0;
  const uint64_t runs = std::strtoull(argv[2], nullptr, 10);
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  auto* letGo = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "recorderFree"));
  for (uint64_t run = 0; run < runs; ++run) {
    if (letGo != nullptr) {
      letGo();
    }
    Damage damage(seed + run);
    std::vector<std::string> lines = whole;
    std::string bytes = bin;
    lines[0] = lines[0].replace(lines[0].find("\"bin\":"), std::string::npos,
                                fmt::format("\"bin\":\"{}\",\"calls\":[", binFile.number()));
    for (size_t i = 0, count = 1 + damage.below(4); i < count && !lines.empty(); ++i) {
      damage.lines(lines);
    }
    if (damage.below(8) == 0) {
      damage.bytes(bytes);
      bytes.resize(damage.below(2) == 0 ? bytes.size() : damage.below(bytes.size()));
    }
    std::string text;
    for (const std::string& line : lines) {
      text += line + "\n";
    }
    jsonFile.set(text);
    binFile.set(bytes);
    try {
      CaptureFile capture(path);
      listing(capture);
      if (run % 4 == 0) {
        emitCpp(capture);
      }
      Replay replay(capture, {});
      replay.users().logger().quiet = true;
      replay.run();
    } catch (const CaptureError&) {
      ++refused;
    } catch (const std::exception& error) {
      std::printf("seed %llu: not a CaptureError: %s\n", static_cast<unsigned long long>(seed + run), error.what());
      return 1;
    }
  }
  std::printf("%llu runs from seed %llu, %llu refused\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(refused));
  return refused > 0 ? 0 : 1;
}
