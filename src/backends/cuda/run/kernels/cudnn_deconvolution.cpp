// Deconvolution through cuDNN.
#include "backends/cuda/run/cudnn_window_kernel.h"
#include "backends/cuda/run/kernel_row.h"

namespace tenon::backends::cuda {

KernelRow kernelRow_cudnn_deconvolution() { return {"cudnn_deconvolution", 1, &loadWindow}; }

}  // namespace tenon::backends::cuda
