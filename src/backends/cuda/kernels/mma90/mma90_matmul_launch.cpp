// Matmuls as products by warpgroups.
#include "backends/cuda/kernels/mma90/mma90_kernel.h"

namespace tenon::backends::cuda {
namespace {

class MatMulInstance final : public runtime::KernelInstance {
 public:
  MatMulInstance(const Mma90Record& record, CUfunction function) : launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    launcher_.configure(shapes, {});
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override { launcher_.launch(arguments); }

 private:
  Mma90Launcher launcher_;
};

class MatMulKernel final : public Mma90Kernel {
 public:
  using Mma90Kernel::Mma90Kernel;
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<MatMulInstance>(record_, function_);
  }
};

Mma90Record recordOf(const plan::KernelRecord& record) { return {descriptionOf<ops::MatMul>(record), record}; }

}  // namespace

KernelRow kernelRow_mma90_matmul() {
  return {"mma90_matmul", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<MatMulKernel>(recordOf(load.record), load);
          },
          [](const plan::KernelRecord& record) { return recordOf(record).code(); }};
}

}  // namespace tenon::backends::cuda
