// Pointwise nodes with several outputs by the block-wise runner.
#include "ops/op/multi_pointwise.h"

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"

namespace tenon::backends::cpu {
namespace {

class MultiPointwiseInstance final : public runtime::KernelInstance {
 public:
  explicit MultiPointwiseInstance(const ops::MultiPointwise& op) : runner_(op.expr, op.results) {}
  size_t configure(const runtime::Shapes& shapes) override {
    runner_.configure(shapes.inputs, shapes.outputs);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override { runner_.run(arguments.inputs, arguments.outputs); }

 private:
  PointwiseRunner runner_;
};

}  // namespace

KernelRow kernelRow_multi_pointwise() {
  return {"multi_pointwise", 1, &loadSimple<ops::MultiPointwise, MultiPointwiseInstance>};
}

}  // namespace tenon::backends::cpu
