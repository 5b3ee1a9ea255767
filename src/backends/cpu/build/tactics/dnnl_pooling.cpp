// When oneDNN pools.
#include "backends/cpu/build/simple_tactic.h"
#include "ops/op/pooling.h"

namespace tenon::backends::cpu {
namespace {

class PoolingTactic final : public SimpleTactic {
 public:
  PoolingTactic() : SimpleTactic("cpu.dnnl_pooling", true, 20) {}
  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pooling>();
    if (op == nullptr) return build::no("it computes pooling");
    if (op->type == ops::PoolingType::kMaxAverageBlend) return build::no("it has no blend of maximum and average");
    if (op->type == ops::PoolingType::kAverage && !op->exclusive && op->ceilMode) {
      return build::no("windows beyond the padding count cells differently");
    }
    for (size_t i = 0; i < op->window.size(); ++i) {
      for (const auto* padding : {&op->prePadding, &op->postPadding}) {
        if (padding->empty()) continue;
        if (!(*padding)[i].isConstant()) return build::no("padding depends on the shape");
        if ((*padding)[i].constant() < 0 || (*padding)[i].constant() >= op->window[i]) {
          return build::no("padding of {} with a window of {}", (*padding)[i].constant(), op->window[i]);
        }
      }
    }
    return onlyF32(problem);
  }
};

}  // namespace

const build::Tactic& tactic_dnnl_pooling() {
  static const PoolingTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
