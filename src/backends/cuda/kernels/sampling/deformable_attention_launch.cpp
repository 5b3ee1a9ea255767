// Weighted sums of values at places of maps.
#include "ops/op/deformable_attention.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/sampling/sampling_parameters.h"

namespace tenon::backends::cuda {
namespace {

class DeformableAttentionInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::DeformableAttention&, const Types& types) {
    return {
        "deformable_attention.cu",
        {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.inputs.at(1)), typeDefine("J", types.inputs.at(2))},
        {}};
  }
  DeformableAttentionInstance(const ops::DeformableAttention&, const Types&, const Module& module)
      : function_(module.function("tenon_deformable_attention")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& value = shapes.inputs[0].dims;
    const Dims& places = shapes.inputs[3].dims;
    parameters_.count = shapes.outputs[0].dims.count();
    parameters_.values = value[1];
    parameters_.heads = value[2];
    parameters_.width = value[3];
    parameters_.queries = places[1];
    parameters_.maps = places[3];
    parameters_.points = places[4];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (parameters_.count == 0) return;
    parameters_.value = arguments.inputs[0];
    parameters_.shapes = arguments.inputs[1];
    parameters_.starts = arguments.inputs[2];
    parameters_.places = arguments.inputs[3];
    parameters_.weights = arguments.inputs[4];
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  CUfunction function_;
  DeformableAttentionParameters parameters_;
};

}  // namespace

KernelRow kernelRow_deformable_attention() {
  return ownRow<ops::DeformableAttention, DeformableAttentionInstance>("deformable_attention");
}

}  // namespace tenon::backends::cuda
