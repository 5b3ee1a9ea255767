// Reductions: the form follows from which axes lie close in memory and from how much there is of each.
#include "ops/op/reduce.h"

#include <algorithm>
#include <memory>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/reduction/reduction_parameters.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastPerSplit = 2048;
constexpr int64_t kMostPerWarp = 512;   // reduced elements for which a warp per output is enough
constexpr int64_t kMostSegment = 512;   // reduced elements of outputs that a block takes several of
constexpr int64_t kLoadsPerThread = 8;  // of packs, before the reduced axis is split

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
        packs_(module.function("tenon_reduce_packs")),
        segments_(module.function("tenon_reduce_segments")),
        finish_(module.function("tenon_reduce_finish")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto isReduced = axisMask(op_.axes, x.dims.rank);
    const auto own = stridesOf(y.dims, y.layout);
    Strides to{};
    for (size_t axis = 0, next = 0; axis < isReduced.size(); ++axis) {
      if (op_.keepDims) {
        to[axis] = isReduced[axis] ? 0 : own[axis];
      } else if (!isReduced[axis]) {
        to[axis] = own[next++];
      }
    }
    const auto from = stridesOf(x.dims, x.layout);
    const auto axes = splitAxes(x.dims, isReduced, {to, from});
    // The reduced half has one operand, and its order follows the input.
    const auto reduced = splitAxes(x.dims, isReduced, {from}).reduced;
    parameters_ = {};
    setSpace(parameters_.kept, axes.kept);
    setSpace(parameters_.reduced, reduced);
    outputs_ = y.dims.count();
    parameters_.total = 1;
    for (int axis = 0; axis < x.dims.rank; ++axis)
      parameters_.total *= isReduced[static_cast<size_t>(axis)] ? x.dims[axis] : 1;
    checkUser(!isWide(parameters_.kept) && !isWide(parameters_.reduced),
              "reduce: {} outputs of {} elements each exceed the grid", outputs_, parameters_.total);
    const bool closeKept = axes.kept.strides[1].back() == 1 && axes.kept.inner() > 1;
    const bool closeReduced = reduced.strides[0].back() == 1 && reduced.inner() > 1;
    const bool piece = reduced.extents.size() == 1 && reduced.strides[0][0] == 1;
    const bool inRow = axes.kept.extents.size() == 1 && axes.kept.strides[1][0] == parameters_.total;
    choosePlain(closeKept && !closeReduced);
    plain_ = std::make_unique<Launch>(Launch{function_, parameters_, blocks_});
    if (piece && inRow && parameters_.total > 1 && parameters_.total <= kMostSegment && outputs_ > 1) {
      chooseSegments();
    } else if (closeKept && !closeReduced) {
      choosePacks(axes.kept, reduced, 16 / (bits(x.dtype) / 8));
    }
    if (parameters_.splits == 1 && plain_->parameters.splits == 1) return 0;
    return static_cast<size_t>(std::max(parameters_.splits, plain_->parameters.splits) * outputs_ * 8);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    // Packs need addresses of whole packs.
    const bool whole = isAligned(arguments.inputs[0], 16);
    auto& parameters = whole ? parameters_ : plain_->parameters;
    parameters.x = arguments.inputs[0];
    parameters.y = arguments.outputs[0];
    parameters.partial = arguments.workspace;
    launchGrid(whole ? function_ : plain_->function, static_cast<unsigned>(whole ? blocks_ : plain_->blocks),
               static_cast<unsigned>(parameters.splits), 1, 256, &parameters, arguments.stream);
    if (parameters.splits == 1) return;
    auto last = plain_->parameters;  // whose space counts elements
    last.y = parameters.y;
    last.partial = parameters.partial;
    last.splits = parameters.splits;
    launchGrid(finish_, static_cast<unsigned>((outputs_ + 7) / 8), 1, 1, 256, &last, arguments.stream);
  }

 private:
  struct Launch {
    CUfunction function;
    ReduceParameters parameters;
    int64_t blocks;
  };

  void choosePlain(bool columns) {
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
    const int64_t wanted = (2 * fewBlocks() + blocks_ - 1) / std::max<int64_t>(blocks_, 1);
    const int64_t least = columns ? 64 : kLeastPerSplit;
    split(blocks_ < fewBlocks() ? std::clamp<int64_t>(total / least, 1, wanted) : 1);
  }
  void split(int64_t splits) {
    constexpr int64_t kPiece = 16;  // splits begin where packs do
    parameters_.splits = std::max<int64_t>(splits, 1);
    parameters_.perSplit =
        ((parameters_.total + parameters_.splits - 1) / parameters_.splits + kPiece - 1) / kPiece * kPiece;
  }
  void chooseSegments() {
    int32_t columns = 256;
    while (columns > 8 && columns * parameters_.total > kSegmentElements) columns /= 2;
    function_ = segments_;
    parameters_.columns = columns;
    parameters_.splits = 1;
    blocks_ = (outputs_ + columns - 1) / columns;
  }
  void choosePacks(const LoopSpace& kept, const LoopSpace& reduced, int pack) {
    if (packWidth(kept, pack) != pack || kept.strides[0].back() != 1) return;
    for (const int64_t stride : reduced.strides[0]) {
      if (stride % pack != 0) return;
    }
    LoopSpace packs = kept;
    packs.extents.back() /= pack;
    for (auto& strides : packs.strides) {
      for (size_t axis = 0; axis + 1 < strides.size(); ++axis) strides[axis] /= pack;
    }
    setSpace(parameters_.kept, packs);
    const int64_t count = parameters_.kept.count;
    constexpr int32_t kWide = 32;   // where there is enough to do
    constexpr int32_t kNarrow = 8;  // 128 neighbouring bytes
    int32_t columns = count / kWide >= fewBlocks() ? kWide : kNarrow;
    while (columns > 1 && columns / 2 >= count) columns /= 2;
    parameters_.columns = columns;
    function_ = packs_;
    blocks_ = (count + columns - 1) / columns;
    const int64_t rows = 256 / columns;
    const int64_t loads = parameters_.total / rows;
    split(blocks_ < fewBlocks() / 2 && loads >= 2 * kLoadsPerThread
              ? std::min(loads / kLoadsPerThread, (fewBlocks() + blocks_ - 1) / blocks_)
              : 1);
  }

  const ops::Reduce& op_;
  CUfunction block_;
  CUfunction warp_;
  CUfunction columns_;
  CUfunction packs_;
  CUfunction segments_;
  CUfunction finish_;
  CUfunction function_ = nullptr;
  int64_t outputs_ = 0;
  int64_t blocks_ = 0;
  ReduceParameters parameters_;
  std::unique_ptr<Launch> plain_;  // for addresses that are no multiple of a pack
};

}  // namespace

KernelRow kernelRow_reduce() { return ownRow<ops::Reduce, ReduceInstance>("reduce"); }

}  // namespace tenon::backends::cuda
