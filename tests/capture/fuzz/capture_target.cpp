// A fuzz target in libFuzzer's form: the input is a JSON file, a line "BIN" and a BIN file. The capture is listed,
// written as a program and replayed against objects that only remember calls (tests/compat/recorder.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "damage.h"
#include "player/emit_cpp.h"
#include "player/list.h"
#include "player/replay.h"

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed);
void recorderFree();
void recorderNextLayer(const char* name);
}

namespace {

using namespace tenon::capture;

constexpr std::string_view kSeparator = "\nBIN\n";
constexpr int kJsonFile = 100;
constexpr int kBinFile = 101;  // the name that inputs give their BIN file, in the same folder of open files

// The files under the numbers that the inputs know.
struct Files {
  Files() : json("json"), bin("bin") {
    if (::dup2(json.number(), kJsonFile) < 0 || ::dup2(bin.number(), kBinFile) < 0) {
      std::abort();
    }
  }
  MemoryFile json;
  MemoryFile bin;
};

template <typename Use>
void with(const Use& use) {
  try {
    CaptureFile capture("/proc/self/fd/" + std::to_string(kJsonFile));
    use(capture);
  } catch (const CaptureError&) {
    // The right answer to damage.
  }
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Files files;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(input.find(kSeparator), size);
  files.json.set(std::string(input.substr(0, middle)) + "\n");
  files.bin.set(std::string(input.substr(std::min(middle + kSeparator.size(), size))));
  with([](CaptureFile& capture) { listing(capture); });
  with([](CaptureFile& capture) { emitCpp(capture); });
  recorderFree();
  // The class whose type each object says it has: the type of a layer decides what it is taken for.
  recorderNextLayer("nvinfer1::ICastLayer");
  with([](CaptureFile& capture) {
    Replay replay(capture, {});
    replay.users().logger().quiet = true;
    replay.run();
  });
  return 0;
}

// Half of the changes are those that captures suffer: lines, names, numbers. The others know bytes only.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 2 == 0 || size == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t middle = std::min(input.find(kSeparator), size);
  std::vector<std::string> lines = linesOf(input.substr(0, middle));
  if (lines.empty()) {
    return LLVMFuzzerMutate(data, size, most);
  }
  Damage damage(seed);
  damage.lines(lines);
  std::string changed;
  for (const std::string& line : lines) {
    changed += changed.empty() ? line : "\n" + line;
  }
  changed += input.substr(middle);
  const size_t kept = std::min(changed.size(), most);
  std::copy_n(changed.data(), kept, reinterpret_cast<char*>(data));
  return kept;
}
