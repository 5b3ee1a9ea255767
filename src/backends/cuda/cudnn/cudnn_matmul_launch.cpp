// Matmul with a fused epilogue through cuDNN.
#include "backends/cuda/cudnn/cudnn_kernel.h"
#include "backends/cuda/cudnn/cudnn_product.h"
#include "backends/cuda/kernels/common/kernel_row.h"

namespace tenon::backends::cuda {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return loadDnn(request, dnn::productProgram(descriptionOf<ops::MatMul>(request)));
}

}  // namespace

KernelRow kernelRow_cudnn_matmul() { return {"cudnn_matmul", 1, &load}; }

}  // namespace tenon::backends::cuda
