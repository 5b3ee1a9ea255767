// Decides once where the process computes: on the host, or on a GPU that answers.
#include "mode.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tenon::hostcuda {
namespace {

enum class Wish { kAny, kHost, kCuda };

Wish readWish() {
  const char* text = std::getenv("TENON_DEVICE");
  if (text == nullptr || *text == '\0') return Wish::kAny;
  const std::string_view wish = text;
  if (wish == "cpu") return Wish::kHost;
  if (wish == "cuda") return Wish::kCuda;
  std::fprintf(stderr,
               "Tenon: TENON_DEVICE is '%s', expected 'cpu' or 'cuda'; CUDA calls go where they would without it.\n",
               text);
  return Wish::kAny;
}

Wish wish() {
  static const Wish result = readWish();
  return result;
}

void* driverLibrary() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

bool gpuAnswers() {
  void* library = driverLibrary();
  if (library == nullptr) return false;
  const auto initialize = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto countDevices = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  int count = 0;
  return initialize != nullptr && countDevices != nullptr && initialize(0) == 0 && countDevices(&count) == 0 &&
         count > 0;
}

Mode decide() {
  if (wish() == Wish::kHost) return Mode::kHost;
  if (gpuAnswers()) return Mode::kCuda;
  return wish() == Wish::kCuda ? Mode::kNoDevice : Mode::kHost;
}

}  // namespace

Mode currentMode() {
  static const Mode mode = decide();
  return mode;
}

bool driverPresent() { return wish() != Wish::kHost && driverLibrary() != nullptr; }

}  // namespace tenon::hostcuda
