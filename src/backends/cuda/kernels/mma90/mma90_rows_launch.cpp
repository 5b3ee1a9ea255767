// Products by warpgroups whose rows are normalized by the clusters that compute them.
#include "backends/cuda/kernels/mma90/mma90_kernel.h"

namespace tenon::backends::cuda {
namespace {

class RowsInstance final : public runtime::KernelInstance {
 public:
  RowsInstance(const Mma90RowsComposite& op, const Mma90Record& record, CUfunction function)
      : op_(op), launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    if (const auto refusal = op_.shapesRefusal(shapes); !refusal.empty())
      throw Unsupported("cuda.mma90_rows: {}", refusal);
    factors_ = shapes.inputs.size() - 2;
    launcher_.configure(op_.productOf(shapes).shapes(), {});
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    launcher_.endRows(arguments.inputs[factors_], arguments.inputs[factors_ + 1],
                      op_.keeps ? arguments.outputs[1] : nullptr);
    launcher_.launch(arguments);
  }

 private:
  const Mma90RowsComposite& op_;
  Mma90Launcher launcher_;
  size_t factors_ = 0;  // which input they begin at
};

Mma90RowsComposite operatorOf(const plan::KernelRecord& record) {
  return Mma90RowsComposite(ops::Operator::parse(record.op));
}

class RowsKernel final : public Mma90Kernel {
 public:
  explicit RowsKernel(const runtime::KernelLoad& load)
      : Mma90Kernel({operatorOf(load.record), load.record}, load), op_(operatorOf(load.record)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<RowsInstance>(op_, record_, function_);
  }

 private:
  const Mma90RowsComposite op_;
};

}  // namespace

KernelRow kernelRow_mma90_rows() {
  return {"mma90_rows", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<RowsKernel>(load);
          },
          [](const plan::KernelRecord& record) { return Mma90Record(operatorOf(record), record).code(); }};
}

}  // namespace tenon::backends::cuda
