// The CUDA backend's kernels: finds kernels by name in the generated table.
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "core/error.h"

namespace tenon::backends {
namespace {

class CudaBackend final : public runtime::Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  runtime::Device& device() override { return cuda::cudaDevice(); }
  std::string unavailable() const override { return cuda::unavailableReason(); }

  std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& load) override {
    for (const auto& row : cuda::kernelTable()) {
      if (row.name == load.record.name && row.version == load.record.version) return row.load(load);
    }
    throw Unsupported("backend cuda has no kernel '{}' of version {}; build the engine again with this library",
                      load.record.name, load.record.version);
  }
};

}  // namespace

runtime::Backend& runBackend_cuda() {
  static auto* const kBackend = new CudaBackend;
  return *kBackend;
}

}  // namespace tenon::backends
