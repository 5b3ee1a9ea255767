// The device properties in the layout of CUDA 12.
// Its structs get names of their own: the rest of the library is compiled with those of 13.
#define CUDART_VERSION 12080
#define cudaDeviceProp cudaDeviceProp12
#define cudaPointerAttributes cudaPointerAttributes12
#define cudaChildGraphNodeParams cudaChildGraphNodeParams12
#define cudaGraphNodeParams cudaGraphNodeParams12
#include "driver_types.h"
#undef cudaDeviceProp
#include "properties.h"

#include <cstring>

namespace tenon::hostcuda {

static_assert(offsetof(cudaDeviceProp12, hostRegisterSupported) == kOldPropertiesBytes);

void fillProperties12(void* properties) {
  const MachineFacts& facts = machineFacts();
  cudaDeviceProp12 p{};
  fillCommonProperties(p, facts);
  p.clockRate = facts.clockKilohertz;
  p.memoryClockRate = 1600000;
  p.deviceOverlap = 1;
  p.singleToDoublePrecisionPerfRatio = 2;
  p.maxTexture1DLinear = 0;
  std::memcpy(properties, &p, sizeof p);
}

}  // namespace tenon::hostcuda
