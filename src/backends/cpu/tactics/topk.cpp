// When the best elements are selected.
#include "ops/op/topk.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class TopKTactic final : public SimpleTactic {
 public:
  TopKTactic() : SimpleTactic("cpu.topk", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::TopK>() == nullptr) return compile::no("it selects the best elements");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_topk() {
  static const TopKTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
