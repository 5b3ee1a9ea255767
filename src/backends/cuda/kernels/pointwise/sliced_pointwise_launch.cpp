// Pointwise code of which operands are slices of tensors.
#include <algorithm>

#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"
#include "ops/op/sliced_pointwise.h"

namespace tenon::backends::cuda {
namespace {

class SlicedPointwiseInstance final : public runtime::KernelInstance {
 public:
  SlicedPointwiseInstance(std::shared_ptr<const GeneratedPointwise> code, int64_t axis, std::vector<int64_t> starts)
      : launcher_(std::move(code)), axis_(axis), starts_(std::move(starts)) {}
  size_t configure(const runtime::Shapes& shapes) override {
    const int rank = shapes.outputs[0].dims.rank;
    launcher_.configureSliced(shapes.inputs, shapes.outputs, static_cast<int>(axis_ < 0 ? axis_ + rank : axis_),
                              starts_);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    launcher_.launch(arguments.inputs, arguments.outputs, arguments.stream);
  }

 private:
  PointwiseLauncher launcher_;
  int64_t axis_;
  std::vector<int64_t> starts_;
};

class SlicedPointwiseKernel final : public runtime::Kernel {
 public:
  SlicedPointwiseKernel(std::shared_ptr<const GeneratedPointwise> code, int64_t axis, std::vector<int64_t> starts)
      : code_(std::move(code)), axis_(axis), starts_(std::move(starts)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<SlicedPointwiseInstance>(code_, axis_, starts_);
  }

 private:
  std::shared_ptr<const GeneratedPointwise> code_;
  int64_t axis_;
  std::vector<int64_t> starts_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = descriptionOf<ops::SlicedPointwise>(request);
  TextReader in(request.record.params, "parameters of cuda.sliced_pointwise");
  const auto types = FieldText<std::vector<DataType>>::read(in);
  const size_t inputs = op.starts.size();
  if (types.size() != inputs + std::max<size_t>(op.results.size(), 1))
    in.fail("expected the types of inputs and outputs");
  const PointwiseForm form{op.expr, op.results, std::span(types).first(inputs), std::span(types).subspan(inputs)};
  return std::make_unique<SlicedPointwiseKernel>(std::make_shared<const GeneratedPointwise>(form, request.nativeCode),
                                                 op.axis, op.starts);
}

}  // namespace

KernelRow kernelRow_sliced_pointwise() { return {"sliced_pointwise", 1, &load}; }

}  // namespace tenon::backends::cuda
