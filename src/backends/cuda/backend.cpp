// The CUDA backend's kernels: finds kernels by name in the generated table.
#include <algorithm>

#include "backends/cuda/cublas/blas_matmul.h"
#include "backends/cuda/cudnn/cudnn_graph.h"
#include "backends/cuda/cudnn/cudnn_requirement.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "core/error.h"
#include "runtime/ahead.h"
#include "runtime/requirements.h"

namespace tenon::backends {
namespace {

// What kernels whose names begin so are bound to. Choices of libraries (engines, algorithms) are numbers of one chip,
// and warpgroups are there on one; all other code is CUDA C++ that is compiled for any.
struct Bound {
  std::string_view prefix;
  bool toCudnn;
};
constexpr Bound kBound[] = {{"cudnn_", true}, {"cublaslt_", false}, {"mma90_", false}};

class CudaBackend final : public runtime::Backend, public runtime::Requirements, public runtime::Ahead {
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

  // Opening the vendor's libraries and their first question take a tenth of a second and more; plans without their
  // kernels never do. cuDNN's engines open cuBLASLt, and are no reason to ask it something.
  std::vector<std::function<void()>> ahead(std::span<const plan::KernelRecord* const> records) override {
    const auto find = [&](std::string_view prefix) {
      return std::find_if(records.begin(), records.end(),
                          [&](const plan::KernelRecord* record) { return record->name.starts_with(prefix); });
    };
    std::vector<std::function<void()>> pieces;
    if (find("cudnn_") != records.end()) pieces.emplace_back([] { (void)cuda::dnn::Chip::here(); });
    if (const auto blas = find("cublaslt_"); blas != records.end())
      pieces.emplace_back([params = (*blas)->params] { cuda::askBlasAhead(params); });
    return pieces;
  }

  std::vector<std::string> requirementsOf(const plan::KernelRecord& record) const override {
    const auto chip = fmt::format("sm:{}", cuda::computeCapability());
    std::vector<std::string> result;
    if (record.nativeCode >= 0) result.push_back("code:" + chip);
    for (const auto& bound : kBound) {
      if (!record.name.starts_with(bound.prefix)) continue;
      result.push_back(chip);
      if (bound.toCudnn) result.push_back(cuda::cudnnRequirement());
    }
    return result;
  }
};

}  // namespace

runtime::Backend& runBackend_cuda() {
  static auto* const kBackend = new CudaBackend;
  return *kBackend;
}

}  // namespace tenon::backends
