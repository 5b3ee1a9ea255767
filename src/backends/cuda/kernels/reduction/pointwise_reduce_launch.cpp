// Reductions with scalar work in front: the form follows from which axes lie close in memory and from how much there
// is.
#include "backends/cuda/kernels/reduction/pointwise_reduce.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"

namespace tenon::backends::cuda {

std::string pointwiseReduceSource(const ops::PointwiseReduce& op, std::span<const DataType> inputs, DataType output) {
  std::string result;
  const auto body = scalarStatements(op.expr, inputs, result);
  std::string loads;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto type = cudaName(inputs[k]);
    loads +=
        fmt::format("  const Scalar<{0}>::Value x{1} = Scalar<{0}>::load(((const {0}*)p.x[{1}])[at[{1}]]);\n", type, k);
  }
  return fmt::format(
      "#include \"scalar.cuh\"\n#define JOIN {}\ntypedef {} Y;\n#include \"pointwise_reduce.cuh\"\n\n"
      "__device__ inline float valueAt(const PointwiseReduceParameters& p, const i64* at) {{\n{}{}  return as<float>({});\n}}\n",
      static_cast<int>(op.op), cudaName(output), loads, body, result);
}

namespace {

constexpr int64_t kLeastPerSplit = 2048;
constexpr int64_t kLeastPerColumn = 64;
constexpr int64_t kMostPerWarp = 512;  // reduced values for which a warp per output is enough
constexpr int64_t kMostPerThread = 8;  // and a thread, whatever lies close
constexpr int64_t kThreadsOfBlock = 256;

class PointwiseReduceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::PointwiseReduce& op, const Types& types) {
    return {"", {}, pointwiseReduceSource(op, types.inputs, types.outputs.at(0))};
  }
  PointwiseReduceInstance(const ops::PointwiseReduce& op, const Types&, const Module& module)
      : op_(op),
        block_(module.function("tenon_pointwise_reduce_block")),
        warp_(module.function("tenon_pointwise_reduce_warp")),
        thread_(module.function("tenon_pointwise_reduce_thread")),
        columns_(module.function("tenon_pointwise_reduce_columns")),
        finish_(module.function("tenon_pointwise_reduce_finish")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    std::vector<Dims> extents;
    for (const auto& input : shapes.inputs) extents.push_back(input.dims);
    const Dims dims = ops::broadcastDims(extents);
    size_t widest = 0;
    for (size_t k = 0; k < extents.size(); ++k) widest = extents[k].count() > extents[widest].count() ? k : widest;
    const auto isReduced = axisMask(op_.axes, dims.rank);
    std::vector<Strides> operands{outputStrides(shapes.outputs[0], isReduced)};
    for (const auto& input : shapes.inputs) operands.push_back(stridesWithin(input.dims, input.layout, dims));
    const auto kept = splitAxes(dims, isReduced, operands).kept;
    operands[0] = operands[widest + 1];  // the order of the reduced axes follows the widest input
    const auto reduced = splitAxes(dims, isReduced, operands).reduced;
    parameters_ = {};
    inputs_ = static_cast<int>(shapes.inputs.size());
    setSpace(parameters_.kept, kept);
    setSpace(parameters_.reduced, reduced);
    outputs_ = shapes.outputs[0].dims.count();
    parameters_.total = 1;
    for (int axis = 0; axis < dims.rank; ++axis)
      parameters_.total *= isReduced[static_cast<size_t>(axis)] ? dims[axis] : 1;
    checkUser(!isWide(parameters_.kept) && !isWide(parameters_.reduced),
              "reduce: {} outputs of {} values each exceed the grid", outputs_, parameters_.total);
    const bool closeKept = kept.strides[widest + 1].back() == 1 && kept.inner() > 1;
    const bool closeReduced = reduced.strides[0].back() == 1 && reduced.inner() > 1;
    choose(closeKept && !closeReduced);
    return parameters_.splits == 1 ? 0 : static_cast<size_t>(parameters_.splits * outputs_) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    for (int k = 0; k < inputs_; ++k) parameters_.x[k] = arguments.inputs[k];
    parameters_.y = arguments.outputs[0];
    parameters_.partial = static_cast<float*>(arguments.workspace);
    launchGrid(function_, static_cast<unsigned>(blocks_), static_cast<unsigned>(parameters_.splits), 1, kThreadsOfBlock,
               &parameters_, arguments.stream);
    if (parameters_.splits == 1) return;
    launchGrid(finish_, static_cast<unsigned>((outputs_ + 7) / 8), 1, 1, 256, &parameters_, arguments.stream);
  }

 private:
  // Within the axes of what is reduced.
  Strides outputStrides(const runtime::TensorShape& output, const std::vector<bool>& isReduced) const {
    const auto own = stridesOf(output.dims, output.layout);
    Strides result{};
    for (size_t axis = 0, next = 0; axis < isReduced.size(); ++axis) {
      if (op_.keepDims) {
        result[axis] = isReduced[axis] ? 0 : own[axis];
      } else if (!isReduced[axis]) {
        result[axis] = own[next++];
      }
    }
    return result;
  }

  void choose(bool columns) {
    const int64_t total = parameters_.total;
    const bool isWarp = total <= kMostPerWarp, isThread = total <= kMostPerThread;
    function_ = isThread ? thread_ : columns ? columns_ : isWarp ? warp_ : block_;
    const int64_t outputsPerBlock = isThread ? kThreadsOfBlock : columns ? 32 : isWarp ? 8 : 1;
    blocks_ = (outputs_ + outputsPerBlock - 1) / outputsPerBlock;
    const int64_t wanted = (2 * fewBlocks() + blocks_ - 1) / std::max<int64_t>(blocks_, 1);
    const int64_t least = columns ? kLeastPerColumn : kLeastPerSplit;
    parameters_.splits = blocks_ < fewBlocks() ? std::clamp<int64_t>(total / least, 1, wanted) : 1;
    parameters_.perSplit = (total + parameters_.splits - 1) / parameters_.splits;
  }

  const ops::PointwiseReduce& op_;
  CUfunction block_;
  CUfunction warp_;
  CUfunction thread_;
  CUfunction columns_;
  CUfunction finish_;
  CUfunction function_ = nullptr;
  int inputs_ = 0;
  int64_t outputs_ = 0;
  int64_t blocks_ = 0;
  PointwiseReduceParameters parameters_;
};

}  // namespace

KernelRow kernelRow_pointwise_reduce() {
  return ownRow<ops::PointwiseReduce, PointwiseReduceInstance>("pointwise_reduce", 2);
}

}  // namespace tenon::backends::cuda
