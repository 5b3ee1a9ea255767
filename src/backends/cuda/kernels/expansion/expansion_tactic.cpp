// When a pointwise and a depthwise convolution are one kernel.
#include <algorithm>

#include "backends/cuda/kernels/expansion/expansion.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "core/environment.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kExpansionRank = 12;

class ExpansionTactic final : public OwnTacticOf<ops::Composite> {
 public:
  ExpansionTactic() : OwnTacticOf("cuda.expansion", Formats::kLinear, kExpansionRank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto candidate = compile::rowMajor(name(), problem);
    candidate.inputs[0] = candidate.outputs[0] = Layout::kChannelsLast;
    std::vector<compile::Candidate> result;
    for (const auto& shape : shapesOf(problem)) {
      result.push_back(candidate);
      result.back().variant = shape.tile();
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = OwnTactic::build(problem, candidate);
    const ExpansionOp op(problem.op);
    const auto& w = problem.inputs[1].dims;
    const auto& v = problem.inputs[op.secondWeights()].dims;
    record.params = fmt::format("[{},{},{},{}]{} {}", w[0], w[1], v[2], v[3], candidate.variant, record.params);
    return record;
  }
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto all = shapesOf(problem);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const ExpansionShape& shape) { return shape.tile() == candidate.variant; });
    return kExpansionRank + static_cast<int>(found - all.begin());
  }

 protected:
  compile::Support acceptsOp(const ops::Composite&, const compile::Problem& problem) const override {
    const ExpansionOp op(problem.op);
    if (!op.refusal.empty()) return compile::no("{}", op.refusal);
    if (!switchedOn("TENON_CUDA_EXPANSION", true)) return compile::no("TENON_CUDA_EXPANSION is 0");
    const LinearOperands operands(problem);
    if (auto refusal = op.shapesRefusal(operands.shapes); !refusal.empty()) return compile::no("{}", refusal);
    for (size_t i = 1; i < op.operands(); ++i) {
      if (problem.inputs[i].constant == nullptr) return compile::no("weights that are not constant");
    }
    if (shapesOf(problem).empty()) return compile::no("no tile has room in shared memory");
    return {};
  }

 private:
  static std::vector<ExpansionShape> shapesOf(const compile::Problem& problem) {
    const ExpansionOp op(problem.op);
    return expansionShapes(op, problem.outputs[0].dims, problem.inputs[1].dims,
                           problem.inputs[op.secondWeights()].dims);
  }
};

}  // namespace

const compile::Tactic& tactic_expansion() {
  static const ExpansionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
