// When a few strided copies change a layout: layouts of inputs and outputs that no other kernel reads or writes.
#include "core/relayout.h"
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "core/storage.h"
#include "ops/op/reformat.h"

namespace tenon::backends::cpu {
namespace {

class RelayoutTactic final : public SimpleTactic {
 public:
  RelayoutTactic() : SimpleTactic("cpu.relayout", false, 20) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Reformat>();
    if (op == nullptr) return compile::no("it computes {}", ops::Reformat::kName);
    const auto& x = problem.inputs[0];
    if (bits(x.dtype) < 8) return compile::no("elements of {} bits", bits(x.dtype));
    const auto isInner = [&](Layout layout) {
      const bool isWhole = x.dims.rank == 4 && x.dims[1] % channelBlock(layout) == 0;
      return layout == Layout::kLinear || layout == Layout::kChannelsLast ||
             ((layout == Layout::kBlocked8 || layout == Layout::kBlocked16) && isWhole);
    };
    if (isInner(op->from) && isInner(op->to)) return compile::no("cpu.movement does it in one copy");
    if (!op->from.fits(x.dims.rank) || !op->to.fits(x.dims.rank))
      return compile::no("{} axes have no such layout", x.dims.rank);
    try {
      (void)relayout(x.dims, op->from, op->to);
    } catch (const Error& error) {
      return compile::no("{}", error.what());
    }
    return compile::yes();
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Reformat>();
    return {{std::string(name()), "", {op->from}, {op->to}}};
  }
  int rank(const compile::Problem&, const compile::Candidate&) const override { return 20; }
};

}  // namespace

const compile::Tactic& tactic_relayout() {
  static const RelayoutTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
