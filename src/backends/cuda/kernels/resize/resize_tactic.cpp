// Interpolation along up to three axes.
#include "ops/op/resize.h"

#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {
namespace {

class ResizeTactic final : public OwnTacticOf<ops::Resize> {
 public:
  ResizeTactic() : OwnTacticOf("cuda.resize", Formats::kAlsoChannelsLast, 10) {}

 protected:
  compile::Support acceptsOp(const ops::Resize& op, const compile::Problem& problem) const override {
    // Axes that keep their extent may still move by a given scale, so those that can change are counted.
    int changing = 0;
    for (int axis = 0; axis < problem.inputs[0].dims.rank; ++axis) {
      const auto at = static_cast<size_t>(axis);
      const bool grows = !op.shape[at].isConstant(problem.inputs[0].dims[axis]);
      changing += op.isScaled(at) || grows ? 1 : 0;
    }
    constexpr int kMost = 3;
    if (changing > kMost) return compile::no("{} axes change size; at most {} are supported", changing, kMost);
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_resize() {
  static const ResizeTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
