// When points are grouped by the cells of a grid.
#include "ops/op/pillars.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class PillarsTactic final : public SimpleTactic {
 public:
  PillarsTactic() : SimpleTactic("cpu.pillars", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    return problem.op.as<ops::Pillars>() != nullptr ? compile::yes() : compile::no("it groups points by cells");
  }
};

}  // namespace

const compile::Tactic& tactic_pillars() {
  static const PillarsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
