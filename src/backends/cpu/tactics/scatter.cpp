// Scatter of whole bytes.
#include "ops/op/scatter.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ScatterTactic final : public SimpleTactic {
 public:
  ScatterTactic() : SimpleTactic("cpu.scatter", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Scatter>() == nullptr) return compile::no("it computes scatter");
    if (bits(problem.inputs[0].dtype) < 8)
      return compile::no("elements of {} bits are not supported", bits(problem.inputs[0].dtype));
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_scatter() {
  static const ScatterTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
