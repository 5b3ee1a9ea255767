// NVIDIA's libraries, opened at run time: the driver, NVRTC and cuBLASLt. Each absence has its reason.
#pragma once

#include <cublasLt.h>
#include <cuda.h>
#include <nvrtc.h>

#include <initializer_list>
#include <string>

namespace tenon::backends::cuda {

// Function pointers of one library; `missing` is empty when all are there.
struct Driver {
  std::string missing;
  decltype(&::cuInit) init;
  decltype(&::cuDeviceGetCount) deviceGetCount;
  decltype(&::cuDeviceGet) deviceGet;
  decltype(&::cuDeviceGetName) deviceGetName;
  decltype(&::cuDeviceGetAttribute) deviceGetAttribute;
  decltype(&::cuDevicePrimaryCtxRetain) primaryContextRetain;
  decltype(&::cuCtxGetCurrent) contextGetCurrent;
  decltype(&::cuCtxSetCurrent) contextSetCurrent;
  decltype(&::cuCtxSynchronize) contextSynchronize;
  decltype(&::cuMemAlloc) memAlloc;
  decltype(&::cuMemFree) memFree;
  decltype(&::cuMemcpyAsync) memcpyAsync;
  decltype(&::cuStreamCreate) streamCreate;
  decltype(&::cuStreamDestroy) streamDestroy;
  decltype(&::cuStreamIsCapturing) streamIsCapturing;
  decltype(&::cuStreamBeginCapture) streamBeginCapture;
  decltype(&::cuStreamEndCapture) streamEndCapture;
  decltype(&::cuGraphInstantiateWithFlags) graphInstantiate;
  decltype(&::cuGraphExecUpdate) graphUpdate;
  decltype(&::cuGraphLaunch) graphLaunch;
  decltype(&::cuGraphExecDestroy) graphExecDestroy;
  decltype(&::cuGraphDestroy) graphDestroy;
  decltype(&::cuStreamWaitEvent) streamWaitEvent;
  decltype(&::cuStreamSynchronize) streamSynchronize;
  decltype(&::cuEventCreate) eventCreate;
  decltype(&::cuEventDestroy) eventDestroy;
  decltype(&::cuEventRecord) eventRecord;
  decltype(&::cuEventSynchronize) eventSynchronize;
  decltype(&::cuEventElapsedTime) eventElapsedTime;
  decltype(&::cuModuleLoadData) moduleLoadData;
  decltype(&::cuModuleLoadDataEx) moduleLoadDataEx;
  decltype(&::cuModuleUnload) moduleUnload;
  decltype(&::cuModuleGetFunction) moduleGetFunction;
  decltype(&::cuLaunchKernel) launchKernel;
  decltype(&::cuLaunchKernelEx) launchKernelEx;                // null where the driver lacks it
  decltype(&::cuTensorMapEncodeTiled) tensorMapEncodeTiled;    // likewise
  decltype(&::cuTensorMapEncodeIm2col) tensorMapEncodeIm2col;  // likewise
  decltype(&::cuGetErrorString) getErrorString;
  decltype(&::cuMemHostAlloc) memHostAlloc;
  decltype(&::cuMemFreeHost) memFreeHost;
  decltype(&::cuMemsetD8Async) memsetAsync;
  decltype(&::cuLaunchHostFunc) launchHostFunction;
  decltype(&::cuFuncSetAttribute) functionSetAttribute;
  decltype(&::cuFuncGetAttribute) functionGetAttribute;
  decltype(&::cuMemGetAddressRange) memGetAddressRange;  // null where the driver lacks it
  // Size of a kernel's parameter; declared here, since older toolkits lack it. Null where the driver lacks it.
  CUresult (*functionParameter)(CUfunction function, size_t index, size_t* offset, size_t* bytes);
};

struct Nvrtc {
  std::string missing;
  decltype(&::nvrtcCreateProgram) createProgram;
  decltype(&::nvrtcDestroyProgram) destroyProgram;
  decltype(&::nvrtcCompileProgram) compileProgram;
  decltype(&::nvrtcGetProgramLogSize) getProgramLogSize;
  decltype(&::nvrtcGetProgramLog) getProgramLog;
  decltype(&::nvrtcGetCUBINSize) getCubinSize;
  decltype(&::nvrtcGetCUBIN) getCubin;
  decltype(&::nvrtcGetPTXSize) getPtxSize;
  decltype(&::nvrtcGetPTX) getPtx;
  decltype(&::nvrtcGetErrorString) getErrorString;
  decltype(&::nvrtcVersion) version;
};

struct BlasLt {
  std::string missing;
  decltype(&::cublasLtCreate) create;
  decltype(&::cublasLtMatmul) matmul;
  decltype(&::cublasLtMatmulDescCreate) matmulDescCreate;
  decltype(&::cublasLtMatmulDescDestroy) matmulDescDestroy;
  decltype(&::cublasLtMatmulDescSetAttribute) matmulDescSetAttribute;
  decltype(&::cublasLtMatrixLayoutCreate) matrixLayoutCreate;
  decltype(&::cublasLtMatrixLayoutDestroy) matrixLayoutDestroy;
  decltype(&::cublasLtMatrixLayoutSetAttribute) matrixLayoutSetAttribute;
  decltype(&::cublasLtMatmulPreferenceCreate) preferenceCreate;
  decltype(&::cublasLtMatmulPreferenceDestroy) preferenceDestroy;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preferenceSetAttribute;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) getHeuristic;
  decltype(&::cublasLtMatmulAlgoInit) algoInit;
  decltype(&::cublasLtMatmulAlgoCheck) algoCheck;
  decltype(&::cublasLtMatmulAlgoCapGetAttribute) algoCapGet;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) algoConfigGet;
  decltype(&::cublasLtMatmulAlgoConfigSetAttribute) algoConfigSet;
};

// Opens the first of `names` that is found; null, and the reason in `missing`, when none is.
void* openLibrary(std::initializer_list<const char*> names, std::string& missing);
void* findSymbol(void* library, const char* name, std::string& missing);

template <typename F>
void findFunction(void* library, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(findSymbol(library, name, missing));
}

// Opened once, never closed. Searched in the loader's path, the toolkit's folder, and the folders of the Python
// packages nvidia-* below TENON_CUDA_LIBS (a list with colons).
const Driver& driver();
const Nvrtc& nvrtc();
const BlasLt& blasLt();

void check(CUresult result, const char* what);  // throws Error
void check(cublasStatus_t result, const char* what);

}  // namespace tenon::backends::cuda
