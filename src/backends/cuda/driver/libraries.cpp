// dlopen and dlsym with reasons.
#include "backends/cuda/driver/libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "backends/cuda/driver/large_variables.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

// Where to look after the loader's own path: the user's list, each entry also as the folder of the Python packages
// nvidia-* (site-packages/nvidia), then the toolkit.
std::vector<std::string> folders() {
  std::vector<std::string> result{""};
  const auto add = [&](const std::string& folder, std::initializer_list<const char*> below) {
    for (const char* part : below) result.push_back(folder + "/" + part);
  };
  if (const char* list = std::getenv("TENON_CUDA_LIBS")) {
    std::string folder;
    for (const char* c = list;; ++c) {
      if (*c != ':' && *c != '\0') {
        folder += *c;
        continue;
      }
      if (!folder.empty()) add(folder, {"", "cudnn/lib/", "cublas/lib/", "cuda_nvrtc/lib/", "cu13/lib/"});
      folder.clear();
      if (*c == '\0') break;
    }
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(variable); home != nullptr && *home != '\0') add(home, {"lib64/", "lib/"});
  }
  add("/usr/local/cuda", {"lib64/", "lib/"});
  return result;
}

}  // namespace

void* openLibrary(std::initializer_list<const char*> names, std::string& missing) {
  const LargeVariables huge;  // of cuBLASLt 88 MiB, which took half of the time that opening it takes
  for (const auto& folder : folders()) {
    for (const char* name : names) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  missing = fmt::format(
      "{} was not found in the loader's path, TENON_CUDA_LIBS or the toolkit's folder (/usr/local/cuda or CUDA_HOME)",
      *names.begin());
  return nullptr;
}

void* findSymbol(void* library, const char* name, std::string& missing) {
  void* symbol = library != nullptr ? dlsym(library, name) : nullptr;
  if (library != nullptr && symbol == nullptr && missing.empty())
    missing = fmt::format("the library has no function {}", name);
  return symbol;
}

const Driver& driver() {
  static const auto* const kDriver = [] {
    auto* d = new Driver{};
    void* library = openLibrary({"libcuda.so.1"}, d->missing);
    const auto get = [&](const char* name, auto& function) { findFunction(library, name, function, d->missing); };
    get("cuInit", d->init);
    get("cuDeviceGetCount", d->deviceGetCount);
    get("cuDeviceGet", d->deviceGet);
    get("cuDeviceGetName", d->deviceGetName);
    get("cuDeviceGetAttribute", d->deviceGetAttribute);
    get("cuDevicePrimaryCtxRetain", d->primaryContextRetain);
    get("cuCtxGetCurrent", d->contextGetCurrent);
    get("cuCtxSetCurrent", d->contextSetCurrent);
    get("cuCtxSynchronize", d->contextSynchronize);
    get("cuMemAlloc_v2", d->memAlloc);
    get("cuMemFree_v2", d->memFree);
    get("cuMemcpyAsync", d->memcpyAsync);
    get("cuStreamCreate", d->streamCreate);
    get("cuStreamDestroy_v2", d->streamDestroy);
    get("cuStreamIsCapturing", d->streamIsCapturing);
    get("cuStreamBeginCapture_v2", d->streamBeginCapture);
    get("cuStreamEndCapture", d->streamEndCapture);
    get("cuGraphInstantiateWithFlags", d->graphInstantiate);
    get("cuGraphExecUpdate_v2", d->graphUpdate);
    get("cuGraphLaunch", d->graphLaunch);
    get("cuGraphExecDestroy", d->graphExecDestroy);
    get("cuGraphDestroy", d->graphDestroy);
    get("cuStreamWaitEvent", d->streamWaitEvent);
    get("cuStreamSynchronize", d->streamSynchronize);
    get("cuEventCreate", d->eventCreate);
    get("cuEventDestroy_v2", d->eventDestroy);
    get("cuEventRecord", d->eventRecord);
    get("cuEventSynchronize", d->eventSynchronize);
    get("cuEventElapsedTime", d->eventElapsedTime);
    get("cuModuleLoadData", d->moduleLoadData);
    get("cuModuleLoadDataEx", d->moduleLoadDataEx);
    get("cuModuleUnload", d->moduleUnload);
    get("cuModuleGetFunction", d->moduleGetFunction);
    get("cuLaunchKernel", d->launchKernel);
    get("cuGetErrorString", d->getErrorString);
    get("cuMemHostAlloc", d->memHostAlloc);
    get("cuMemFreeHost", d->memFreeHost);
    get("cuMemsetD8Async", d->memsetAsync);
    get("cuLaunchHostFunc", d->launchHostFunction);
    get("cuFuncSetAttribute", d->functionSetAttribute);
    get("cuFuncGetAttribute", d->functionGetAttribute);
    std::string absent;
    findFunction(library, "cuLaunchKernelEx", d->launchKernelEx, absent);
    findFunction(library, "cuTensorMapEncodeTiled", d->tensorMapEncodeTiled, absent);
    findFunction(library, "cuTensorMapEncodeIm2col", d->tensorMapEncodeIm2col, absent);
    findFunction(library, "cuMemGetAddressRange_v2", d->memGetAddressRange, absent);
    findFunction(library, "cuFuncGetParamInfo", d->functionParameter, absent);
    return d;
  }();
  return *kDriver;
}

const BlasLt& blasLt() {
  static const auto* const kBlas = [] {
    auto* b = new BlasLt{};
    void* library = openLibrary({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, b->missing);
    const auto get = [&](const char* name, auto& function) { findFunction(library, name, function, b->missing); };
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
    get("cublasLtMatmulAlgoInit", b->algoInit);
    get("cublasLtMatmulAlgoCheck", b->algoCheck);
    get("cublasLtMatmulAlgoCapGetAttribute", b->algoCapGet);
    get("cublasLtMatmulAlgoConfigGetAttribute", b->algoConfigGet);
    get("cublasLtMatmulAlgoConfigSetAttribute", b->algoConfigSet);
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
