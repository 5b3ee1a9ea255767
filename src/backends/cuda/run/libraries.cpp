// dlopen and dlsym with reasons.
#include "backends/cuda/run/libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

std::vector<std::string> folders() {
  std::vector<std::string> result{""};
  if (const char* list = std::getenv("TENON_CUDA_LIBS")) {
    std::string folder;
    for (const char* c = list;; ++c) {
      if (*c != ':' && *c != '\0') {
        folder += *c;
        continue;
      }
      if (!folder.empty()) result.push_back(folder + "/");
      folder.clear();
      if (*c == '\0') break;
    }
  }
  result.emplace_back("/usr/local/cuda/lib64/");
  return result;
}

void* open(std::initializer_list<const char*> names, std::string& missing) {
  for (const auto& folder : folders()) {
    for (const char* name : names) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  missing = fmt::format("{} was not found in the loader's path, TENON_CUDA_LIBS or /usr/local/cuda/lib64", *names.begin());
  return nullptr;
}

template <typename F>
void find(void* library, const char* name, F& function, std::string& missing) {
  function = library != nullptr ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
  if (library != nullptr && function == nullptr && missing.empty()) missing = fmt::format("the library has no function {}", name);
}

}  // namespace

const Driver& driver() {
  static const auto* const kDriver = [] {
    auto* d = new Driver{};
    void* library = open({"libcuda.so.1"}, d->missing);
    const auto get = [&](const char* name, auto& function) { find(library, name, function, d->missing); };
    get("cuInit", d->init);
    get("cuDeviceGetCount", d->deviceGetCount);
    get("cuDeviceGet", d->deviceGet);
    get("cuDeviceGetName", d->deviceGetName);
    get("cuDeviceGetAttribute", d->deviceGetAttribute);
    get("cuDevicePrimaryCtxRetain", d->primaryContextRetain);
    get("cuCtxGetCurrent", d->contextGetCurrent);
    get("cuCtxSetCurrent", d->contextSetCurrent);
    get("cuMemAlloc_v2", d->memAlloc);
    get("cuMemFree_v2", d->memFree);
    get("cuMemcpyAsync", d->memcpyAsync);
    get("cuStreamCreate", d->streamCreate);
    get("cuStreamSynchronize", d->streamSynchronize);
    get("cuEventCreate", d->eventCreate);
    get("cuEventDestroy_v2", d->eventDestroy);
    get("cuEventRecord", d->eventRecord);
    get("cuEventSynchronize", d->eventSynchronize);
    get("cuEventElapsedTime", d->eventElapsedTime);
    get("cuModuleLoadData", d->moduleLoadData);
    get("cuModuleUnload", d->moduleUnload);
    get("cuModuleGetFunction", d->moduleGetFunction);
    get("cuLaunchKernel", d->launchKernel);
    get("cuGetErrorString", d->getErrorString);
    get("cuMemHostAlloc", d->memHostAlloc);
    get("cuMemFreeHost", d->memFreeHost);
    get("cuMemsetD8Async", d->memsetAsync);
    get("cuLaunchHostFunc", d->launchHostFunction);
    get("cuFuncSetAttribute", d->functionSetAttribute);
    return d;
  }();
  return *kDriver;
}

const Nvrtc& nvrtc() {
  static const auto* const kNvrtc = [] {
    auto* n = new Nvrtc{};
    void* library = open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, n->missing);
    const auto get = [&](const char* name, auto& function) { find(library, name, function, n->missing); };
    get("nvrtcCreateProgram", n->createProgram);
    get("nvrtcDestroyProgram", n->destroyProgram);
    get("nvrtcCompileProgram", n->compileProgram);
    get("nvrtcGetProgramLogSize", n->getProgramLogSize);
    get("nvrtcGetProgramLog", n->getProgramLog);
    get("nvrtcGetCUBINSize", n->getCubinSize);
    get("nvrtcGetCUBIN", n->getCubin);
    get("nvrtcGetErrorString", n->getErrorString);
    get("nvrtcVersion", n->version);
    return n;
  }();
  return *kNvrtc;
}

const BlasLt& blasLt() {
  static const auto* const kBlas = [] {
    auto* b = new BlasLt{};
    void* library = open({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, b->missing);
    const auto get = [&](const char* name, auto& function) { find(library, name, function, b->missing); };
    get("cublasLtCreate", b->create);
    get("cublasLtMatmul", b->matmul);
    get("cublasLtMatmulDescCreate", b->matmulDescCreate);
    get("cublasLtMatmulDescDestroy", b->matmulDescDestroy);
    get("cublasLtMatmulDescSetAttribute", b->matmulDescSetAttribute);
    get("cublasLtMatrixLayoutCreate", b->matrixLayoutCreate);
    get("cublasLtMatrixLayoutDestroy", b->matrixLayoutDestroy);
    get("cublasLtMatrixLayoutSetAttribute", b->matrixLayoutSetAttribute);
    get("cublasLtMatmulPreferenceCreate", b->preferenceCreate);
    get("cublasLtMatmulPreferenceDestroy", b->preferenceDestroy);
    get("cublasLtMatmulPreferenceSetAttribute", b->preferenceSetAttribute);
    get("cublasLtMatmulAlgoGetHeuristic", b->getHeuristic);
    return b;
  }();
  return *kBlas;
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().getErrorString(result, &text);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw OutOfMemory("{}: {}", what, text != nullptr ? text : "out of memory");
  throw InternalError("{}: CUDA error {} ({})", what, static_cast<int>(result), text != nullptr ? text : "unknown");
}

void check(cublasStatus_t result, const char* what) {
  if (result != CUBLAS_STATUS_SUCCESS) throw Unsupported("{}: cuBLASLt status {}", what, static_cast<int>(result));
}

}  // namespace tenon::backends::cuda
