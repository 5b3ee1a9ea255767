// Pointwise code of which one operand is read with the halves of an axis in each other's places.
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"
#include "ops/op/swapped_pointwise.h"

namespace tenon::backends::cuda {
namespace {

class SwappedPointwiseInstance final : public runtime::KernelInstance {
 public:
  SwappedPointwiseInstance(std::shared_ptr<const GeneratedPointwise> code, int64_t axis)
      : launcher_(std::move(code)), axis_(axis) {}
  size_t configure(const runtime::Shapes& shapes) override {
    const int rank = shapes.outputs[0].dims.rank;
    launcher_.configureSwapped(shapes.inputs, shapes.outputs[0], static_cast<int>(axis_ < 0 ? axis_ + rank : axis_));
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    launcher_.launch(arguments.inputs, arguments.outputs[0], arguments.stream);
  }

 private:
  PointwiseLauncher launcher_;
  int64_t axis_;
};

class SwappedPointwiseKernel final : public runtime::Kernel {
 public:
  SwappedPointwiseKernel(std::shared_ptr<const GeneratedPointwise> code, int64_t axis)
      : code_(std::move(code)), axis_(axis) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<SwappedPointwiseInstance>(code_, axis_);
  }

 private:
  std::shared_ptr<const GeneratedPointwise> code_;
  int64_t axis_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = descriptionOf<ops::SwappedPointwise>(request);
  TextReader in(request.record.params, "parameters of cuda.swapped_pointwise");
  const auto types = FieldText<std::vector<DataType>>::read(in);
  if (types.size() < 2) in.fail("expected the types of inputs and output");
  return std::make_unique<SwappedPointwiseKernel>(
      std::make_shared<const GeneratedPointwise>(op.expr, std::span(types).first(types.size() - 1), types.back(),
                                                 request.nativeCode),
      op.axis);
}

}  // namespace

KernelRow kernelRow_swapped_pointwise() { return {"swapped_pointwise", 1, &load}; }

}  // namespace tenon::backends::cuda
