// The plain attention kernel, for what flash attention does not support: odd head sizes, keys and values of different
// widths, masks that broadcast over a leading axis but not over the one before it.
#include "backends/cuda/kernels/attention/attention_problem.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/tactics/own_tactic.h"
#include "ops/op/attention.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kWidest = 1024;  // columns of a head that the kernel has room for
constexpr int kRank = 50;
// Multiply-adds of one execution that tensor cores do not take in halves either; from these on two products and a
// softmax are quicker, launches and all.
constexpr double kMuch = 1 << 22;

class AttentionTactic final : public OwnTacticOf<ops::Attention> {
 public:
  AttentionTactic() : OwnTacticOf("cuda.attention", Formats::kLinear, kRank) {}

  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto* op = problem.op.as<ops::Attention>();
    if (op == nullptr) return OwnTacticOf::rank(problem, candidate);
    const LinearOperands operands(problem);
    auto p = dnn::attentionProblem(*op, operands.shapes);
    p.type = DataType::kF16;  // which passes do not know yet
    if (flashRefusal(p).empty()) return kRank;
    const double work = static_cast<double>(p.batch * p.heads) * static_cast<double>(p.queries * p.keys) *
                        static_cast<double>(p.width + p.valueWidth);
    return work < kMuch ? kRank : compile::kSlowRank;
  }

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
