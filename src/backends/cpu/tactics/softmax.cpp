// When the softmax kernel can be used.
#include "ops/op/softmax.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class SoftmaxTactic final : public SimpleTactic {
 public:
  SoftmaxTactic() : SimpleTactic("cpu.softmax", true, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Softmax>() == nullptr) return compile::no("it computes softmax");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_softmax() {
  static const SoftmaxTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
