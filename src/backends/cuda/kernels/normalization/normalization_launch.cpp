// Layer, instance, group and root-mean-square normalization, of a tensor or a sum of two: a statistic's members by a
// block or a warp.
#include "ops/op/normalization.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/normalization/normalization_parameters.h"

namespace tenon::backends::cuda {
namespace {

class NormalizationInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Normalization& op, const Types& types) {
    return {"normalization.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("S", types.inputs.at(1)),
             fmt::format("CENTERED={}", op.centered ? 1 : 0), fmt::format("SKIP={}", op.skip ? 1 : 0),
             fmt::format("KEEP_SUM={}", op.keepSum ? 1 : 0)},
            {}};
  }
  NormalizationInstance(const ops::Normalization& op, const Types&, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    Dims dims = x.dims;
    auto isReduced = axisMask(op_.axes, dims.rank);
    std::vector<Strides> operands{stridesOf(dims, x.layout), parameterStrides(shapes.inputs[1], dims),
                                  parameterStrides(shapes.inputs[2], dims)};
    if (op_.groups > 1) splitChannels(shapes, dims, isReduced, operands);
    const auto axes = splitAxes(dims, isReduced, operands);
    count_ = x.dims.count();
    if (count_ == 0) return 0;
    parameters_ = {};
    parameters_.epsilon = static_cast<float>(op_.epsilon);
    setSpace(parameters_.groups, axes.kept);
    setSpace(parameters_.inside, axes.reduced);
    const int64_t members = parameters_.members = parameters_.inside.count;
    const int64_t groups = parameters_.groups.count;
    checkUser(!isWide(parameters_.groups) && !isWide(parameters_.inside),
              "normalization: {} statistics over {} elements exceed the grid", groups, members);
    configureRows(axes, 16 / (bits(x.dtype) / 8));
    if (rows_ == nullptr) configurePlanes(axes, 16 / (bits(x.dtype) / 8));
    if (members <= 128) {
      function_ = module_.function("tenon_normalize_warp");
      threads_ = 256;
      blocks_ = (groups + 7) / 8;
      return 0;
    }
    threads_ =
        static_cast<unsigned>(std::clamp<int64_t>((members + 3) / 4, 128, groups < fewBlocks() ? 1024 : 256) + 31) /
        32 * 32;
    function_ = module_.function(members <= 4 * threads_ ? "tenon_normalize_4" : "tenon_normalize_16");
    blocks_ = groups;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.scale = arguments.inputs[1];
    parameters_.bias = arguments.inputs[2];
    parameters_.y = arguments.outputs[0];
    if (op_.skip) parameters_.skip = arguments.inputs[3];
    if (op_.keepSum) parameters_.sum = arguments.outputs[1];
    if (rows_ != nullptr && packs(arguments)) {
      launchGrid(rows_, static_cast<unsigned>(rowBlocks_), 1, 1, rowThreads_, &parameters_, arguments.stream);
      return;
    }
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, threads_, &parameters_, arguments.stream);
  }

 private:
  bool perGroup(const runtime::TensorShape& parameter, const Dims& x) const {
    return op_.groups > 1 && parameter.dims.rank == x.rank && parameter.dims[1] == op_.groups;
  }
  Strides parameterStrides(const runtime::TensorShape& parameter, const Dims& x) const {
    auto strides = stridesWithin(parameter.dims, parameter.layout, x);
    if (perGroup(parameter, x)) strides[1] = stridesOf(parameter.dims, parameter.layout)[1];
    return strides;
  }

  // Axis 1 becomes two: the groups, over which is not reduced, and their channels.
  void splitChannels(const runtime::Shapes& shapes, Dims& dims, std::vector<bool>& isReduced,
                     std::vector<Strides>& operands) const {
    const Dims whole = dims;
    const int64_t run = std::max<int64_t>(whole[1] / op_.groups, 1);
    dims = {};
    std::vector<bool> mask;
    std::vector<Strides> split(operands.size(), Strides{});
    for (int axis = 0; axis < whole.rank; ++axis) {
      const auto at = static_cast<size_t>(axis);
      const int parts = axis == 1 ? 2 : 1;
      for (int part = 0; part < parts; ++part) {
        const auto to = static_cast<size_t>(dims.rank);
        for (size_t k = 0; k < operands.size(); ++k) {
          const bool grouped = axis == 1 && k > 0 && perGroup(shapes.inputs[k], whole);
          split[k][to] = axis != 1   ? operands[k][at]
                         : part == 0 ? operands[k][at] * (grouped ? 1 : run)
                         : grouped   ? 0
                                     : operands[k][at];
        }
        dims.push(axis != 1 ? whole[axis] : part == 0 ? op_.groups : run);
        mask.push_back(axis == 1 ? part == 1 : isReduced[at]);
      }
    }
    isReduced = mask;
    operands = split;
  }

  // Rows in one piece: x, scale and bias step alike, and whole packs.
  void configureRows(const SplitAxes& axes, int64_t pack) {
    rows_ = nullptr;
    const int64_t members = parameters_.members;
    if (axes.reduced.extents.size() != 1 || members % pack != 0) return;
    for (size_t k = 0; k < 3; ++k) {
      if (axes.reduced.strides[k][0] != 1) return;
      for (const int64_t stride : axes.kept.strides[k]) {
        if (parameters_.groups.count > 1 && stride % pack != 0) return;
      }
    }
    const int64_t packs = members / pack;
    const int64_t groups = parameters_.groups.count;
    constexpr int64_t kMostPerThread = 4;
    if (configureManyRows(axes, packs)) return;
    const int64_t threads = (packs + 31) / 32 * 32;
    constexpr int64_t kMostOfBlock = 256, kAtOnce = 1024;  // threads, of a multiprocessor
    if (packs > 32 && threads <= kMostOfBlock && groups * threads <= kAtOnce * multiprocessors()) {
      rows_ = module_.function("tenon_normalize_few_rows_block");
      rowThreads_ = static_cast<unsigned>(threads);
      rowBlocks_ = groups;
      return;
    }
    if (packs <= 32 * kMostPerThread) {
      constexpr int64_t kFewRows = 2048;  // all are on their way at once, whatever registers they take
      const char* several = groups <= kFewRows ? "tenon_normalize_few_rows_warp_4" : "tenon_normalize_rows_warp_4";
      rows_ = module_.function(packs <= 32 ? "tenon_normalize_rows_warp_1" : several);
      rowThreads_ = blockSize(groups * 32, 32);
      rowBlocks_ = (groups * 32 + rowThreads_ - 1) / rowThreads_;
    } else if (packs <= 1024 * kMostPerThread) {
      rows_ = module_.function("tenon_normalize_rows_block");
      const int64_t perThread = groups < fewBlocks() ? 1 : 2;
      rowThreads_ =
          static_cast<unsigned>(std::clamp<int64_t>((packs + perThread - 1) / perThread, 64, 1024) + 31) / 32 * 32;
      rowBlocks_ = groups;
    }
  }
  // Rows of at most a warp's packs that share scale and bias, so many that lanes may take several each.
  bool configureManyRows(const SplitAxes& axes, int64_t packs) {
    constexpr int64_t kRowsOfLanes = 4;
    constexpr unsigned kThreads = 256;
    const int64_t lanes = packs <= 8 ? 8 : packs <= 16 ? 16 : 32;
    const int64_t rowsOfBlock = kRowsOfLanes * kThreads / lanes;
    const int64_t groups = parameters_.groups.count;
    if (packs > lanes || groups < rowsOfBlock * fewBlocks()) return false;
    for (size_t k = 1; k < 3; ++k) {
      for (const int64_t stride : axes.kept.strides[k]) {
        if (stride != 0) return false;
      }
    }
    rows_ = module_.function(fmt::format("tenon_normalize_many_rows_{}", lanes));
    rowThreads_ = kThreads;
    rowBlocks_ = (groups + rowsOfBlock - 1) / rowsOfBlock;
    return true;
  }
  // Members of x in one piece, of which runs of whole packs share scale and bias.
  void configurePlanes(const SplitAxes& axes, int64_t pack) {
    const auto& inside = axes.reduced;
    const size_t last = inside.extents.size() - 1;
    if (last > 1 || parameters_.members < 1024 || inside.extents[last] % pack != 0 || inside.strides[0][last] != 1)
      return;
    if (last == 1 && inside.strides[0][0] != inside.extents[1]) return;
    if (inside.strides[1][last] != 0 || inside.strides[2][last] != 0) return;
    for (const int64_t stride : axes.kept.strides[0]) {
      if (parameters_.groups.count > 1 && stride % pack != 0) return;
    }
    const int64_t groups = parameters_.groups.count;
    rows_ = module_.function("tenon_normalize_planes");
    const int64_t most = groups < fewBlocks() ? 1024 : 512;
    rowThreads_ = static_cast<unsigned>(std::clamp<int64_t>(parameters_.members / pack / 2, 128, most) + 31) / 32 * 32;
    rowBlocks_ = groups;
  }
  bool packs(const runtime::LaunchArguments& arguments) const {
    constexpr size_t kBytes = 32;  // a pack of parameters of four bytes beside elements of two
    const auto fits = [](const void* address) { return isAligned(address, kBytes); };
    return std::all_of(arguments.inputs, arguments.inputs + (op_.skip ? 4 : 3), fits) &&
           std::all_of(arguments.outputs, arguments.outputs + (op_.keepSum ? 2 : 1), fits);
  }

  const ops::Normalization& op_;
  const Module& module_;
  CUfunction rows_ = nullptr;
  int64_t rowBlocks_ = 0;
  unsigned rowThreads_ = 256;
  CUfunction function_ = nullptr;
  int64_t count_ = 0;
  int64_t blocks_ = 0;
  unsigned threads_ = 256;
  NormalizationParameters parameters_;
};

}  // namespace

KernelRow kernelRow_normalization() { return ownRow<ops::Normalization, NormalizationInstance>("normalization"); }

}  // namespace tenon::backends::cuda
