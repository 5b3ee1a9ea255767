// The CUDA backend's run half.
#include "backends/cuda/run/cuda_device.h"
#include "backends/cuda/run/cuda_kernels.h"
#include "core/error.h"

namespace tenon::backends {
namespace {

class CudaBackend final : public runtime::Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  runtime::Device& device() override { return cuda::cudaDevice(); }
  std::string unavailable() const override { return cuda::unavailableReason(); }

  std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& load) override {
    if (load.record.version == 1 && load.record.name == "pointwise") return cuda::loadPointwise(load);
    if (load.record.version == 1 && load.record.name == "cublaslt_matmul") return cuda::loadMatMul(load);
    throw Unsupported("backend cuda has no kernel '{}' of version {}", load.record.name, load.record.version);
  }
};

}  // namespace

runtime::Backend& runBackend_cuda() {
  static auto* const kBackend = new CudaBackend;
  return *kBackend;
}

}  // namespace tenon::backends
