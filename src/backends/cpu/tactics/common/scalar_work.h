// What the block-wise runner of scalar expressions can compute.
#pragma once

#include <span>

#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/scalar.h"

namespace tenon::backends::cpu {

// "no" where an operand, a step or a result is of a type that it lacks, or where blocks of so many elements do not fit
// into its memory.
compile::Support scalarWorkSupport(const ops::ScalarExpr& expr, const compile::Problem& problem, size_t elements);

// Scalar work of every element by the block-wise runner: operators with an `expr`.
template <typename Op>
class BlockwiseTactic final : public SimpleTactic {
 public:
  BlockwiseTactic(std::string_view name, std::string_view computes)
      : SimpleTactic(name, true, 10), computes_(computes) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<Op>();
    if (op == nullptr) return compile::no("it computes {}", computes_);
    constexpr size_t kSmallestBlock = 64;
    return scalarWorkSupport(op->expr, problem, kSmallestBlock);
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    addBlockedCandidate(name(), problem, result);
    allowPitch(result);
    return result;
  }

 private:
  std::string_view computes_;
};

}  // namespace tenon::backends::cpu
