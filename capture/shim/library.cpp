// Opens the library behind the shim.
#include "shim/library.h"

#include <NvInfer.h>
#include <dlfcn.h>
#include <files/input_file.h>

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "shim/settings.h"

namespace tenon::capture {
namespace {

// The file that holds an address, "" when unknown.
std::string fileOf(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Opens one name; a handle that leads back to this very library is none.
void* openLibrary(const std::string& name, std::string& reasons) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    reasons += std::string("\n  ") + dlerror();
    return nullptr;
  }
  void* symbol = dlsym(handle, "getInferLibVersion");
  if (symbol == nullptr || fileOf(symbol) == fileOf(reinterpret_cast<const void*>(&openLibrary))) {
    reasons += "\n  " + name + (symbol == nullptr ? ": exports no getInferLibVersion" : ": is the shim itself");
    dlclose(handle);
    return nullptr;
  }
  return handle;
}

void* library() {
  static void* const kHandle = [] {
    std::string reasons;
    const std::string& name = settings().libraryName;
    void* handle = openLibrary(name.empty() ? "libnvinfer.so" : name, reasons);
    if (handle == nullptr && name.empty()) {
      handle = openLibrary("libnvinfer.so.10", reasons);
    }
    if (handle == nullptr) {
      std::fprintf(stderr,
                   "[tensorrt_shim] cannot open the library to record; set TRT_SHIM_NVINFER_LIB_NAME to its file:%s\n",
                   reasons.c_str());
    } else if (settings().printWelcome) {
      std::fprintf(
          stderr, "[tensorrt_shim] recording the calls of %s into %s\n",
          fileOf(dlsym(handle, "getInferLibVersion")).c_str(),
          settings().records() ? settings().outputJson.c_str() : "nothing (TRT_SHIM_OUTPUT_JSON_FILE is not set)");
    }
    return handle;
  }();
  return kHandle;
}

}  // namespace

void* entryPoint(const char* name) noexcept {
  void* handle = library();
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

int32_t libraryVersion() noexcept {
  auto* version = reinterpret_cast<int32_t (*)()>(entryPoint("getInferLibVersion"));
  return version != nullptr ? version() : 0;
}

void applyTacticCache(nvinfer1::IBuilderConfig* config) noexcept {
  const std::string& name = settings().tacticCache;
  if (config == nullptr || name.empty()) {
    return;
  }
  files::InputFile bytes;
  if (const std::string reason = bytes.open(name); !reason.empty()) {
    std::fprintf(stderr, "[tensorrt_shim] TRT_SHIM_SET_TACTIC_CACHE: cannot read '%s'; no cache is applied (%s)\n",
                 name.c_str(), reason.c_str());
    return;
  }
  // It stays with the configuration, which refers to it; the application knows nothing of it and deletes nothing.
  const nvinfer1::ITimingCache* cache = config->createTimingCache(bytes.data(), bytes.size());
  if (cache == nullptr || !config->setTimingCache(*cache, false)) {
    std::fprintf(stderr, "[tensorrt_shim] TRT_SHIM_SET_TACTIC_CACHE: the library refuses '%s'\n", name.c_str());
  }
}

}  // namespace tenon::capture
