// Fused pointwise nodes: one generated kernel each.
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cuda {
namespace {

class PointwiseInstance final : public runtime::KernelInstance {
 public:
  explicit PointwiseInstance(std::shared_ptr<const GeneratedPointwise> code) : launcher_(std::move(code)) {}
  size_t configure(const runtime::Shapes& shapes) override {
    launcher_.configure(shapes.inputs, shapes.outputs[0]);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    launcher_.launch(arguments.inputs, arguments.outputs[0], arguments.stream);
  }

 private:
  PointwiseLauncher launcher_;
};

// Types are part of the record ("f32,f32->f32"), because the source depends on them.
class PointwiseKernel final : public runtime::Kernel {
 public:
  explicit PointwiseKernel(std::shared_ptr<const GeneratedPointwise> code) : code_(std::move(code)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<PointwiseInstance>(code_);
  }

 private:
  std::shared_ptr<const GeneratedPointwise> code_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = descriptionOf<ops::Pointwise>(request);
  TextReader in(request.record.params, "parameters of cuda.pointwise");
  const auto types = FieldText<std::vector<DataType>>::read(in);
  if (types.size() < 2) in.fail("expected the types of inputs and output");
  return std::make_unique<PointwiseKernel>(std::make_shared<const GeneratedPointwise>(
      op.expr, std::span(types).first(types.size() - 1), types.back(), request.nativeCode));
}

}  // namespace

KernelRow kernelRow_pointwise() { return {"pointwise", 3, &load}; }

}  // namespace tenon::backends::cuda
