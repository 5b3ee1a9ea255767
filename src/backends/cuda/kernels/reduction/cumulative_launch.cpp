// Running sums: lines by blocks or by threads.
#include "ops/op/cumulative.h"

#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/reduction/reduction_parameters.h"

namespace tenon::backends::cuda {
namespace {

class CumulativeInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Cumulative& op, const Types& types) {
    return {"cumulative.cu",
            {typeDefine("X", types.inputs.at(0)), fmt::format("EXCLUSIVE={}", op.exclusive ? 1 : 0),
             fmt::format("REVERSE={}", op.reverse ? 1 : 0)},
            {}};
  }
  CumulativeInstance(const ops::Cumulative& op, const Types&, const Module& module)
      : op_(op),
        block_(module.function("tenon_cumulative_block")),
        columns_(module.function("tenon_cumulative_columns")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    const auto strides = stridesOf(x.dims, x.layout);
    parameters_.extent = x.dims[static_cast<int>(axis)];
    parameters_.stride = strides[axis];
    const auto lines = splitAxes(x.dims, axisMask({op_.axis}, x.dims.rank), {strides}).kept;
    setSpace(parameters_.lines, lines);
    count_ = x.dims.count();
    byColumns_ = parameters_.stride != 1 && parameters_.lines.count >= 1024;
    checkUser(!isWide(parameters_.lines), "cumulative: {} rows exceed the limit of 2^31", parameters_.lines.count);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    if (byColumns_) {
      launchThreads(columns_, parameters_.lines.count, &parameters_, arguments.stream);
    } else {
      launchGrid(block_, static_cast<unsigned>(parameters_.lines.count), 1, 1, 256, &parameters_, arguments.stream);
    }
  }

 private:
  const ops::Cumulative& op_;
  CUfunction block_;
  CUfunction columns_;
  int64_t count_ = 0;
  bool byColumns_ = false;
  CumulativeParameters parameters_;
};

}  // namespace

KernelRow kernelRow_cumulative() { return ownRow<ops::Cumulative, CumulativeInstance>("cumulative"); }

}  // namespace tenon::backends::cuda
