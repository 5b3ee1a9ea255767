// Changes between the formats that are strided layouts.
#include "ops/op/reformat.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

bool isStrided(Layout format) { return format == Layout::kLinear || format == Layout::kChannelsLast; }

class ReformatTactic final : public OwnTacticOf<ops::Reformat> {
 public:
  ReformatTactic() : OwnTacticOf("cuda.reformat", Formats::kLinear, 10) {}
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Reformat>();
    return {{std::string(name()), "", {op->from}, {op->to}}};
  }

 protected:
  compile::Support acceptsOp(const ops::Reformat& op, const compile::Problem& problem) const override {
    if (!isStrided(op.from) || !isStrided(op.to)) return compile::no("channel-blocked layouts are not supported");
    if (problem.inputs[0].dims.rank < 3)
      return compile::no("a tensor of {} dimensions has no channels-last layout", problem.inputs[0].dims.rank);
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_reformat() {
  static const ReformatTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
