// When elements, named rows and batches are gathered: what gather along one axis leaves.
#include "ops/op/gather.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class GatherElementsTactic final : public SimpleTactic {
 public:
  GatherElementsTactic() : SimpleTactic("cpu.gather_elements", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Gather>();
    if (op == nullptr) return compile::no("it computes gather");
    if (op->mode == ops::GatherMode::kDefault && op->batchDims == 0)
      return compile::no("gather along one axis without batch axes is for cpu.gather");
    if (problem.inputs[1].dims.rank == 0) return compile::no("a scalar index");
    return anyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_gather_elements() {
  static const GatherElementsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
