// When row-major images can be pooled line by line.
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/pooling.h"

namespace tenon::backends::cpu {
namespace {

class LinePoolingTactic final : public SimpleTactic {
 public:
  LinePoolingTactic() : SimpleTactic("cpu.line_pooling", false, 18) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pooling>();
    if (op == nullptr) return compile::no("it computes pooling");
    if (op->window.empty() || op->window.size() > 3)
      return compile::no("{} spatial dimensions; 1 to 3 are supported", op->window.size());
    constexpr int64_t kMostColumns = 2048;
    const int64_t step = op->dilations.empty() ? 1 : op->dilations.back();
    if (op->window.back() > kMostColumns || step > kMostColumns || (op->window.back() - 1) * step >= kMostColumns)
      return compile::no("a window of {} columns with a dilation of {}; it may reach over {} at most",
                         op->window.back(), step, kMostColumns);
    for (const int64_t stride : op->strides) {
      if (stride > kMostColumns) return compile::no("a stride of {}; at most {} are supported", stride, kMostColumns);
    }
    for (const auto* padding : {&op->prePadding, &op->postPadding}) {
      for (const auto& extent : *padding) {
        if (extent.isConstant() && std::abs(extent.constant()) > (int64_t{1} << 40))
          return compile::no("a padding of {}", extent.constant());
      }
    }
    if (op->type != ops::PoolingType::kMax && !isFloating(problem.inputs[0].dtype))
      return compile::no("an average of {}; floating types are supported", tenon::name(problem.inputs[0].dtype));
    return onlyWholeBytes(problem);
  }
};

}  // namespace

const compile::Tactic& tactic_line_pooling() {
  static const LinePoolingTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
