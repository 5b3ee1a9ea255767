// When the own pooling of channels-last images can be used.
#include "ops/op/pooling.h"

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class PoolingTactic final : public SimpleTactic {
 public:
  PoolingTactic() : SimpleTactic("cpu.pooling", true, 15) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pooling>();
    if (op == nullptr) return compile::no("it computes pooling");
    if (problem.inputs[0].dims.count() == 0 && problem.outputs[0].dims.count() != 0)
      return compile::no("the input is empty");
    if (op->window.size() != 2) return compile::no("{} spatial dimensions; only 2 are supported", op->window.size());
    if (op->type == ops::PoolingType::kMaxAverageBlend)
      return compile::no("blended maximum and average pooling is not supported");
    if (op->isDilated()) return compile::no("windows with dilations are not supported");
    // With rounding up a window may lie outside altogether, and then cells are counted differently.
    if (op->ceilMode && !isWithin(*op, problem)) return compile::no("with ceil mode, windows reach beyond the input");
    constexpr int64_t kMostTaps = 1024;
    if (op->window[0] * op->window[1] > kMostTaps)
      return compile::no("a window of {} elements; at most {} are supported", op->window[0] * op->window[1], kMostTaps);
    for (size_t i = 0; i < 2; ++i) {
      for (const auto* padding : {&op->prePadding, &op->postPadding}) {
        if (padding->empty()) continue;
        if (!(*padding)[i].isConstant()) return compile::no("the padding depends on a dynamic extent");
        if ((*padding)[i].constant() < 0 || (*padding)[i].constant() >= op->window[i]) {
          return compile::no("padding of {} with a window of {}", (*padding)[i].constant(), op->window[i]);
        }
      }
    }
    return onlyF32(problem);
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    result.erase(result.begin());  // row-major
    addBlockedCandidate(name(), problem, result);
    allowPitch(result);
    return result;
  }
  int rank(const compile::Problem&, const compile::Candidate& candidate) const override {
    return candidate.outputs[0] == Layout::kChannelsLast ? 15 : 40;
  }

 private:
  // A maximum needs one cell in each window; an average needs whole windows, since what it divides by depends on it.
  static bool isWithin(const ops::Pooling& op, const compile::Problem& problem) {
    if (!problem.symbols.empty()) return false;
    for (size_t i = 0; i < 2; ++i) {
      const int axis = static_cast<int>(i) + 2;
      const int64_t stride = op.strides.empty() ? 1 : op.strides[i];
      const int64_t before = op.prePadding.empty() || !op.prePadding[i].isConstant() ? 0 : op.prePadding[i].constant();
      const int64_t last = (problem.outputs[0].dims[axis] - 1) * stride - before;
      const int64_t reach = op.type == ops::PoolingType::kMax ? 1 : op.window[i];
      if (last + reach > problem.inputs[0].dims[axis]) return false;
    }
    return true;
  }
};

}  // namespace

const compile::Tactic& tactic_pooling() {
  static const PoolingTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
