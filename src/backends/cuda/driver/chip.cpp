// Asked once.
#include "backends/cuda/driver/chip.h"

#include <algorithm>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/libraries.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kWarpgroupMajor = 9;  // of compute capabilities, the one with wgmma

// An attribute of device 0, or the other number where nobody says.
int64_t attribute(CUdevice_attribute which, int64_t otherwise) {
  if (!unavailableReason().empty()) return otherwise;
  CUdevice device = 0;
  int value = 0;
  const bool answered = driver().deviceGet(&device, 0) == CUDA_SUCCESS &&
                        driver().deviceGetAttribute(&value, which, device) == CUDA_SUCCESS;
  return answered && value > 0 ? value : otherwise;
}

}  // namespace

int64_t multiprocessors() {
  static const int64_t kCount = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132);
  return kCount;
}

int64_t registersOfMultiprocessor() {
  static const int64_t kCount = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 64 << 10);
  return kCount;
}

int64_t sharedBytesOfMultiprocessor() {
  static const int64_t kBytes = [] {
    const int64_t here = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 << 10);
    if (!translatesCode()) return here;
    const int capability = computeCapability();  // 8.6, 8.9 and 12.x have least
    return std::min<int64_t>(here, capability < 90 && (capability == 80 || capability == 87) ? 163 << 10
                                   : capability < 90                                         ? 99 << 10
                                                                                             : here);
  }();
  return kBytes;
}

bool hasWarpgroupProducts() {
  static const bool kHas = [] {
    if (unavailableReason().empty()) return computeCapability() / 10 == kWarpgroupMajor;
    return true;
  }();
  return kHas;
}

}  // namespace tenon::backends::cuda
