// When pairs of columns are turned.
#include "ops/op/rotate_pairs.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class RotatePairsTactic final : public SimpleTactic {
 public:
  RotatePairsTactic() : SimpleTactic("cpu.rotate_pairs", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    return problem.op.as<ops::RotatePairs>() == nullptr ? compile::no("it computes rotate_pairs") : compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_rotate_pairs() {
  static const RotatePairsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
