// When an image is sampled at the places of a grid.
#include "ops/op/grid_sample.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class GridSampleTactic final : public SimpleTactic {
 public:
  GridSampleTactic() : SimpleTactic("cpu.grid_sample", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::GridSample>() == nullptr) return compile::no("it samples an image at places of a grid");
    for (const auto& input : problem.inputs) {
      if (input.dtype != DataType::kF32) return compile::no("operands of {}; expected f32", tenon::name(input.dtype));
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_grid_sample() {
  static const GridSampleTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
