// What programs with kernels need in order to start, and the clear refusal to launch one.
#include <cstdio>
#include <vector>

#include "node_params.h"

namespace tenon::hostcuda {

void failKernel() {
  static const bool isSaid = [] {
    std::fputs(
        "Tenon: a CUDA kernel was launched, but no GPU is in use: the launch fails with "
        "cudaErrorNoKernelImageForDevice. Run the program on a machine with an NVIDIA GPU and without "
        "TENON_DEVICE=cpu, or give the kernel a host implementation.\n",
        stderr);
    return true;
  }();
  static_cast<void>(isSaid);
  fail(cudaErrorNoKernelImageForDevice);
}

namespace api {
namespace {

cudaError_t refuseKernel() {
  return guarded([] { failKernel(); });
}

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return refuseKernel(); }
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return refuseKernel();
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) { return refuseKernel(); }

cudaError_t noFunction() { return report(cudaErrorInvalidDeviceFunction); }
cudaError_t noSymbol() { return report(cudaErrorInvalidSymbol); }

// Entry points of the driver: there is none.
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  return guarded([&] {
    require(symbol != nullptr && function != nullptr);
    *function = nullptr;
    if (status != nullptr) *status = cudaDriverEntryPointSymbolNotFound;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return api::cudaGetDriverEntryPoint(symbol, function, flags, status);
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

// The code that nvcc adds to a program registers its kernels before main. What it gets is a handle that it gives back.
void** registerFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void registerNothing() {}
char initModule(void**) { return 1; }

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t sharedBytes;
  void* stream;
};

std::vector<CallConfiguration>& callConfigurations() {
  thread_local std::vector<CallConfiguration> stack;
  return stack;
}

// kernel<<<...>>>() pushes its configuration; the stub of the kernel pops it and launches.
unsigned pushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, void* stream) {
  callConfigurations().push_back({grid, block, sharedBytes, stream});
  return 0;
}

cudaError_t popCallConfiguration(dim3* grid, dim3* block, size_t* sharedBytes, void* stream) {
  return guarded([&] {
    require(!callConfigurations().empty(), cudaErrorMissingConfiguration);
    const CallConfiguration top = callConfigurations().back();
    callConfigurations().pop_back();
    *grid = top.grid;
    *block = top.block;
    *sharedBytes = top.sharedBytes;
    *static_cast<void**>(stream) = top.stream;
  });
}

}  // namespace
}  // namespace api

Entries kernelEntries() {
  return {TENON_STREAM_ENTRY(cudaLaunchKernel),
          TENON_STREAM_ENTRY(cudaLaunchCooperativeKernel),
          TENON_STREAM_ENTRY(cudaLaunchKernelExC),
          TENON_ENTRY_AS("__cudaLaunchKernel", refuseKernel, 12, 13),
          TENON_ENTRY_AS("__cudaLaunchKernel_ptsz", refuseKernel, 12, 13),
          TENON_ENTRY_AS("cudaLaunchCooperativeKernelMultiDevice", refuseKernel, 12, 12),
          TENON_ENTRY_AS("cudaFuncGetAttributes", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaFuncSetAttribute", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaFuncSetCacheConfig", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaFuncSetSharedMemConfig", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaFuncGetName", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaFuncGetParamInfo", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaGetFuncBySymbol", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaGetKernel", noFunction, 12, 13),
          TENON_ENTRY_AS("__cudaGetKernel", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaOccupancyMaxActiveBlocksPerMultiprocessor", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaOccupancyAvailableDynamicSMemPerBlock", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaOccupancyMaxPotentialClusterSize", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaOccupancyMaxActiveClusters", noFunction, 12, 13),
          TENON_ENTRY_AS("cudaGetSymbolAddress", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaGetSymbolSize", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyToSymbol", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyToSymbol_ptds", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyFromSymbol", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyFromSymbol_ptds", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyToSymbolAsync", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyToSymbolAsync_ptsz", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyFromSymbolAsync", noSymbol, 12, 13),
          TENON_ENTRY_AS("cudaMemcpyFromSymbolAsync_ptsz", noSymbol, 12, 13),
          TENON_STREAM_ENTRY(cudaGetDriverEntryPoint),
          TENON_STREAM_ENTRY(cudaGetDriverEntryPointByVersion),
          TENON_ENTRY(cudaProfilerStart),
          TENON_ENTRY(cudaProfilerStop),
          TENON_ENTRY_AS("__cudaRegisterFatBinary", registerFatBinary, 12, 13),
          TENON_ENTRY_AS("__cudaRegisterFatBinaryEnd", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaUnregisterFatBinary", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaRegisterFunction", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaRegisterVar", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaRegisterHostVar", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaRegisterManagedVar", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaRegisterUnifiedTable", registerNothing, 12, 13),
          TENON_ENTRY_AS("__cudaInitModule", initModule, 12, 13),
          TENON_ENTRY_AS("__cudaPushCallConfiguration", pushCallConfiguration, 12, 13),
          TENON_ENTRY_AS("__cudaPopCallConfiguration", popCallConfiguration, 12, 13)};
}

}  // namespace tenon::hostcuda
