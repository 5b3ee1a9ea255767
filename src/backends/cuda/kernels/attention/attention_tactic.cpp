// The plain attention kernel, for what flash attention does not support: odd head sizes, keys and values of different
// widths, masks that broadcast over a leading axis but not over the one before it.
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/attention.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kWidest = 1024;  // columns of a head that the kernel has room for

class AttentionTactic final : public OwnTacticOf<ops::Attention> {
 public:
  AttentionTactic() : OwnTacticOf("cuda.attention", Formats::kLinear, 50) {}

 protected:
  compile::Support acceptsOp(const ops::Attention& op, const compile::Problem& problem) const override {
    const auto& q = problem.inputs[0].dims;
    const auto& y = problem.outputs[0].dims;
    const int64_t heads = std::max<int64_t>(op.heads, 1);
    const int64_t width = op.packed ? y[y.rank - 1] / heads : q[q.rank - 1] / heads;
    if (std::max(width, y[y.rank - 1] / heads) > kWidest)
      return compile::no("heads have more than {} columns", kWidest);
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_attention() {
  static const AttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
