// Convolution without a library: any type, groups, dilation and padding.
#include "backends/cuda/kernels/direct/direct.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cuda {

KernelRow kernelRow_direct_convolution() {
  return ownRow<ops::Convolution, DirectWindowInstance<ops::Convolution, true>>("direct_convolution");
}

}  // namespace tenon::backends::cuda
