// When rows can be gathered by copying.
#include "ops/op/gather.h"

#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class GatherTactic final : public SimpleTactic {
 public:
  GatherTactic() : SimpleTactic("cpu.gather", false, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Gather>();
    if (op == nullptr) return build::no("it computes gather");
    if (op->mode != ops::GatherMode::kDefault || op->batchDims != 0) return build::no("it gathers along one axis without batch axes");
    if (bits(problem.inputs[0].dtype) < 8) return build::no("elements of {} bits", bits(problem.inputs[0].dtype));
    return build::yes();
  }
};

}  // namespace

const build::Tactic& tactic_gather() {
  static const GatherTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
