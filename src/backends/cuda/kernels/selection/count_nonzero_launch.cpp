// Counts of elements that are not zero.
#include "ops/op/count_nonzero.h"

#include "backends/cuda/kernels/selection/nonzero_blocks.h"

namespace tenon::backends::cuda {
namespace {

class CountNonZeroInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::CountNonZero&, const Types& types) {
    return {"count_nonzero.cu", {typeDefine("X", types.inputs.at(0))}, {}};
  }
  CountNonZeroInstance(const ops::CountNonZero&, const Types&, const Module& module)
      : blocks_(module.function("tenon_nonzero_count")), all_(module.function("tenon_count_nonzero")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    return configureNonZero(parameters_, shapes.inputs[0].dims);
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    countNonZero(blocks_, parameters_, arguments);
    launchGrid(all_, 1, 1, 1, kNonZeroThreads, &parameters_, arguments.stream);
  }

 private:
  CUfunction blocks_;
  CUfunction all_;
  NonZeroParameters parameters_;
};

}  // namespace

KernelRow kernelRow_count_nonzero() { return ownRow<ops::CountNonZero, CountNonZeroInstance>("count_nonzero"); }

}  // namespace tenon::backends::cuda
