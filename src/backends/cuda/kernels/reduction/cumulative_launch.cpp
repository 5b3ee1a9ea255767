// Running sums: chunks of lines, along them or across.
#include "ops/op/cumulative.h"

#include <algorithm>

#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/reduction/reduction_parameters.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastLinesAcross = 8;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class CumulativeInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Cumulative& op, const Types& types) {
    return {"cumulative.cu",
            {typeDefine("X", types.inputs.at(0)), fmt::format("EXCLUSIVE={}", op.exclusive ? 1 : 0),
             fmt::format("REVERSE={}", op.reverse ? 1 : 0)},
            {}};
  }
  CumulativeInstance(const ops::Cumulative& op, const Types& types, const Module& module)
      : op_(op),
        sums_(module.function("tenon_cumulative_sums")),
        along_(module.function("tenon_cumulative")),
        sumsAcross_(module.function("tenon_cumulative_sums_across")),
        across_(module.function("tenon_cumulative_across")),
        sumBytes_(isFloating(types.inputs.at(0)) ? sizeof(float) : sizeof(int64_t)) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    auto& p = parameters_;
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    const auto strides = stridesOf(x.dims, x.layout);
    p.extent = x.dims[static_cast<int>(axis)];
    p.stride = strides[axis];
    setSpace(p.lines, splitAxes(x.dims, axisMask({op_.axis}, x.dims.rank), {strides}).kept);
    checkUser(!isWide(p.lines), "cumulative: {} rows exceed the limit of 2^31", p.lines.count);
    blocks_ = 0;
    if (x.dims.count() == 0) return 0;
    isAcross_ = p.stride != 1 && p.lines.count >= kLeastLinesAcross;
    const int64_t stepsOfWarp = isAcross_ ? kCumulativeItems : 32 * kCumulativeItems;
    threads_ = std::min<int64_t>(ceilDiv(p.extent, stepsOfWarp) * 32, kCumulativeThreads);
    p.chunks = ceilDiv(p.extent, stepsOfWarp * threads_ / 32);
    blocks_ = (isAcross_ ? ceilDiv(p.lines.count, 32) : p.lines.count) * p.chunks;
    checkUser(blocks_ < int64_t{1} << 31, "cumulative: {} chunks of rows exceed a grid", blocks_);
    return p.chunks == 1 ? 0 : static_cast<size_t>(p.chunks * p.lines.count) * sumBytes_;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    parameters_.sums = arguments.workspace;
    const auto start = [&](CUfunction function) {
      launchGrid(function, static_cast<unsigned>(blocks_), 1, 1, static_cast<unsigned>(threads_), &parameters_,
                 arguments.stream);
    };
    if (parameters_.chunks > 1) start(isAcross_ ? sumsAcross_ : sums_);
    start(isAcross_ ? across_ : along_);
  }

 private:
  const ops::Cumulative& op_;
  CUfunction sums_;
  CUfunction along_;
  CUfunction sumsAcross_;
  CUfunction across_;
  size_t sumBytes_;
  bool isAcross_ = false;
  int64_t threads_ = 0;
  int64_t blocks_ = 0;
  CumulativeParameters parameters_;
};

}  // namespace

KernelRow kernelRow_cumulative() { return ownRow<ops::Cumulative, CumulativeInstance>("cumulative", 2); }

}  // namespace tenon::backends::cuda
