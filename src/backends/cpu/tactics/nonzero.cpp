// When elements that are not zero are found.
#include "ops/op/nonzero.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class NonZeroTactic final : public SimpleTactic {
 public:
  NonZeroTactic() : SimpleTactic("cpu.nonzero", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::NonZero>() == nullptr) return compile::no("it looks for elements that are not zero");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_nonzero() {
  static const NonZeroTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
