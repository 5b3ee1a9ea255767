// When recurrent networks run by panels of units.
#include "ops/op/recurrent.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class RecurrentTactic final : public SimpleTactic {
 public:
  RecurrentTactic() : SimpleTactic("cpu.recurrent", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Recurrent>() == nullptr) return compile::no("it computes steps of recurrent networks");
    if (problem.inputs[0].dtype != DataType::kF32)
      return compile::no("values of {}; expected f32", tenon::name(problem.inputs[0].dtype));
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_recurrent() {
  static const RecurrentTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
