// When the GEMV-like matmul (few rows) can be used.
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

class SkinnyMatMulTactic final : public OwnTacticOf<ops::MatMul> {
 public:
  SkinnyMatMulTactic() : OwnTacticOf("cuda.skinny_matmul", Formats::kLinear, kDepthwiseRank) {}

 protected:
  compile::Support acceptsOp(const ops::MatMul& op, const compile::Problem& problem) const override {
    if (!op.transposeB) return compile::no("the second operand is not [columns,inner]");
    const Dims& y = problem.outputs[0].dims;
    if (auto support = flatProduct(op, problem); !support) return support;
    const int64_t rows = y.count(0, y.rank - 1);
    if (rows > kMostSkinnyRows) return compile::no("{} rows; at most {} are supported", rows, kMostSkinnyRows);
    return {directUnsupported(op.epilogue, inputTypes(problem), 2)};
  }
};

}  // namespace

const compile::Tactic& tactic_skinny_matmul() {
  static const SkinnyMatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
