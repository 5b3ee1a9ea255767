// Concatenation: one strided copy per input.
#include "ops/op/concat.h"

#include "backends/cuda/run/own_kernel.h"
#include "backends/cuda/run/strided_copy.h"

namespace tenon::backends::cuda {
namespace {

class ConcatInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Concat&, const Types&) { return copyCode(); }
  ConcatInstance(const ops::Concat& op, const Types&, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    const auto to = stridesOf(y.dims, y.format);
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + y.dims.rank : op_.axis);
    copies_.assign(shapes.inputs.size(), {});
    int64_t at = 0;
    for (size_t i = 0; i < copies_.size(); ++i) {
      const auto& x = shapes.inputs[i];
      copies_[i].configure(module_, x.dims, stridesOf(x.dims, x.format), 0, to, at * to[axis], bits(y.dtype) / 8);
      at += x.dims[static_cast<int>(axis)];
    }
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    for (size_t i = 0; i < copies_.size(); ++i) copies_[i].launch(arguments.inputs[i], arguments.outputs[0], arguments.stream);
  }

 private:
  const ops::Concat& op_;
  const Module& module_;
  std::vector<StridedCopy> copies_;
};

}  // namespace

KernelRow kernelRow_concat() { return ownRow<ops::Concat, ConcatInstance>("concat"); }

}  // namespace tenon::backends::cuda
