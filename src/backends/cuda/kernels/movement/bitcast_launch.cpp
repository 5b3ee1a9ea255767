// Bits of one type as those of another.
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/bitcast_parameters.h"
#include "ops/op/bitcast.h"

namespace tenon::backends::cuda {
namespace {

class BitCastInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::BitCast&, const Types& types) {
    return {"bitcast.cu", {typeDefine("X", types.inputs.at(0)), typeDefine("Y", types.outputs.at(0))}, {}};
  }
  BitCastInstance(const ops::BitCast&, const Types&, const Module& module)
      : function_(module.function("tenon_bitcast")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    parameters_.count = shapes.inputs[0].dims.count();
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  CUfunction function_;
  BitCastParameters parameters_;
};

}  // namespace

KernelRow kernelRow_bitcast() { return ownRow<ops::BitCast, BitCastInstance>("bitcast"); }

}  // namespace tenon::backends::cuda
