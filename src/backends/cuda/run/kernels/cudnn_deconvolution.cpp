// Deconvolution through cuDNN.
#include "backends/cuda/run/cudnn_kernel.h"
#include "backends/cuda/run/cudnn_window.h"
#include "backends/cuda/run/kernel_row.h"

namespace tenon::backends::cuda {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return loadDnn(request, dnn::windowProgram(ops::Operator::parse(request.record.op)));
}

}  // namespace

KernelRow kernelRow_cudnn_deconvolution() { return {"cudnn_deconvolution", 1, &load}; }

}  // namespace tenon::backends::cuda
