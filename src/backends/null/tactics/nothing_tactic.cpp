// The tactic of the device without hardware: two variants of everything, so that there is something to choose.
#include "compile/tactics/tactic.h"
#include "ops/op/reformat.h"

namespace tenon::backends {
namespace {

using compile::Candidate;
using compile::Problem;

class NothingTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "null.nothing"; }
  int version() const override { return 1; }
  compile::Support supports(const Problem&) const override { return compile::yes(); }

  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Layout> inputs(problem.inputs.size(), Layout::kLinear);
    std::vector<Layout> outputs(problem.outputs.size(), Layout::kLinear);
    if (const auto* reformat = problem.op.as<ops::Reformat>()) {
      inputs = {reformat->from};
      outputs = {reformat->to};
    }
    return {{std::string(name()), "a", inputs, outputs}, {std::string(name()), "b", inputs, outputs}};
  }

  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    return {"null", "nothing", 1, problem.op.text(), candidate.variant, -1};
  }

  int rank(const Problem&, const Candidate& candidate) const override { return candidate.variant == "a" ? 100 : 101; }
};

}  // namespace

compile::TacticSource tacticSource_null() {
  static const NothingTactic kNothing;
  static const compile::Tactic* const kTactics[] = {&kNothing};
  return {"null", kTactics};
}

}  // namespace tenon::backends
