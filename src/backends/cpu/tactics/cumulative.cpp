// When running sums are computed.
#include "ops/op/cumulative.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class CumulativeTactic final : public SimpleTactic {
 public:
  CumulativeTactic() : SimpleTactic("cpu.cumulative", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Cumulative>() == nullptr) return compile::no("it computes running sums");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_cumulative() {
  static const CumulativeTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
