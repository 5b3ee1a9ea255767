// Matrix products with few rows.
#include "backends/cuda/build/direct_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

class SkinnyMatMulTactic final : public OwnTacticOf<ops::MatMul> {
 public:
  SkinnyMatMulTactic() : OwnTacticOf("cuda.skinny_matmul", Formats::kLinear, kDepthwiseRank) {}

 protected:
  build::Support acceptsOp(const ops::MatMul& op, const build::Problem& problem) const override {
    const Dims& b = problem.inputs[1].dims;
    const Dims& y = problem.outputs[0].dims;
    if (op.transposeA || !op.transposeB) return build::no("the operands are not [rows,inner] and [columns,inner]");
    if (b.count(0, b.rank - 2) != 1) return build::no("a batch of second operands");
    const int64_t rows = y.count(0, y.rank - 1);
    if (rows > kMostSkinnyRows) return build::no("{} rows; it takes {}", rows, kMostSkinnyRows);
    // What does not repeat is as large as the result, whatever the batch.
    for (size_t i = 2; i < problem.inputs.size(); ++i) {
      const Dims& extra = problem.inputs[i].dims;
      const bool row = extra.count() == 1 || (extra.rank > 0 && extra.count() == extra[extra.rank - 1]);
      if (!row && extra.count() != y.count()) return build::no("an input of the epilogue repeats some rows");
      if (rows > 1 && !row && extra.rank != y.rank) return build::no("an input of the epilogue has {} axes, the result {}", extra.rank, y.rank);
    }
    return {directUnsupported(op.epilogue, inputTypes(problem), 2)};
  }
};

}  // namespace

const build::Tactic& tactic_skinny_matmul() {
  static const SkinnyMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
