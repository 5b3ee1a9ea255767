// When regions of maps are sampled.
#include "ops/op/roi_align.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class RoiAlignTactic final : public SimpleTactic {
 public:
  RoiAlignTactic() : SimpleTactic("cpu.roi_align", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::RoiAlign>() == nullptr) return compile::no("it samples regions of maps");
    if (problem.inputs[2].dtype != DataType::kF32) {
      return compile::no("values of {}; expected f32", tenon::name(problem.inputs[2].dtype));
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_roi_align() {
  static const RoiAlignTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
