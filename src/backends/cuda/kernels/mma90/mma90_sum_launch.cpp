// Sums of two convolutions as one product by warpgroups.
#include "backends/cuda/kernels/mma90/mma90_sum.h"

namespace tenon::backends::cuda {
namespace {

class SumInstance final : public runtime::KernelInstance {
 public:
  SumInstance(const Mma90Sum& op, const Mma90Record& record, CUfunction function)
      : op_(op), launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    const auto parts = op_.partsOf(shapes);
    if (!parts.refusal.empty()) throw Unsupported("cuda.mma90_sum: {}", parts.refusal);
    launcher_.configure(parts.first.point.shapes(shapes.symbols), parts.first.image);
    launcher_.configureMore(parts.second.image, shapes.inputs[0].dims[1]);
    sources_ = op_.inputs(shapes.inputs.size());
    inputs_.resize(sources_.size());
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    for (size_t i = 0; i < sources_.size(); ++i) inputs_[i] = arguments.inputs[sources_[i]];
    auto product = arguments;
    product.inputs = inputs_.data();
    launcher_.addMore(arguments.inputs[0]);
    launcher_.launch(product);
  }

 private:
  const Mma90Sum& op_;
  Mma90Launcher launcher_;
  std::vector<size_t> sources_;
  std::vector<void*> inputs_;
};

Mma90Sum operatorOf(const plan::KernelRecord& record) { return Mma90Sum(ops::Operator::parse(record.op)); }

class SumKernel final : public Mma90Kernel {
 public:
  explicit SumKernel(const runtime::KernelLoad& load)
      : Mma90Kernel(operatorOf(load.record).recordOf(load.record), load), op_(operatorOf(load.record)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<SumInstance>(op_, record_, function_);
  }

 private:
  const Mma90Sum op_;
};

}  // namespace

KernelRow kernelRow_mma90_sum() {
  return {"mma90_sum", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<SumKernel>(load);
          },
          [](const plan::KernelRecord& record) { return operatorOf(record).recordOf(record).code(); }};
}

}  // namespace tenon::backends::cuda
