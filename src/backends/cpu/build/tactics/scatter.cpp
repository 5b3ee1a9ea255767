// Scatter of whole bytes.
#include "ops/op/scatter.h"

#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ScatterTactic final : public SimpleTactic {
 public:
  ScatterTactic() : SimpleTactic("cpu.scatter", false, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    if (problem.op.as<ops::Scatter>() == nullptr) return build::no("it computes scatter");
    if (bits(problem.inputs[0].dtype) < 8) return build::no("elements of {} bits", bits(problem.inputs[0].dtype));
    return build::yes();
  }
};

}  // namespace

const build::Tactic& tactic_scatter() {
  static const ScatterTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
