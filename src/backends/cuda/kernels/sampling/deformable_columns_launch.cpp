// Columns of moved pixels.
#include "ops/op/deformable_columns.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/sampling/sampling_parameters.h"

namespace tenon::backends::cuda {
namespace {

class DeformableColumnsInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::DeformableColumns&, const Types& types) {
    return {"deformable_columns.cu", {typeDefine("X", types.inputs.at(0))}, {}};
  }
  DeformableColumnsInstance(const ops::DeformableColumns& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_deformable_columns")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& x = shapes.inputs[0].dims;
    const Dims& offsets = shapes.inputs[1].dims;
    auto& p = parameters_;
    p.channels = x[1];
    p.rows = x[2];
    p.columns = x[3];
    p.outRows = offsets[2];
    p.outColumns = offsets[3];
    p.groups = op_.groups;
    p.kernelRows = op_.kernel[0];
    p.kernelColumns = op_.kernel[1];
    for (size_t i = 0; i < 2; ++i) {
      p.strides[i] = op_.strides[i];
      p.padding[i] = op_.padding[i];
      p.dilations[i] = op_.dilations[i];
    }
    p.count = x[0] * p.groups * p.kernelRows * p.kernelColumns * p.outRows * p.outColumns;
    isEmpty_ = shapes.outputs[0].dims.count() == 0;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (isEmpty_) return;
    parameters_.x = arguments.inputs[0];
    parameters_.offsets = arguments.inputs[1];
    parameters_.mask = op_.hasMask ? arguments.inputs[2] : nullptr;
    parameters_.y = arguments.outputs[0];
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream);
  }

 private:
  const ops::DeformableColumns& op_;
  CUfunction function_;
  bool isEmpty_ = false;
  DeformableColumnsParameters parameters_;
};

}  // namespace

KernelRow kernelRow_deformable_columns() {
  return ownRow<ops::DeformableColumns, DeformableColumnsInstance>("deformable_columns");
}

}  // namespace tenon::backends::cuda
