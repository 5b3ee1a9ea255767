// A change of memory format as a strided copy.
#include "ops/op/reformat.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/movement/strided_copy.h"

namespace tenon::backends::cuda {
namespace {

class ReformatInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Reformat&, const Types&) { return copyCode(); }
  ReformatInstance(const ops::Reformat&, const Types&, const Module& module) : module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    copy_.configure(module_, y.dims, stridesOf(x.dims, x.layout), 0, stridesOf(y.dims, y.layout), 0, bits(x.dtype) / 8);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    copy_.launch(arguments.inputs[0], arguments.outputs[0], arguments.stream);
  }

 private:
  const Module& module_;
  StridedCopy copy_;
};

}  // namespace

KernelRow kernelRow_reformat() { return ownRow<ops::Reformat, ReformatInstance>("reformat"); }

}  // namespace tenon::backends::cuda
