// Attention through cuDNN.
#include "backends/cuda/run/cudnn_attention.h"
#include "backends/cuda/run/cudnn_kernel.h"
#include "backends/cuda/run/kernel_row.h"

namespace tenon::backends::cuda {
namespace {

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  return loadDnn(request, dnn::attentionProgram(descriptionOf<ops::Attention>(request)));
}

}  // namespace

KernelRow kernelRow_cudnn_attention() { return {"cudnn_attention", 1, &load}; }

}  // namespace tenon::backends::cuda
