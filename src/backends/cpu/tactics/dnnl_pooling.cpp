// When oneDNN pools.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/pooling.h"

namespace tenon::backends::cpu {
namespace {

class PoolingTactic final : public SimpleTactic {
 public:
  PoolingTactic() : SimpleTactic("cpu.dnnl_pooling", true, 20) {}
  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pooling>();
    if (op == nullptr) return compile::no("it computes pooling");
    if (problem.inputs[0].dims.count() == 0 && problem.outputs[0].dims.count() != 0)
      return compile::no("oneDNN does not write the output of pooling over an empty input");
    if (op->type == ops::PoolingType::kMaxAverageBlend)
      return compile::no("blended maximum and average pooling is not supported");
    if (op->isDilated()) return compile::no("windows with dilations are not supported");
    if (op->type == ops::PoolingType::kAverage && !op->exclusive && op->ceilMode) {
      return compile::no("with ceil mode, windows that reach beyond the padding are averaged differently");
    }
    for (size_t i = 0; i < op->window.size(); ++i) {
      for (const auto* padding : {&op->prePadding, &op->postPadding}) {
        if (padding->empty()) continue;
        if (!(*padding)[i].isConstant()) return compile::no("the padding depends on a dynamic extent");
        if ((*padding)[i].constant() < 0 || (*padding)[i].constant() >= op->window[i]) {
          return compile::no("padding of {} with a window of {}", (*padding)[i].constant(), op->window[i]);
        }
      }
    }
    if (op->ceilMode && !isLastWindowInside(*op, problem))
      return compile::no("with ceil mode, a window begins beyond the padding");
    return onlyF32(problem);
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    addBlockedCandidate(name(), problem, result);
    return result;
  }

 private:
  // Rounding up pads more; oneDNN wants less padding than the window is long, at every shape.
  static bool isLastWindowInside(const ops::Pooling& op, const compile::Problem& problem) {
    for (size_t i = 0; i < op.window.size(); ++i) {
      const auto padding = [&](const Shape& all) { return all.empty() ? 0 : all[i].constant(); };
      const int64_t stride = op.strides.empty() ? 1 : op.strides[i];
      const int axis = static_cast<int>(i) + 2;
      const int64_t after = problem.symbols.empty() ? (problem.outputs[0].dims[axis] - 1) * stride + op.window[i] -
                                                          problem.inputs[0].dims[axis] - padding(op.prePadding)
                                                    : padding(op.postPadding) + stride - 1;
      if (after >= op.window[i]) return false;
    }
    return true;
  }
};

}  // namespace

const compile::Tactic& tactic_dnnl_pooling() {
  static const PoolingTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
