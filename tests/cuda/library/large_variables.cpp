// A library with many variables, whose constructor waits until somebody has advised the kernel to put them on huge
// pages.
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace {

constexpr size_t kBytes = size_t{32} << 20;
alignas(4096) char variables[kBytes];

// Of the mapping of an address: "hg" among its flags.
bool isAdvised(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool isIts = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      const auto at = reinterpret_cast<uintptr_t>(address);
      isIts = begin <= at && at < end;
    } else if (isIts && line.starts_with("VmFlags:")) {
      return (line + " ").find(" hg ") != std::string::npos;
    }
  }
  return false;
}

struct Constructor {
  Constructor() {
    constexpr int kMost = 500;
    constexpr auto kPause = std::chrono::milliseconds(10);
    for (int i = 0; i < kMost && !advised; ++i) {
      advised = isAdvised(variables + kBytes / 2);
      if (!advised) std::this_thread::sleep_for(kPause);
    }
    variables[kBytes / 2] = 1;
  }
  bool advised = false;
} constructor;

}  // namespace

#pragma GCC visibility push(default)
extern "C" int variablesAreAdvised() { return constructor.advised ? 1 : 0; }
#pragma GCC visibility pop
