// When the rows of a product by warpgroups are normalized by the clusters that compute them.
#include "backends/cuda/kernels/mma90/mma90.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kMost = 6, kMostMore = 8;  // candidates

class RowsTactic final : public OwnTacticOf<ops::Composite> {
 public:
  RowsTactic() : OwnTacticOf("cuda.mma90_rows", Formats::kLinear, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    return mma90Variants(compile::rowMajor(name(), problem), shapesOf(problem, problem.more == 0 ? kMost : kMostMore));
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const LinearOperands operands(problem);
    auto record = OwnTactic::build(problem, candidate);
    const auto product = Mma90RowsComposite(problem.op).productOf(operands.shapes);
    record.params = Mma90Record::params(product.shapes(), Mma90Weights::of(product.shapes(), 0, 1, false),
                                        Mma90Shape::parse(candidate.variant));
    return record;
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const Mma90RowsComposite op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    if (!switchedOn("TENON_CUDA_NORMALIZED_ROWS", true)) return compile::no("TENON_CUDA_NORMALIZED_ROWS is 0");
    const LinearOperands operands(problem);
    if (const auto refusal = op.shapesRefusal(operands.shapes); !refusal.empty()) return compile::no("{}", refusal);
    const auto product = op.productOf(operands.shapes);
    const ops::Operator matmul = op.product;
    compile::Problem inner{matmul, problem.inputs, {problem.outputs[0]}, problem.symbols, problem.tf32, problem.more};
    inner.inputs.resize(product.inputs.size());
    if (auto support = mma90Support(op.product, product.shapes(), inner); !support) return support;
    const auto shapes = shapesOf(problem, 1);
    if (shapes.empty()) return compile::no("{} columns are no whole blocks of a cluster", columnsOf(problem));
    auto record = OwnTactic::build(problem, compile::rowMajor(name(), problem));
    record.params =
        Mma90Record::params(product.shapes(), Mma90Weights::of(product.shapes(), 0, 1, false), shapes.front());
    if (!Mma90Record(op.product, record).mayCarry())
      return compile::no("the epilogue reads several tensors like the result, or one of another type");
    return compile::yes();
  }

 private:
  static int64_t columnsOf(const compile::Problem& problem) {
    const auto& y = problem.outputs[0].dims;
    return y[y.rank - 1];
  }
  static std::vector<Mma90Shape> shapesOf(const compile::Problem& problem, size_t most) {
    const LinearOperands operands(problem);
    const auto product = Mma90RowsComposite(problem.op).productOf(operands.shapes);
    return mma90RowsShapes(problem.outputs[0].dims.count() / columnsOf(problem),
                           Mma90Weights::of(product.shapes(), 0, 1, false), most);
  }
};

}  // namespace

const compile::Tactic& tactic_mma90_rows() {
  static const RowsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
