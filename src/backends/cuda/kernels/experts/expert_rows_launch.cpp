// Products with experts of few rows: a block for each row and some columns.
#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/experts/expert_parameters.h"
#include "ops/op/expert_matmul.h"

namespace tenon::backends::cuda {
namespace {

class ExpertRowsInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::ExpertMatMul&, const Types& types) {
    return {"expert_rows.cu", {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.inputs.at(1))}, {}};
  }
  ExpertRowsInstance(const ops::ExpertMatMul&, const Types& types, const Module& module)
      : whole_(module.function("tenon_expert_rows")),
        half_(module.function("tenon_expert_rows_half")),
        single_(module.function("tenon_expert_rows_single")),
        pack_(128 / bits(types.inputs.at(0))) {}

  size_t configure(const runtime::Shapes& shapes) override {
    auto& p = parameters_;
    const Dims& y = shapes.outputs[0].dims;
    p.sources = shapes.inputs[0].dims[1];
    p.experts = shapes.inputs[2].dims[0];
    p.depth = shapes.inputs[2].dims[1];
    p.perToken = y[1];
    p.columns = y[2];
    p.rows = y[0] * y[1];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = parameters_;
    if (p.rows * p.columns == 0) return;
    p.x = arguments.inputs[0];
    p.chosen = arguments.inputs[1];
    p.weights = arguments.inputs[2];
    p.y = arguments.outputs[0];
    const bool inPacks = p.columns % pack_ == 0 && isAligned(p.weights, 16);
    const bool isWhole = inPacks && p.rows * tilesOf(kRowColumns) >= 2 * multiprocessors();
    p.columnTiles = tilesOf(isWhole ? kRowColumns : kRowColumns / 2);
    launchThreads(isWhole   ? whole_
                  : inPacks ? half_
                            : single_,
                  p.rows * p.columnTiles * kExpertThreads, &p, arguments.stream, kExpertThreads);
  }

 private:
  int64_t tilesOf(int64_t columns) const { return (parameters_.columns + columns - 1) / columns; }

  CUfunction whole_;
  CUfunction half_;
  CUfunction single_;
  int64_t pack_;
  ExpertParameters parameters_;
};

}  // namespace

KernelRow kernelRow_expert_rows() { return ownRow<ops::ExpertMatMul, ExpertRowsInstance>("expert_rows"); }

}  // namespace tenon::backends::cuda
