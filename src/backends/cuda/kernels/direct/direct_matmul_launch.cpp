// Matmul without a library: any type and any broadcast of batches.
#include "backends/cuda/kernels/direct/direct.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

Dims batchOf(const Dims& dims) {
  Dims batch = dims;
  batch.rank -= 2;
  return batch;
}

// Strides of an operand's batch axes within those of the result, in elements.
Strides batchStrides(const Dims& dims, const Dims& y) {
  auto strides = stridesWithin(batchOf(dims), Layout::kLinear, batchOf(y));
  for (auto& stride : strides) stride *= dims[dims.rank - 2] * dims[dims.rank - 1];
  return strides;
}

class MatMulInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::MatMul& op, const Types& types) {
    return directCode("matmul.cuh", "multiply", "MatMulParameters", op.epilogue, types, 2);
  }
  MatMulInstance(const ops::MatMul& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_direct")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& a = shapes.inputs[0].dims;
    const Dims& b = shapes.inputs[1].dims;
    const Dims& y = shapes.outputs[0].dims;
    parameters_ = {};
    blocks_ = 0;
    if (y.count() == 0) return 0;
    auto& p = parameters_;
    p.rows = y[y.rank - 2];
    p.columns = y[y.rank - 1];
    p.inner = a[a.rank - (op_.transposeA ? 2 : 1)];
    p.aRow = op_.transposeA ? 1 : p.inner;
    p.aInner = op_.transposeA ? p.rows : 1;
    p.bInner = op_.transposeB ? 1 : p.columns;
    p.bColumn = op_.transposeB ? p.inner : 1;
    p.yBatch = p.rows * p.columns;
    // A batch number counts the result's leading axes in their order, so these are not collapsed.
    LoopSpace batches{{}, {{}, {}}};
    const auto aBatch = batchStrides(a, y);
    const auto bBatch = batchStrides(b, y);
    for (int axis = 0; axis + 2 < y.rank; ++axis) {
      batches.extents.push_back(y[axis]);
      batches.strides[0].push_back(aBatch[static_cast<size_t>(axis)]);
      batches.strides[1].push_back(bBatch[static_cast<size_t>(axis)]);
    }
    if (batches.extents.empty()) batches = {{1}, {{0}, {0}}};
    setSpace(p.batch, batches);
    p.rank = y.rank;
    std::copy(y.begin(), y.end(), p.extent);
    setStrides(0, stridesOf(y, Layout::kLinear));
    extras_ = shapes.inputs.size() - 2;
    for (size_t k = 0; k < extras_; ++k)
      setStrides(k + 1, stridesWithin(shapes.inputs[k + 2].dims, Layout::kLinear, y));
    const int64_t tilesM = (p.rows + kMatMulTile - 1) / kMatMulTile;
    const int64_t tilesN = (p.columns + kMatMulTile - 1) / kMatMulTile;
    p.tilesM = dividerBy(tilesM);
    p.tilesN = dividerBy(tilesN);
    blocks_ = tilesM * tilesN * p.batch.count;
    checkUser(blocks_ < int64_t{1} << 31, "matmul: {} tiles exceed the grid", blocks_);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    parameters_.a = arguments.inputs[0];
    parameters_.b = arguments.inputs[1];
    parameters_.data[0] = arguments.outputs[0];
    for (size_t k = 0; k < extras_; ++k) parameters_.data[k + 1] = arguments.inputs[k + 2];
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, 256, &parameters_, arguments.stream);
  }

 private:
  void setStrides(size_t operand, const Strides& strides) {
    std::copy(strides.begin(), strides.end(), parameters_.stride[operand]);
  }

  const ops::MatMul& op_;
  CUfunction function_;
  size_t extras_ = 0;
  int64_t blocks_ = 0;
  MatMulParameters parameters_;
};

}  // namespace

KernelRow kernelRow_direct_matmul() { return ownRow<ops::MatMul, MatMulInstance>("direct_matmul"); }

}  // namespace tenon::backends::cuda
