// When boxes are suppressed.
#include "ops/op/nms.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class NmsTactic final : public SimpleTactic {
 public:
  NmsTactic() : SimpleTactic("cpu.nms", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    if (problem.op.as<ops::Nms>() == nullptr) return compile::no("it suppresses boxes");
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_nms() {
  static const NmsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
