// The one device of the host: its properties, attributes, limits and versions.
#include <atomic>
#include <cstring>
#include <string_view>

#include "capture.h"
#include "properties.h"
#include "table.h"

namespace tenon::hostcuda {
namespace api {
namespace {

constexpr int kVersion12 = 12080;
constexpr int kVersion13 = 13000;

void requireDevice(int device) { require(device == 0, cudaErrorInvalidDevice); }

cudaDeviceProp properties() {
  cudaDeviceProp p{};
  fillCommonProperties(p, machineFacts());
  p.deviceNumaId = p.hostNumaId = -1;
  return p;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return guarded([&] {
    require(count != nullptr);
    *count = 1;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  return guarded([&] {
    require(out != nullptr);
    requireDevice(device);
    *out = properties();
  });
}

cudaError_t getDeviceProperties12(void* out, int device) {
  return guarded([&] {
    require(out != nullptr);
    requireDevice(device);
    fillProperties12(out);
  });
}

// The layout of CUDA 11, a prefix, under the name without _v2.
cudaError_t getDevicePropertiesOld(void* out, int device) {
  return guarded([&] {
    require(out != nullptr);
    requireDevice(device);
    unsigned char whole[sizeof(cudaDeviceProp) + 64] = {};
    fillProperties12(whole);
    std::memcpy(out, whole, kOldPropertiesBytes);
  });
}

int attributeValue(cudaDeviceAttr attribute) {
  const MachineFacts& facts = machineFacts();
  const cudaDeviceProp p = properties();
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxPitch: return static_cast<int>(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrClockRate: return facts.clockKilohertz;
    case cudaDevAttrTextureAlignment: return static_cast<int>(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment: return static_cast<int>(p.texturePitchAlignment);
    case cudaDevAttrSurfaceAlignment: return static_cast<int>(p.surfaceAlignment);
    case cudaDevAttrGpuOverlap: return 1;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrIntegrated: return p.integrated;
    case cudaDevAttrCanMapHostMemory: return p.canMapHostMemory;
    case cudaDevAttrComputeMode: return cudaComputeModeDefault;
    case cudaDevAttrConcurrentKernels: return p.concurrentKernels;
    case cudaDevAttrMemoryClockRate: return 1600000;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing: return p.unifiedAddressing;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrStreamPrioritiesSupported: return p.streamPrioritiesSupported;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case cudaDevAttrManagedMemory: return p.managedMemory;
    case cudaDevAttrHostNativeAtomicSupported: return p.hostNativeAtomicSupported;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return 2;
    case cudaDevAttrPageableMemoryAccess: return p.pageableMemoryAccess;
    case cudaDevAttrConcurrentManagedAccess: return p.concurrentManagedAccess;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: return p.canUseHostPointerForRegisteredMem;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: return p.pageableMemoryAccessUsesHostPageTables;
    case cudaDevAttrDirectManagedMemAccessFromHost: return p.directManagedMemAccessFromHost;
    case cudaDevAttrHostRegisterSupported: return p.hostRegisterSupported;
    case cudaDevAttrHostRegisterReadOnlySupported: return p.hostRegisterReadOnlySupported;
    case cudaDevAttrMemoryPoolsSupported: return p.memoryPoolsSupported;
    case cudaDevAttrNumaId:
    case cudaDevAttrHostNumaId: return -1;
    default: return 0;  // features that a GPU may have and the host has not
  }
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return guarded([&] {
    require(value != nullptr && attribute > 0 && attribute < cudaDevAttrMax);
    requireDevice(device);
    *value = attributeValue(attribute);
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) {
  return report(cudaErrorInvalidDevice);  // a pair of different devices is asked for
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return guarded([&] {
    require(device != nullptr && wanted != nullptr);
    *device = 0;
  });
}

std::atomic<unsigned>& deviceFlags() {
  static std::atomic<unsigned> flags{cudaDeviceScheduleAuto};
  return flags;
}

void setFlags(unsigned flags) {
  require((flags & ~static_cast<unsigned>(cudaDeviceMask)) == 0);
  const unsigned schedule = flags & cudaDeviceScheduleMask;
  require((schedule & (schedule - 1)) == 0);  // at most one way to wait
  deviceFlags() = flags;
}

cudaError_t cudaInitDevice(int device, unsigned int newFlags, unsigned int flags) {
  return guarded([&] {
    requireDevice(device);
    if (flags == cudaInitDeviceFlagsAreValid) setFlags(newFlags);
  });
}

cudaError_t cudaSetDevice(int device) {
  return guarded([&] { requireDevice(device); });
}

cudaError_t cudaGetDevice(int* device) {
  return guarded([&] {
    require(device != nullptr);
    *device = 0;
  });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return guarded([&] {
    require(count >= 0 && (count == 0 || devices != nullptr));
    for (int i = 0; i < count; ++i) requireDevice(devices[i]);
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return guarded([&] { setFlags(flags); });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return guarded([&] {
    require(flags != nullptr);
    *flags = deviceFlags() | cudaDeviceMapHost;
  });
}

// Memory that the program still holds stays its own: it could be in use by what did not ask for the reset.
cudaError_t cudaDeviceReset() {
  return guarded([] {
    Lock lock = Scheduler::instance().lock();
    Scheduler::instance().synchronizeAll(lock);
  });
}

constexpr int kLimits = cudaLimitPersistingL2CacheSize + 1;
std::atomic<size_t>& limitOf(cudaLimit limit) {
  static std::atomic<size_t> limits[kLimits] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
  require(limit >= 0 && limit < kLimits, cudaErrorUnsupportedLimit);
  return limits[limit];
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return guarded([&] { limitOf(limit) = value; });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return guarded([&] {
    require(value != nullptr);
    *value = limitOf(limit);
  });
}

std::atomic<int> cacheConfig{cudaFuncCachePreferNone};
std::atomic<int> sharedConfig{cudaSharedMemBankSizeFourByte};

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return guarded([&] {
    require(config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual);
    cacheConfig = config;
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return guarded([&] {
    require(config != nullptr);
    *config = static_cast<cudaFuncCache>(cacheConfig.load());
  });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  return guarded([&] {
    require(config >= cudaSharedMemBankSizeDefault && config <= cudaSharedMemBankSizeEightByte);
    sharedConfig = config;
  });
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return guarded([&] {
    require(config != nullptr);
    *config = static_cast<cudaSharedMemConfig>(sharedConfig.load());
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return guarded([&] {
    require(id != nullptr && length > static_cast<int>(std::strlen(kPciBusId)));
    requireDevice(device);
    std::strcpy(id, kPciBusId);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return guarded([&] {
    require(device != nullptr && id != nullptr);
    // The domain may be left out, the function too.
    const std::string_view whole = kPciBusId;
    const std::string_view wanted = id;
    const bool isOurs =
        wanted == whole || wanted == whole.substr(5) || wanted == whole.substr(0, 10) || wanted == whole.substr(5, 5);
    require(isOurs, cudaErrorInvalidDevice);
    *device = 0;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return guarded([&] {
    require(can != nullptr);
    requireDevice(device);
    requireDevice(peer);
    *can = 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) { return report(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return report(cudaErrorInvalidDevice); }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

cudaError_t writeVersion(int* version, int value) {
  return guarded([&] {
    require(version != nullptr);
    *version = value;
  });
}
cudaError_t version12(int* version) { return writeVersion(version, kVersion12); }
cudaError_t version13(int* version) { return writeVersion(version, kVersion13); }

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

}  // namespace
}  // namespace api

Entries deviceEntries() {
  return {TENON_ENTRY(cudaGetDeviceCount),
          TENON_ENTRY_AS("cudaGetDeviceProperties", cudaGetDeviceProperties, 13, 13),
          TENON_ENTRY_AS("cudaGetDeviceProperties_v2", getDeviceProperties12, 12, 12),
          TENON_ENTRY_AS("cudaGetDeviceProperties", getDevicePropertiesOld, 12, 12),
          TENON_ENTRY(cudaDeviceGetAttribute),
          TENON_ENTRY(cudaDeviceGetP2PAttribute),
          TENON_ENTRY(cudaChooseDevice),
          TENON_ENTRY(cudaInitDevice),
          TENON_ENTRY(cudaSetDevice),
          TENON_ENTRY(cudaGetDevice),
          TENON_ENTRY(cudaSetValidDevices),
          TENON_ENTRY(cudaSetDeviceFlags),
          TENON_ENTRY(cudaGetDeviceFlags),
          TENON_ENTRY(cudaDeviceReset),
          TENON_ENTRY_AS("cudaThreadExit", cudaDeviceReset, 12, 12),
          TENON_ENTRY(cudaDeviceSetLimit),
          TENON_ENTRY(cudaDeviceGetLimit),
          TENON_ENTRY_AS("cudaThreadSetLimit", cudaDeviceSetLimit, 12, 12),
          TENON_ENTRY_AS("cudaThreadGetLimit", cudaDeviceGetLimit, 12, 12),
          TENON_ENTRY(cudaDeviceSetCacheConfig),
          TENON_ENTRY(cudaDeviceGetCacheConfig),
          TENON_ENTRY_AS("cudaThreadSetCacheConfig", cudaDeviceSetCacheConfig, 12, 12),
          TENON_ENTRY_AS("cudaThreadGetCacheConfig", cudaDeviceGetCacheConfig, 12, 12),
          TENON_ENTRY(cudaDeviceSetSharedMemConfig),
          TENON_ENTRY(cudaDeviceGetSharedMemConfig),
          TENON_ENTRY(cudaDeviceGetPCIBusId),
          TENON_ENTRY(cudaDeviceGetByPCIBusId),
          TENON_ENTRY(cudaDeviceCanAccessPeer),
          TENON_ENTRY(cudaDeviceEnablePeerAccess),
          TENON_ENTRY(cudaDeviceDisablePeerAccess),
          TENON_ENTRY(cudaCtxResetPersistingL2Cache),
          TENON_ENTRY_AS("cudaDriverGetVersion", version12, 12, 12),
          TENON_ENTRY_AS("cudaDriverGetVersion", version13, 13, 13),
          TENON_ENTRY_AS("cudaRuntimeGetVersion", version12, 12, 12),
          TENON_ENTRY_AS("cudaRuntimeGetVersion", version13, 13, 13),
          TENON_ENTRY_AS("cudaCreateChannelDesc", cudaCreateChannelDesc, 12, 13)};
}

}  // namespace tenon::hostcuda
