// When overlapping boxes are left out.
#include "ops/op/padded_nms.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class PaddedNmsTactic final : public SimpleTactic {
 public:
  PaddedNmsTactic() : SimpleTactic("cpu.padded_nms", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::PaddedNms>() == nullptr) return compile::no("it leaves out boxes that better ones overlap");
    if (problem.inputs[0].dtype != DataType::kF32) {
      return compile::no("values of {}; expected f32", tenon::name(problem.inputs[0].dtype));
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_padded_nms() {
  static const PaddedNmsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
