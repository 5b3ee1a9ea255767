// When elements that are not zero are counted.
#include "ops/op/count_nonzero.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class CountNonZeroTactic final : public SimpleTactic {
 public:
  CountNonZeroTactic() : SimpleTactic("cpu.count_nonzero", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::CountNonZero>() == nullptr) return compile::no("it looks for elements that are not zero");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_count_nonzero() {
  static const CountNonZeroTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
