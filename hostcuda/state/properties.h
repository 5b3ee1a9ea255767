// What the host device says of itself, once for both layouts of cudaDeviceProp.
#pragma once

#include <cstddef>

namespace tenon::hostcuda {

constexpr int kComputeMajor = 8;  // what programs commonly ask for; kernels do not run here whatever it says
constexpr int kComputeMinor = 0;
constexpr const char* kDeviceName = "Tenon host device";
constexpr const char* kPciBusId = "0000:00:00.0";

// Facts of the machine, read once.
struct MachineFacts {
  int processors = 1;  // those this process may use
  int clockKilohertz = 0;
  int lastLevelCacheBytes = 0;
  size_t memoryBytes = 0;
};
const MachineFacts& machineFacts();

// The layout of CUDA 12 (cudaGetDeviceProperties_v2); of it the first `kOldPropertiesBytes` are the layout of 11.
void fillProperties12(void* properties);
constexpr size_t kOldPropertiesBytes = 728;

// Shared by the two layouts, each a template argument of its own file.
template <class Properties>
void fillCommonProperties(Properties& p, const MachineFacts& facts) {
  for (size_t i = 0; kDeviceName[i] != '\0'; ++i) p.name[i] = kDeviceName[i];
  for (size_t i = 0; i < sizeof p.uuid.bytes; ++i) p.uuid.bytes[i] = kDeviceName[i];
  p.totalGlobalMem = facts.memoryBytes;
  p.sharedMemPerBlock = 48 << 10;
  p.regsPerBlock = 65536;
  p.warpSize = 32;
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 64 << 10;
  p.major = kComputeMajor;
  p.minor = kComputeMinor;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.surfaceAlignment = 512;
  p.multiProcessorCount = facts.processors;
  p.integrated = 1;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.asyncEngineCount = 1;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = 64;
  p.l2CacheSize = facts.lastLevelCacheBytes;
  p.maxThreadsPerMultiProcessor = 2048;
  p.maxBlocksPerMultiProcessor = 32;
  p.streamPrioritiesSupported = 1;
  p.sharedMemPerMultiprocessor = 164 << 10;
  p.sharedMemPerBlockOptin = 163 << 10;
  p.reservedSharedMemPerBlock = 1 << 10;
  p.regsPerMultiprocessor = 65536;
  p.managedMemory = 1;
  p.hostNativeAtomicSupported = 1;
  p.pageableMemoryAccess = 1;
  p.concurrentManagedAccess = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.pageableMemoryAccessUsesHostPageTables = 1;
  p.directManagedMemAccessFromHost = 1;
  p.hostRegisterSupported = 1;
  p.hostRegisterReadOnlySupported = 1;
  p.memoryPoolsSupported = 1;
}

}  // namespace tenon::hostcuda
