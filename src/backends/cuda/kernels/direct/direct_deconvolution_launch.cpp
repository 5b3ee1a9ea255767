// Deconvolution without a library: any type, groups, dilation and padding.
#include "backends/cuda/kernels/direct/direct.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cuda {

KernelRow kernelRow_direct_deconvolution() {
  return ownRow<ops::Deconvolution, DirectWindowInstance<ops::Deconvolution, false>>("direct_deconvolution");
}

}  // namespace tenon::backends::cuda
