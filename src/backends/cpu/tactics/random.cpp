// When random numbers are drawn.
#include "ops/op/random.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class RandomTactic final : public SimpleTactic {
 public:
  RandomTactic() : SimpleTactic("cpu.random", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Random>() == nullptr) return compile::no("it draws random numbers");
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_random() {
  static const RandomTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
