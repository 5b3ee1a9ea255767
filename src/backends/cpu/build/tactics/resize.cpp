// When the axis-by-axis resize can be used.
#include "ops/op/resize.h"

#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class ResizeTactic final : public SimpleTactic {
 public:
  ResizeTactic() : SimpleTactic("cpu.resize", true, 10) {}
  build::Support supports(const build::Problem& problem) const override {
    if (problem.op.as<ops::Resize>() == nullptr) return build::no("it resizes");
    return onlyF32(problem);
  }
};

}  // namespace

const build::Tactic& tactic_resize() {
  static const ResizeTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
