// When a product by warpgroups normalizes the rows that it reads, or measures those that it writes.

#include "backends/cuda/kernels/mma90/mma90.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

class CompositeTactic final : public OwnTacticOf<ops::Composite> {
 public:
  CompositeTactic() : OwnTacticOf("cuda.mma90_composite", Formats::kLinear, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const LinearOperands operands(problem);
    const Mma90Composite op(problem.op);
    const auto product = op.productOf(operands.shapes);
    return mma90Variants(compile::rowMajor(name(), problem),
                         mma90AllCandidates(product.shapes(), op.weightsOf(product), problem, op.keeps));
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const LinearOperands operands(problem);
    auto record = OwnTactic::build(problem, candidate);
    const Mma90Composite op(problem.op);
    const auto product = op.productOf(operands.shapes);
    record.params = Mma90Record::params(product.shapes(), op.weightsOf(product), Mma90Shape::parse(candidate.variant));
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const Mma90Composite op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    if (!switchedOn("TENON_CUDA_NORMALIZED_PRODUCTS", true)) return compile::no("TENON_CUDA_NORMALIZED_PRODUCTS is 0");
    const LinearOperands operands(problem);
    if (const auto refusal = op.shapesRefusal(operands.shapes); !refusal.empty()) return compile::no("{}", refusal);
    for (size_t i = 2; i < op.weights(); ++i) {
      if (problem.inputs[i].constant == nullptr) return compile::no("factors of the rows are not constant");
    }
    const auto product = op.productOf(operands.shapes);
    const ops::Operator matmul = op.product;
    compile::Problem inner{matmul, problem.inputs, {problem.outputs[0]}, problem.symbols, problem.tf32, problem.more};
    inner.inputs.erase(inner.inputs.begin() + 1, inner.inputs.begin() + static_cast<std::ptrdiff_t>(op.weights()));
    return mma90Support(op.product, product.shapes(), inner);
  }
};

}  // namespace

const compile::Tactic& tactic_mma90_composite() {
  static const CompositeTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
