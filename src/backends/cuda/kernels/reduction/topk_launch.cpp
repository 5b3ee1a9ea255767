// TopK: a block per line.
#include "ops/op/topk.h"

#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/reduction/reduction_parameters.h"

namespace tenon::backends::cuda {
namespace {

class TopKInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::TopK& op, const Types& types) {
    return {"topk.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.outputs.at(1)),
             fmt::format("LARGEST={}", op.largest ? 1 : 0)},
            {}};
  }
  TopKInstance(const ops::TopK& op, const Types&, const Module& module)
      : op_(op), few_(module.function("tenon_topk")), select_(module.function("tenon_topk_select")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    const auto from = stridesOf(x.dims, x.layout);
    const auto to = stridesOf(y.dims, y.layout);
    parameters_.extent = x.dims[static_cast<int>(axis)];
    parameters_.k = y.dims[static_cast<int>(axis)];
    checkUser(parameters_.k >= 0 && parameters_.k <= parameters_.extent, "topk: k = {} exceeds axis {} of extent {}",
              parameters_.k, axis, parameters_.extent);
    parameters_.xStride = from[axis];
    parameters_.yStride = to[axis];
    setSpace(parameters_.lines, splitAxes(x.dims, axisMask({op_.axis}, x.dims.rank), {to, from}).kept);
    count_ = y.dims.count();
    checkUser(!isWide(parameters_.lines), "topk: {} rows exceed the limit of 2^31", parameters_.lines.count);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.values = arguments.outputs[0];
    parameters_.indices = arguments.outputs[1];
    constexpr int64_t kFew = 8;  // up to which a pass for each is quicker
    const bool selects = parameters_.k > kFew && parameters_.k <= kMostSelected;
    const unsigned threads = parameters_.extent <= 128 ? 32 : parameters_.extent <= 4096 ? 256 : 1024;
    launchGrid(selects ? select_ : few_, static_cast<unsigned>(parameters_.lines.count), 1, 1, threads, &parameters_,
               arguments.stream);
  }

 private:
  const ops::TopK& op_;
  CUfunction few_;
  CUfunction select_;
  int64_t count_ = 0;
  TopKParameters parameters_;
};

}  // namespace

KernelRow kernelRow_topk() { return ownRow<ops::TopK, TopKInstance>("topk"); }

}  // namespace tenon::backends::cuda
