// Deconvolution through cuDNN.
#include "backends/cuda/cudnn/cudnn_kernel.h"
#include "backends/cuda/cudnn/cudnn_window.h"
#include "backends/cuda/kernels/common/kernel_row.h"

namespace tenon::backends::cuda {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return loadDnn(request, dnn::windowProgram(ops::Operator::parse(request.record.op)));
}

}  // namespace

KernelRow kernelRow_cudnn_deconvolution() { return {"cudnn_deconvolution", 1, &load}; }

}  // namespace tenon::backends::cuda
