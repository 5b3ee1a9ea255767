// The tactic of the device without hardware: two variants of everything, so that there is something to choose.
#include "compile/tactics/tactic.h"

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
    const std::vector<Format> inputs(problem.inputs.size(), Format::kLinear);
    const std::vector<Format> outputs(problem.outputs.size(), Format::kLinear);
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
