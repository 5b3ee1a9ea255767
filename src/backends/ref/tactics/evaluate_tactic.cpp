// The tactic that every problem has: the operator's own reference, on linear tensors, after all others.
#include <algorithm>

#include "compile/tactics/tactic.h"
#include "ops/op/plugin.h"
#include "ops/within.h"

namespace tenon::backends {
namespace {

using compile::Candidate;
using compile::Problem;
using compile::Support;

class EvaluateTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "ref.evaluate"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    if (problem.op.as<ops::Plugin>() != nullptr) return compile::no("a plugin has no reference");
    return ops::holds<ops::Plugin>(problem.op) ? compile::no("a plugin within it has no reference") : compile::yes();
  }

  std::vector<Candidate> candidates(const Problem& problem) const override {
    return {compile::rowMajor(name(), problem)};
  }

  plan::KernelRecord build(const Problem& problem, const Candidate&) const override {
    return {"ref", "evaluate", 1, problem.op.text(), "", -1};
  }

  int rank(const Problem&, const Candidate&) const override { return compile::kLastResortRank; }
};

}  // namespace

compile::TacticSource tacticSource_ref() {
  static const EvaluateTactic kEvaluate;
  static const compile::Tactic* const kTactics[] = {&kEvaluate};
  return {"ref", kTactics};
}

}  // namespace tenon::backends
