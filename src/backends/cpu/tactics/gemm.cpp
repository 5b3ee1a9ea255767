// When the own matmul over packed panels can be used.
#include "backends/cpu/tactics/common/tile_support.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

class GemmTactic final : public SimpleTactic {
 public:
  GemmTactic() : SimpleTactic("cpu.gemm", false, 15) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return compile::no("it computes matmul");
    if (const auto fits = tileEpilogueFits(problem, op->epilogue, 2, problem.outputs[0].dims.rank - 1); !fits)
      return fits;
    return onlyF32(problem);
  }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    allowOverwriting(problem, 2, result);
    return result;
  }
  // Without a measurement: packing a matrix for the sake of a few rows costs more than their product.
  int rank(const compile::Problem& problem, const compile::Candidate&) const override {
    constexpr int64_t kFewRows = 4;
    const auto& y = problem.outputs[0].dims;
    return problem.inputs[1].constant != nullptr || y[y.rank - 2] >= kFewRows ? 15 : 25;
  }
};

}  // namespace

const compile::Tactic& tactic_gemm() {
  static const GemmTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
