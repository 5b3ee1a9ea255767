// Reductions: the form follows from which axes lie close in memory and from how much there is of each.
#include "ops/op/reduce.h"

#include <algorithm>

#include "backends/cuda/run/axes.h"
#include "backends/cuda/run/own_kernel.h"

namespace tenon::backends::cuda {
namespace {

struct Parameters {
  const void* x = nullptr;
  void* y = nullptr;
  void* partial = nullptr;
  int64_t perSplit = 0;
  int64_t splits = 1;
  int64_t total = 0;
  Space<2> kept;
  Space<1> reduced;
};

constexpr int64_t kFewBlocks = 264;      // two per multiprocessor of a large chip; below, the reduced axis is split
constexpr int64_t kLeastPerSplit = 2048;
constexpr int64_t kMostPerWarp = 512;    // reduced elements for which a warp per output is enough

class ReduceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Reduce& op, const Types& types) {
    return {"reduce.cu", {typeDefine("X", types.inputs.at(0)), fmt::format("JOIN={}", static_cast<int>(op.op))}, {}};
  }
  ReduceInstance(const ops::Reduce& op, const Types&, const Module& module)
      : op_(op),
        block_(module.function("tenon_reduce_block")),
        warp_(module.function("tenon_reduce_warp")),
        columns_(module.function("tenon_reduce_columns")),
        finish_(module.function("tenon_reduce_finish")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto isReduced = axisMask(op_.axes, x.dims.rank);
    const auto own = stridesOf(y.dims, y.format);
    Strides to{};
    for (size_t axis = 0, next = 0; axis < isReduced.size(); ++axis) {
      if (op_.keepDims) {
        to[axis] = isReduced[axis] ? 0 : own[axis];
      } else if (!isReduced[axis]) {
        to[axis] = own[next++];
      }
    }
    const auto from = stridesOf(x.dims, x.format);
    const auto axes = splitAxes(x.dims, isReduced, {to, from});
    // The reduced half has one operand, and its order follows the input.
    const auto reduced = splitAxes(x.dims, isReduced, {from}).reduced;
    parameters_ = {};
    parameters_.kept.set(axes.kept);
    parameters_.reduced.set(reduced);
    outputs_ = y.dims.count();
    parameters_.total = 1;
    for (int axis = 0; axis < x.dims.rank; ++axis) parameters_.total *= isReduced[static_cast<size_t>(axis)] ? x.dims[axis] : 1;
    checkUser(!parameters_.kept.wide() && !parameters_.reduced.wide(), "reduce: {} outputs of {} elements each are too many", outputs_,
              parameters_.total);
    const bool closeKept = axes.kept.strides[1].back() == 1 && axes.kept.inner() > 1;
    const bool closeReduced = reduced.strides[0].back() == 1 && reduced.inner() > 1;
    chooseForm(closeKept && !closeReduced);
    return parameters_.splits == 1 ? 0 : static_cast<size_t>(parameters_.splits * outputs_ * 8);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    parameters_.partial = arguments.workspace;
    launchGrid(function_, static_cast<unsigned>(blocks_), static_cast<unsigned>(parameters_.splits), 1, 256, &parameters_, arguments.stream);
    if (parameters_.splits > 1) launchThreads(finish_, outputs_, &parameters_, arguments.stream);
  }

 private:
  void chooseForm(bool columns) {
    const int64_t total = parameters_.total;
    if (columns) {
      function_ = columns_;
      blocks_ = (outputs_ + 31) / 32;
    } else if (total <= kMostPerWarp) {
      function_ = warp_;
      blocks_ = (outputs_ + 7) / 8;
    } else {
      function_ = block_;
      blocks_ = outputs_;
    }
    const int64_t wanted = (2 * kFewBlocks + blocks_ - 1) / std::max<int64_t>(blocks_, 1);
    const int64_t least = columns ? 64 : kLeastPerSplit;
    parameters_.splits = blocks_ < kFewBlocks ? std::clamp<int64_t>(total / least, 1, wanted) : 1;
    constexpr int64_t kPiece = 16;  // splits begin where packs do
    parameters_.perSplit = ((total + parameters_.splits - 1) / parameters_.splits + kPiece - 1) / kPiece * kPiece;
  }

  const ops::Reduce& op_;
  CUfunction block_;
  CUfunction warp_;
  CUfunction columns_;
  CUfunction finish_;
  CUfunction function_ = nullptr;
  int64_t outputs_ = 0;
  int64_t blocks_ = 0;
  Parameters parameters_;
};

}  // namespace

KernelRow kernelRow_reduce() { return ownRow<ops::Reduce, ReduceInstance>("reduce"); }

}  // namespace tenon::backends::cuda
