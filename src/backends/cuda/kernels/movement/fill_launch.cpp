// Fill: constants and ramps.
#include "ops/op/fill.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/movement_parameters.h"
#include "ops/scalar_program.h"

namespace tenon::backends::cuda {
namespace {

class FillInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Fill&, const Types& types) {
    return {
        "fill.cu", {typeDefine("Y", types.outputs.at(0)), fmt::format("GIVEN={}", types.inputs.empty() ? 0 : 1)}, {}};
  }
  FillInstance(const ops::Fill& op, const Types& types, const Module& module)
      : op_(op), function_(module.function("tenon_fill")), given_(!types.inputs.empty()) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& y = shapes.outputs[0].dims;
    parameters_ = {};
    parameters_.count = y.count();
    parameters_.rank = y.rank;
    for (int axis = 0; axis < y.rank; ++axis) {
      parameters_.extent[axis] = y[axis];
      parameters_.real[axis] = op_.deltas.empty() ? 0 : op_.deltas[static_cast<size_t>(axis)];
      parameters_.integer[axis] = ops::saturatedInteger(parameters_.real[axis]);
    }
    parameters_.real[kMaxRank] = op_.start;
    parameters_.integer[kMaxRank] = ops::saturatedInteger(op_.start);
    hasDeltas_ = given_ && shapes.inputs[1].dims.count() > 0;
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.start = given_ ? arguments.inputs[0] : nullptr;
    parameters_.deltas = hasDeltas_ ? arguments.inputs[1] : nullptr;
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  const ops::Fill& op_;
  CUfunction function_;
  bool given_;
  bool hasDeltas_ = false;
  FillParameters parameters_;
};

}  // namespace

KernelRow kernelRow_fill() { return ownRow<ops::Fill, FillInstance>("fill"); }

}  // namespace tenon::backends::cuda
