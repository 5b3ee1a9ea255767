// Cooperative launches.
#include "backends/cuda/driver/launch_together.h"

#include "backends/cuda/driver/cuda_device.h"

namespace tenon::backends::cuda {

void launchAllAtOnce(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block, void* parameters,
                     void* stream, unsigned sharedBytes) {
  void* arguments[] = {parameters};
  CUlaunchAttribute all{};
  all.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  all.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = x;
  config.gridDimY = y;
  config.gridDimZ = z;
  config.blockDimX = block;
  config.blockDimY = 1;
  config.blockDimZ = 1;
  config.sharedMemBytes = sharedBytes;
  config.hStream = static_cast<CUstream>(stream);
  config.attrs = &all;
  config.numAttrs = 1;
  check(driver().launchKernelEx(&config, function, arguments, nullptr), "cuLaunchKernelEx");
}

}  // namespace tenon::backends::cuda
