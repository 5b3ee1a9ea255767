// When the row-wise normalization can be used.
#include "ops/op/normalization.h"

#include <algorithm>

#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

class NormalizationTactic final : public SimpleTactic {
 public:
  NormalizationTactic() : SimpleTactic("cpu.normalization", false, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Normalization>();
    if (op == nullptr) return compile::no("it normalizes");
    const Dims& x = problem.inputs[0].dims;
    constexpr int kSpare = 1;  // groups take an axis of their own
    if (x.rank + kSpare > kMaxRank) return compile::no("{} axes", x.rank);
    // Statistics over the innermost axes: behind the first one that counts, all do.
    std::vector<bool> reduced(static_cast<size_t>(x.rank), false);
    for (const int64_t axis : op->axes) reduced[static_cast<size_t>(axis < 0 ? axis + x.rank : axis)] = true;
    bool started = false;
    for (int axis = 0; axis < x.rank; ++axis) {
      const bool counts = reduced[static_cast<size_t>(axis)];
      if (op->groups > 1 && axis == 1) {
        started = true;
        continue;
      }
      if (started && !counts)
        return compile::no("the normalized axes are not innermost: axis {} is not normalized", axis);
      started = started || counts;
    }
    const auto type = problem.inputs[0].dtype;
    const auto isSame = [&](const auto& operand) { return operand.dtype == type; };
    if ((type == DataType::kF16 || type == DataType::kBF16) &&
        std::all_of(problem.inputs.begin(), problem.inputs.end(), isSame) &&
        std::all_of(problem.outputs.begin(), problem.outputs.end(), isSame))
      return compile::yes();
    return onlyF32(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_normalization() {
  static const NormalizationTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
