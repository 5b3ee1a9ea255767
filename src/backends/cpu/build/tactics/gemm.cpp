// When the own product with packed weights can be used.
#include "backends/cpu/build/tile_support.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

class GemmTactic final : public SimpleTactic {
 public:
  GemmTactic() : SimpleTactic("cpu.gemm", false, 15) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return build::no("it computes matrix products");
    const auto& a = problem.inputs[0];
    const auto& b = problem.inputs[1];
    if (b.constant == nullptr || b.dims.rank != 2) return build::no("the second operand is no constant matrix");
    if (op->transposeA || a.dims.rank < 2) return build::no("the first operand is transposed or a vector");
    if (const auto fits = tileEpilogueFits(problem, op->epilogue, 2, problem.outputs[0].dims.rank - 1); !fits) return fits;
    return onlyF32(problem);
  }
  // Without a measurement: the library is faster where there is enough work to pay for its calls.
  int rank(const build::Problem& problem, const build::Candidate&) const override {
    constexpr int64_t kMuch = 4'000'000;
    const auto& a = problem.inputs[0].dims;
    return problem.outputs[0].dims.count() * a[a.rank - 1] < kMuch ? 15 : 25;
  }
};

}  // namespace

const build::Tactic& tactic_gemm() {
  static const GemmTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
