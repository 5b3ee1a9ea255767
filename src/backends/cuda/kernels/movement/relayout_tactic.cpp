// Changes of layout that are a few strided copies, one of them or both with blocks or padding.
#include "backends/cuda/tactics/own_tactic.h"
#include "core/relayout.h"
#include "ops/op/reformat.h"

namespace tenon::backends::cuda {
namespace {

class RelayoutTactic final : public OwnTacticOf<ops::Reformat> {
 public:
  RelayoutTactic() : OwnTacticOf("cuda.relayout", Formats::kLinear, 20) {}
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Reformat>();
    return {{std::string(name()), "", {op->from}, {op->to}}};
  }

 protected:
  compile::Support acceptsOp(const ops::Reformat& op, const compile::Problem& problem) const override {
    const auto& dims = problem.inputs[0].dims;
    const auto isInner = [](Layout layout) { return layout == Layout::kLinear || layout == Layout::kChannelsLast; };
    if (isInner(op.from) && isInner(op.to)) return compile::no("cuda.reformat does it in one copy");
    if (!op.from.fits(dims.rank) || !op.to.fits(dims.rank))
      return compile::no("{} axes have no such layout", dims.rank);
    try {
      (void)relayout(dims, op.from, op.to);
    } catch (const Error& error) {
      return compile::no("{}", error.what());
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_relayout() {
  static const RelayoutTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
