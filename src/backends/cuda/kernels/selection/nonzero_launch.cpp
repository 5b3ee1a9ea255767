// Coordinates of elements that are not zero: counts by block, then all blocks write at once.
#include "ops/op/nonzero.h"

#include "backends/cuda/kernels/selection/nonzero_blocks.h"

namespace tenon::backends::cuda {
namespace {

class NonZeroInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::NonZero&, const Types& types) {
    return {"nonzero.cu", {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.outputs.at(0))}, {}};
  }
  NonZeroInstance(const ops::NonZero&, const Types&, const Module& module)
      : blocks_(module.function("tenon_nonzero_count")), write_(module.function("tenon_nonzero")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    parameters_.columns = shapes.outputs[0].dims[1];
    return configureNonZero(parameters_, shapes.inputs[0].dims);
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (parameters_.columns == 0 || parameters_.rank == 0) return;
    countNonZero(blocks_, parameters_, arguments);
    const auto grid = static_cast<unsigned>(std::max<int64_t>(parameters_.blocks, 1));  // also where x is empty
    launchGrid(write_, grid, 1, 1, kNonZeroThreads, &parameters_, arguments.stream);
  }

 private:
  CUfunction blocks_;
  CUfunction write_;
  NonZeroParameters parameters_;
};

}  // namespace

KernelRow kernelRow_nonzero() { return ownRow<ops::NonZero, NonZeroInstance>("nonzero"); }

}  // namespace tenon::backends::cuda
