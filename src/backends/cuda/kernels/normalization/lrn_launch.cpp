// Local response normalization.
#include "ops/op/lrn.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/normalization/normalization_parameters.h"

namespace tenon::backends::cuda {
namespace {

class LrnInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Lrn&, const Types& types) {
    return {"lrn.cu", {typeDefine("X", types.inputs.at(0))}, {}};
  }
  LrnInstance(const ops::Lrn& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_lrn")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    parameters_.count = x.dims.count();
    parameters_.channels = x.dims[1];
    parameters_.channelStride = stridesOf(x.dims, x.layout)[1];
    parameters_.below = (op_.window - 1) / 2;
    parameters_.above = op_.window / 2;
    parameters_.factor = static_cast<float>(op_.alpha / static_cast<double>(op_.window));
    parameters_.beta = static_cast<float>(op_.beta);
    parameters_.k = static_cast<float>(op_.k);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  const ops::Lrn& op_;
  CUfunction function_;
  LrnParameters parameters_;
};

}  // namespace

KernelRow kernelRow_lrn() { return ownRow<ops::Lrn, LrnInstance>("lrn"); }

}  // namespace tenon::backends::cuda
