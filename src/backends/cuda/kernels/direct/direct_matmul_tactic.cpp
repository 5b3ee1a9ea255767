// Generic matmul: a fallback after the libraries.
#include "backends/cuda/tactics/direct_tactic.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

class MatMulTactic final : public OwnTacticOf<ops::MatMul> {
 public:
  MatMulTactic() : OwnTacticOf("cuda.direct_matmul", Formats::kLinear, kDirectRank) {}

 protected:
  compile::Support acceptsOp(const ops::MatMul& op, const compile::Problem& problem) const override {
    return {directUnsupported(op.epilogue, inputTypes(problem), 2)};
  }
};

}  // namespace

const compile::Tactic& tactic_direct_matmul() {
  static const MatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
