// The CPU backend's kernels: finds kernels by name in the generated table.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/error.h"
#include "runtime/host_device.h"

namespace tenon::backends {
namespace {

class CpuBackend final : public runtime::Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  runtime::Device& device() override { return runtime::hostDevice(); }
  std::string unavailable() const override { return {}; }

  std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& load) override {
    for (const auto& row : cpu::kernelTable()) {
      if (row.name == load.record.name && row.version == load.record.version) return row.load(load);
    }
    throw Unsupported("backend cpu has no kernel '{}' of version {}; build the engine again with this library",
                      load.record.name, load.record.version);
  }
};

}  // namespace

runtime::Backend& runBackend_cpu() {
  static auto* const kBackend = new CpuBackend;
  return *kBackend;
}

}  // namespace tenon::backends
