// Convolution through cuDNN.
#include "backends/cuda/run/cudnn_window_kernel.h"
#include "backends/cuda/run/kernel_row.h"

namespace tenon::backends::cuda {

KernelRow kernelRow_cudnn_convolution() { return {"cudnn_convolution", 1, &loadWindow}; }

}  // namespace tenon::backends::cuda
