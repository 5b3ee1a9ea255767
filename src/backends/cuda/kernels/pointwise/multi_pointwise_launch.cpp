// Pointwise nodes with several outputs: one generated kernel each.
#include "ops/op/multi_pointwise.h"

#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"

namespace tenon::backends::cuda {
namespace {

class MultiPointwiseInstance final : public runtime::KernelInstance {
 public:
  explicit MultiPointwiseInstance(std::shared_ptr<const GeneratedPointwise> code) : launcher_(std::move(code)) {}
  size_t configure(const runtime::Shapes& shapes) override {
    launcher_.configure(shapes.inputs, shapes.outputs);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    launcher_.launch(arguments.inputs, arguments.outputs, arguments.stream);
  }

 private:
  PointwiseLauncher launcher_;
};

class MultiPointwiseKernel final : public runtime::Kernel {
 public:
  explicit MultiPointwiseKernel(std::shared_ptr<const GeneratedPointwise> code) : code_(std::move(code)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<MultiPointwiseInstance>(code_);
  }

 private:
  std::shared_ptr<const GeneratedPointwise> code_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = descriptionOf<ops::MultiPointwise>(request);
  const auto types = Types::read(request.record);
  const PointwiseForm form{op.expr, op.results, types.inputs, types.outputs};
  return std::make_unique<MultiPointwiseKernel>(std::make_shared<const GeneratedPointwise>(form, request.nativeCode));
}

Code code(const plan::KernelRecord& record) {
  const auto op = descriptionOf<ops::MultiPointwise>(record);
  const auto types = Types::read(record);
  return {"", {}, pointwiseSource({op.expr, op.results, types.inputs, types.outputs})};
}

}  // namespace

KernelRow kernelRow_multi_pointwise() { return {"multi_pointwise", 1, &load, &code}; }

}  // namespace tenon::backends::cuda
