// Elements or rows combined with others at indices: by lists of the updates of each, or, of few updates, by blocks that
// look for the updates of their rows.
#include "ops/op/scatter_reduce.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_parameters.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostRowsOfBlock = 128;
constexpr unsigned kThreads = 1024;  // of a block that looks for updates
// Indices that all blocks together look at; more take longer than lists.
constexpr int64_t kMostLooks = int64_t{1} << 19;

int joinOf(ops::ReduceOp op) {
  switch (op) {
    case ops::ReduceOp::kProd: return 1;
    case ops::ReduceOp::kMax: return 2;
    case ops::ReduceOp::kMin: return 3;
    default: return 0;
  }
}

class ScatterReduceInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::ScatterReduce& op, const Types& types) {
    return {"scatter_reduce.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.inputs.at(1)),
             fmt::format("JOIN={}", joinOf(op.op))},
            {}};
  }
  ScatterReduceInstance(const ops::ScatterReduce& op, const Types& types, const Module& module)
      : op_(op),
        countUpdates_(module.function("tenon_scatter_reduce_count")),
        sums_(module.function("tenon_scatter_reduce_sums")),
        starts_(module.function("tenon_scatter_reduce_starts")),
        lists_(module.function("tenon_scatter_reduce_lists")),
        combine_(module.function("tenon_scatter_reduce")),
        combineRows_(module.function("tenon_scatter_reduce_rows")),
        elementBytes_(bits(types.inputs.at(0)) / 8) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& data = shapes.inputs[0].dims;
    const Dims& indices = shapes.inputs[1].dims;
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + data.rank : op_.axis);
    const auto strides = stridesOf(data, Layout::kLinear);
    Strides still = strides;
    still[axis] = 0;
    parameters_.count = indices.count();
    parameters_.inner = op_.rows ? data.count(static_cast<int>(axis) + 1, data.rank) : 1;
    parameters_.extent = data[static_cast<int>(axis)];
    parameters_.axisStride = strides[axis] / std::max<int64_t>(parameters_.inner, 1);
    looks_ = false;
    bytes_ = static_cast<size_t>(data.count() * elementBytes_);
    if (parameters_.count == 0 || bytes_ == 0) return 0;
    for (auto& stride : still) stride /= parameters_.inner;
    setSpace(parameters_.space, collapse(indices, {stridesOf(indices, Layout::kLinear), still}));
    checkUser(!isWide(parameters_.space) && data.count() < std::numeric_limits<uint32_t>::max(),
              "scatter_reduce: {} elements and {} updates are too many; it takes 2^32 - 2 and 2^31 - 1", data.count(),
              parameters_.count);
    // Rows along one axis, which then has all of the data.
    if (parameters_.extent * parameters_.inner == data.count() && indices.count() == indices[static_cast<int>(axis)]) {
      const int64_t blocks = std::min<int64_t>(parameters_.extent, multiprocessors());
      parameters_.rowsOfBlock = std::min((parameters_.extent + blocks - 1) / blocks, kMostRowsOfBlock);
      blocks_ = (parameters_.extent + parameters_.rowsOfBlock - 1) / parameters_.rowsOfBlock;
      looks_ = blocks_ * parameters_.count <= kMostLooks;
      if (looks_) return static_cast<size_t>(parameters_.count) * sizeof(uint64_t) + sizeof(uint64_t);
    }
    parameters_.rows = data.count() / parameters_.inner;
    // Where few rows have updates a copy of the data takes less than a warp for each.
    parameters_.byRow = parameters_.rows <= 2 * parameters_.count ? 1 : 0;
    sumBlocks_ = (parameters_.rows + kScatterBlock - 1) / kScatterBlock;
    return static_cast<size_t>(2 * parameters_.rows + sumBlocks_ + 4 * parameters_.count) * sizeof(uint32_t);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const y = arguments.outputs[0];
    if (bytes_ == 0) return;
    if (looks_) return lookAndCombine(arguments);
    auto& p = parameters_;
    p.data = arguments.inputs[0];
    p.indices = arguments.inputs[1];
    p.updates = arguments.inputs[2];
    p.y = y;
    if (p.count == 0 || p.byRow == 0)
      cudaDevice().copy(y, arguments.inputs[0], bytes_, runtime::CopyKind::kDeviceToDevice, arguments.stream);
    if (p.count == 0) return;
    p.counts = static_cast<uint32_t*>(arguments.workspace);
    p.starts = p.counts + p.rows;
    p.sums = p.starts + p.rows;
    p.targets = p.sums + sumBlocks_;
    p.places = p.targets + p.count;
    p.lists = p.places + p.count;
    p.ordered = p.lists + p.count;
    check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(p.counts), 0,
                               static_cast<size_t>(p.rows) * sizeof(uint32_t), static_cast<CUstream>(arguments.stream)),
          "cuMemsetD8Async");
    launchThreads(countUpdates_, p.count, &p, arguments.stream);
    if (sumBlocks_ > 1) launchThreads(sums_, sumBlocks_ * kScatterThreads, &p, arguments.stream, kScatterThreads);
    launchThreads(starts_, sumBlocks_ * kScatterThreads, &p, arguments.stream, kScatterThreads);
    launchThreads(lists_, p.count, &p, arguments.stream);
    launchThreads(combine_, 32 * (p.byRow != 0 ? p.rows : p.count), &p, arguments.stream);
  }

 private:
  // Keys stand behind the number of those that blocks have taken.
  void lookAndCombine(const runtime::LaunchArguments& arguments) {
    auto* const memory = static_cast<uint64_t*>(arguments.workspace);
    check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(memory), 0, sizeof(uint64_t),
                               static_cast<CUstream>(arguments.stream)),
          "cuMemsetD8Async");
    parameters_.data = arguments.inputs[0];
    parameters_.indices = arguments.inputs[1];
    parameters_.updates = arguments.inputs[2];
    parameters_.y = arguments.outputs[0];
    parameters_.taken = reinterpret_cast<uint32_t*>(memory);
    parameters_.keys = memory + 1;
    launchGrid(combineRows_, static_cast<unsigned>(blocks_), 1, 1, kThreads, &parameters_, arguments.stream);
  }

  const ops::ScatterReduce& op_;
  CUfunction countUpdates_;
  CUfunction sums_;
  CUfunction starts_;
  CUfunction lists_;
  CUfunction combine_;
  CUfunction combineRows_;
  bool looks_ = false;
  int64_t blocks_ = 0;
  int64_t sumBlocks_ = 0;
  int64_t elementBytes_;
  size_t bytes_ = 0;
  ScatterReduceParameters parameters_;
};

}  // namespace

KernelRow kernelRow_scatter_reduce() { return ownRow<ops::ScatterReduce, ScatterReduceInstance>("scatter_reduce", 2); }

}  // namespace tenon::backends::cuda
