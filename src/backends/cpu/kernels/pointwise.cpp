// Pointwise nodes by the block-wise runner.
#include "ops/op/pointwise.h"

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"

namespace tenon::backends::cpu {
namespace {

class PointwiseInstance final : public runtime::KernelInstance {
 public:
  explicit PointwiseInstance(const ops::Pointwise& op) : runner_(op.expr) {}
  size_t configure(const runtime::Shapes& shapes) override {
    runner_.configure(shapes.inputs, shapes.outputs[0]);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    runner_.run(arguments.inputs, arguments.outputs[0]);
  }

 private:
  PointwiseRunner runner_;
};

}  // namespace

KernelRow kernelRow_pointwise() { return {"pointwise", 1, &loadSimple<ops::Pointwise, PointwiseInstance>}; }

}  // namespace tenon::backends::cpu
