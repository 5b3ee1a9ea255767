// When cuBLASLt multiplies matrices.
#include "backends/cuda/build/tactic_util.h"
#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_code.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda {
namespace {

using build::Candidate;
using build::no;
using build::Problem;
using build::Support;
using build::yes;

class MatMulTactic final : public build::Tactic {
 public:
  std::string_view name() const override { return "cuda.cublaslt_matmul"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::MatMul>();
    if (op == nullptr) return no("it computes matrix products");
    if (!blasLt().missing.empty()) return no("{}", blasLt().missing);
    for (const auto type : inputTypes(problem)) {
      if (type != DataType::kF32) return no("operands of {}; it computes in f32", tenon::name(type));
    }
    const auto& y = problem.outputs[0].dims;
    for (size_t i = 0; i < 2; ++i) {
      const auto& dims = problem.inputs[i].dims;
      if (dims.count() == 0) return no("operand {} is empty", i);
      const int64_t batch = dims.count(0, dims.rank - 2);
      if (batch != 1 && batch != y.count(0, y.rank - 2)) return no("operand {} broadcasts some batch axes and not others", i);
    }
    if (op->epilogue.inputCount() > kMaxOperands) return no("an epilogue of {} inputs", op->epilogue.inputCount());
    return yes();
  }
  std::vector<Candidate> candidates(const Problem& problem) const override { return {linearCandidate(name(), problem)}; }
  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    return {"cuda", "cublaslt_matmul", 1, problem.op.text(), "", -1};
  }
  int rank(const Problem&, const Candidate&) const override { return 10; }
};

}  // namespace

const build::Tactic& tactic_cublaslt_matmul() {
  static const MatMulTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
