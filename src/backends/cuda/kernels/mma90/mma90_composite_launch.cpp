// Products by warpgroups that normalize their rows or measure those of their result.
#include <algorithm>

#include "backends/cuda/kernels/mma90/mma90_kernel.h"

namespace tenon::backends::cuda {
namespace {

class CompositeInstance final : public runtime::KernelInstance {
 public:
  CompositeInstance(const Mma90Composite& op, const Mma90Record& record, CUfunction function, CUfunction apart)
      : op_(op), isApart_(apart != nullptr), launcher_(record, function, apart) {}
  size_t configure(const runtime::Shapes& shapes) override {
    if (const auto refusal = op_.shapesRefusal(shapes); !refusal.empty())
      throw Unsupported("cuda.mma90_composite: {}", refusal);
    const auto product = op_.productOf(shapes);
    launcher_.configure(product.shapes(), {});
    inputs_.resize(product.inputs.size());
    const auto& x = shapes.inputs[0];
    return isApart_ && op_.norm ? static_cast<size_t>(x.dims.count() * bits(x.dtype) / 8) : 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    inputs_[0] = arguments.inputs[0];
    std::copy_n(arguments.inputs + op_.weights(), inputs_.size() - 1, inputs_.begin() + 1);
    auto product = arguments;
    product.inputs = inputs_.data();
    if (op_.norm) launcher_.normalize(arguments.inputs[1], inputs_[1], op_.keeps ? arguments.outputs[1] : nullptr);
    if (op_.measures) launcher_.measure(arguments.outputs[1]);
    if (isApart_ && op_.norm) inputs_[0] = launcher_.normalizeApart(product);
    launcher_.launch(product);
    if (isApart_ && op_.measures) launcher_.measureApart(product);
  }

 private:
  const Mma90Composite& op_;
  const bool isApart_;  // what is no product
  Mma90Launcher launcher_;
  std::vector<void*> inputs_;
};

Mma90Composite operatorOf(const plan::KernelRecord& record) { return Mma90Composite(ops::Operator::parse(record.op)); }

class CompositeKernel final : public Mma90Kernel {
 public:
  explicit CompositeKernel(const runtime::KernelLoad& load)
      : Mma90Kernel({operatorOf(load.record), load.record}, load), op_(operatorOf(load.record)) {
    if (record_.shape.isPersistent()) apart_ = module_.function("tenon_mma90_apart");
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<CompositeInstance>(op_, record_, function_, apart_);
  }

 private:
  const Mma90Composite op_;
  CUfunction apart_ = nullptr;
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
