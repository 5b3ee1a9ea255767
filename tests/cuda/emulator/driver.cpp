// A libcuda with one GPU of host memory: streams do their work at once, a block's threads take turns on one thread.
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "block.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CUmod_st {
  void* library;
  EmulatedState* state;
};
struct CUfunc_st {
  EmulatedKernel kernel;
  EmulatedState* state;
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
};

EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::snprintf(name, static_cast<size_t>(size), "emulated GPU"), CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = 0;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = 9;
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    *value = 132;  // so that work is divided as on a large chip
  if (attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) *value = 1 << 16;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = reinterpret_cast<CUcontext>(16), CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext* context) { return *context = reinterpret_cast<CUcontext>(16), CUDA_SUCCESS; }
EXPORT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
#undef cuCtxSynchronize  // the header renames it to a later version
EXPORT CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0x7b, bytes);  // what nobody wrote is no zero
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) { return std::free(reinterpret_cast<void*>(pointer)), CUDA_SUCCESS; }
EXPORT CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  return *pointer = std::malloc(bytes), CUDA_SUCCESS;
}
EXPORT CUresult cuMemFreeHost(void* pointer) { return std::free(pointer), CUDA_SUCCESS; }
EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* argument) {
  return function(argument), CUDA_SUCCESS;
}
EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(32), CUDA_SUCCESS;
}
// All work before is done; what waits for an event that nobody has recorded would not wait for anything.
EXPORT CUresult cuStreamWaitEvent(CUstream, CUevent event, unsigned) {
  return event->time == std::chrono::steady_clock::time_point() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
EXPORT CUresult cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
EXPORT CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
// Graphs: a stream is never captured, and asking for it is refused.
EXPORT CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
EXPORT CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) { return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuStreamEndCapture(CUstream, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
EXPORT CUresult cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
EXPORT CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }

EXPORT CUresult cuEventCreate(CUevent* event, unsigned) { return *event = new CUevent_st, CUDA_SUCCESS; }
EXPORT CUresult cuEventDestroy_v2(CUevent event) { return delete event, CUDA_SUCCESS; }
EXPORT CUresult cuEventRecord(CUevent event, CUstream) {
  return event->time = std::chrono::steady_clock::now(), CUDA_SUCCESS;
}
EXPORT CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
#undef cuEventElapsedTime  // the header renames it to its second version
EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  // The length of a shared library: the section headers come last.
  const auto* bytes = static_cast<const unsigned char*>(image);
  unsigned long offset = 0;
  unsigned short size = 0;
  unsigned short count = 0;
  std::memcpy(&offset, bytes + 0x28, 8);
  std::memcpy(&size, bytes + 0x3a, 2);
  std::memcpy(&count, bytes + 0x3c, 2);
  char name[] = "/tmp/tenon_emulator_module_XXXXXX";
  const int file = mkstemp(name);
  const auto length = static_cast<ssize_t>(offset + static_cast<unsigned long>(size) * count);
  const bool written = file >= 0 && write(file, image, static_cast<size_t>(length)) == length;
  if (file >= 0) close(file);
  void* library = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(name);
  if (library == nullptr) return std::fprintf(stderr, "emulator: %s\n", dlerror()), CUDA_ERROR_INVALID_IMAGE;
  *module = new CUmod_st{library, static_cast<EmulatedState*>(dlsym(library, "tenon_emulator"))};
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleUnload(CUmodule module) {
  dlclose(module->library);
  delete module;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto kernel = reinterpret_cast<EmulatedKernel>(dlsym(module->library, name));
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = new CUfunc_st{kernel, module->state};  // as long as the process: tests are short
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
// Kernels launched so far; no function of a driver.
unsigned long launches = 0;
EXPORT unsigned long emulatedLaunches() { return launches; }
EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned, CUstream, void** arguments, void**) {
  if (gx == 0 || gy == 0 || gz == 0 || gy > 65535 || gz > 65535 || bx * by * bz == 0 || bx * by * bz > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  ++launches;
  runGrid(function->kernel, *function->state, {gx, gy, gz}, {bx, by, bz}, arguments[0]);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorString(CUresult, const char** text) { return *text = "of the emulated driver", CUDA_SUCCESS; }
