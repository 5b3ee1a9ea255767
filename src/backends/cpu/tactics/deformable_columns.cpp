// When moved pixels become columns.
#include "ops/op/deformable_columns.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class DeformableColumnsTactic final : public SimpleTactic {
 public:
  DeformableColumnsTactic() : SimpleTactic("cpu.deformable_columns", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::DeformableColumns>() == nullptr) return compile::no("it makes columns of moved pixels");
    if (problem.inputs[0].dtype != DataType::kF32) {
      return compile::no("values of {}; expected f32", tenon::name(problem.inputs[0].dtype));
    }
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_deformable_columns() {
  static const DeformableColumnsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
