// When recurrent networks run by panels of units.
#include "ops/op/recurrent.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class RecurrentTactic final : public SimpleTactic {
 public:
  RecurrentTactic() : SimpleTactic("cpu.recurrent", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Recurrent>();
    if (op == nullptr) return compile::no("it computes steps of recurrent networks");
    if (problem.inputs[0].dtype != DataType::kF32)
      return compile::no("values of {}; expected f32", tenon::name(problem.inputs[0].dtype));
    return op->takesInput ? takesInput(*op, problem) : compile::yes();
  }

 private:
  // Both matrices lie together then.
  static compile::Support takesInput(const ops::Recurrent& op, const compile::Problem& problem) {
    if (problem.inputs[0].dims[0] != 1)
      return compile::no("{} steps with their input; expected one", problem.inputs[0].dims[0]);
    if (op.cell == ops::Cell::kGru) return compile::no("a GRU with its input, whose product stands apart");
    if (problem.inputs[1].constant == nullptr ||
        problem.inputs[static_cast<size_t>(op.places().inputWeights)].constant == nullptr)
      return compile::no("an input with weights that are no constants");
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_recurrent() {
  static const RecurrentTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
