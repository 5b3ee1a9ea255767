// Products with experts. How many rows an expert has is known on the device only: as many tiles are launched as there
// may be.
#include "ops/op/expert_matmul.h"

#include <algorithm>

#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/experts/expert_parameters.h"

namespace tenon::backends::cuda {
namespace {

class ExpertMatMulInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::ExpertMatMul&, const Types& types) {
    return {isHalf(types) ? "expert_halves.cu" : "expert_matmul.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.inputs.at(1))},
            {}};
  }
  ExpertMatMulInstance(const ops::ExpertMatMul&, const Types& types, const Module& module)
      : count_(module.function("tenon_expert_count")),
        starts_(module.function("tenon_expert_starts")),
        order_(module.function("tenon_expert_order")),
        few_(module.function("tenon_expert_few")),
        many_(module.function("tenon_expert_many")) {
    if (!isHalf(types)) return;
    fewHalves_ = module.function("tenon_expert_few_halves");
    manyHalves_ = module.function("tenon_expert_many_halves");
  }

  size_t configure(const runtime::Shapes& shapes) override {
    auto& p = parameters_;
    const Dims& y = shapes.outputs[0].dims;
    p.sources = shapes.inputs[0].dims[1];
    p.experts = shapes.inputs[2].dims[0];
    p.depth = shapes.inputs[2].dims[1];
    p.perToken = y[1];
    p.columns = y[2];
    p.rows = y[0] * y[1];
    checkUser(p.rows < int64_t{1} << 31, "expert_matmul: {} rows exceed the limit of 2^31 - 1", p.rows);
    p.tileRows = p.rows <= 2 * kFewExpertRows * (p.experts + 1) ? kFewExpertRows : kManyExpertRows;
    tiles_ = p.rows / p.tileRows + std::min(p.rows, p.experts + 1);
    const int64_t most = tiles_ * tilesOf(kExpertColumns);
    checkUser(most < int64_t{1} << 31, "expert_matmul: {} tiles exceed a grid", most);
    return static_cast<size_t>(3 * (p.experts + 2) + 2 * p.rows) * sizeof(uint32_t);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = parameters_;
    if (p.rows * p.columns == 0) return;
    p.x = arguments.inputs[0];
    p.chosen = arguments.inputs[1];
    p.weights = arguments.inputs[2];
    p.y = arguments.outputs[0];
    const int64_t lists = p.experts + 2;
    p.counts = static_cast<uint32_t*>(arguments.workspace);
    p.starts = p.counts + lists;
    p.tiles = p.starts + lists;
    p.places = p.tiles + lists;
    p.order = p.places + p.rows;
    check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(p.counts), 0,
                               static_cast<size_t>(lists) * sizeof(uint32_t), static_cast<CUstream>(arguments.stream)),
          "cuMemsetD8Async");
    launchThreads(count_, p.rows, &p, arguments.stream);
    launchGrid(starts_, 1, 1, 1, kExpertThreads, &p, arguments.stream);
    launchThreads(order_, p.rows, &p, arguments.stream);
    const bool isFew = p.tileRows == kFewExpertRows;
    const bool inPacks = fewHalves_ != nullptr && p.depth % 8 == 0 && p.columns % 8 == 0 && isAligned(p.x, 16) &&
                         isAligned(p.weights, 16) && isAligned(p.y, 16);
    p.columnTiles = tilesOf(inPacks && isFew ? kFewExpertColumns : kExpertColumns);
    const auto function = inPacks ? (isFew ? fewHalves_ : manyHalves_) : (isFew ? few_ : many_);
    launchThreads(function, tiles_ * p.columnTiles * kExpertThreads, &p, arguments.stream, kExpertThreads);
  }

 private:
  static bool isHalf(const Types& types) {
    return types.inputs.at(0) == DataType::kF16 || types.inputs.at(0) == DataType::kBF16;
  }
  int64_t tilesOf(int64_t columns) const { return (parameters_.columns + columns - 1) / columns; }

  CUfunction count_;
  CUfunction starts_;
  CUfunction order_;
  CUfunction few_;
  CUfunction many_;
  CUfunction fewHalves_ = nullptr;  // on tensor cores
  CUfunction manyHalves_ = nullptr;
  int64_t tiles_ = 0;
  ExpertParameters parameters_;
};

}  // namespace

KernelRow kernelRow_expert_matmul() { return ownRow<ops::ExpertMatMul, ExpertMatMulInstance>("expert_matmul"); }

}  // namespace tenon::backends::cuda
