// Products by warpgroups that normalize their rows or measure those of their result.
#include <algorithm>

#include "backends/cuda/kernels/mma90/mma90_kernel.h"

namespace tenon::backends::cuda {
namespace {

class CompositeInstance final : public runtime::KernelInstance {
 public:
  CompositeInstance(const Mma90Composite& op, const Mma90Record& record, CUfunction function)
      : op_(op), launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    if (const auto refusal = op_.shapesRefusal(shapes); !refusal.empty())
      throw Unsupported("cuda.mma90_composite: {}", refusal);
    const auto product = op_.productOf(shapes);
    launcher_.configure(product.shapes(), {});
    inputs_.resize(product.inputs.size());
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    inputs_[0] = arguments.inputs[0];
    std::copy_n(arguments.inputs + op_.weights(), inputs_.size() - 1, inputs_.begin() + 1);
    auto product = arguments;
    product.inputs = inputs_.data();
    if (op_.norm) launcher_.normalize(arguments.inputs[1], inputs_[1], op_.keeps ? arguments.outputs[1] : nullptr);
    if (op_.measures) launcher_.measure(arguments.outputs[1]);
    launcher_.launch(product);
  }

 private:
  const Mma90Composite& op_;
  Mma90Launcher launcher_;
  std::vector<void*> inputs_;
};

Mma90Composite operatorOf(const plan::KernelRecord& record) { return Mma90Composite(ops::Operator::parse(record.op)); }

class CompositeKernel final : public Mma90Kernel {
 public:
  explicit CompositeKernel(const runtime::KernelLoad& load)
      : Mma90Kernel({operatorOf(load.record), load.record}, load), op_(operatorOf(load.record)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<CompositeInstance>(op_, record_, function_);
  }

 private:
  const Mma90Composite op_;
};

}  // namespace

KernelRow kernelRow_mma90_composite() {
  return {"mma90_composite", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<CompositeKernel>(load);
          },
          [](const plan::KernelRecord& record) { return Mma90Record(operatorOf(record), record).code(); }};
}

}  // namespace tenon::backends::cuda
