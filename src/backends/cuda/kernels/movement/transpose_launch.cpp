// Transposition as a strided copy.
#include "ops/op/transpose.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/strided_copy.h"

namespace tenon::backends::cuda {
namespace {

class TransposeInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Transpose&, const Types&) { return copyCode(); }
  TransposeInstance(const ops::Transpose& op, const Types&, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto own = stridesOf(x.dims, x.layout);
    Strides from{};
    for (size_t i = 0; i < op_.permutation.size(); ++i) from[i] = own[static_cast<size_t>(op_.permutation[i])];
    copy_.configure(module_, y.dims, from, 0, stridesOf(y.dims, y.layout), 0, bits(x.dtype) / 8);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    copy_.launch(arguments.inputs[0], arguments.outputs[0], arguments.stream);
  }

 private:
  const ops::Transpose& op_;  // of the kernel
  const Module& module_;
  StridedCopy copy_;
};

}  // namespace

KernelRow kernelRow_transpose() { return ownRow<ops::Transpose, TransposeInstance>("transpose"); }

}  // namespace tenon::backends::cuda
