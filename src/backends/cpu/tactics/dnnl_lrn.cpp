// When oneDNN normalizes across channels.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/lrn.h"

namespace tenon::backends::cpu {
namespace {

class LrnTactic final : public SimpleTactic {
 public:
  LrnTactic() : SimpleTactic("cpu.dnnl_lrn", true, 20) {}
  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Lrn>();
    if (op == nullptr) return compile::no("it computes LRN");
    if (op->window % 2 == 0) return compile::no("a window of {}; only odd windows are supported", op->window);
    if (problem.inputs[0].dims.rank != 4)
      return compile::no("{} dimensions; only 4 are supported", problem.inputs[0].dims.rank);
    return onlyF32(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_dnnl_lrn() {
  static const LrnTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
