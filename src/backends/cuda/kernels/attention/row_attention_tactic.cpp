// Attention of few queries over many keys: one candidate for each number of blocks that share them.
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/attention/attention_forms_tactic.h"
#include "backends/cuda/kernels/attention/row_attention.h"

namespace tenon::backends::cuda {
namespace {

using compile::no;
using compile::Problem;

constexpr int kRank = 22;  // ahead of the other forms, which are for many rows

class RowAttentionTactic final : public AttentionFormsTactic<RowAttentionChoice> {
 public:
  std::string_view name() const override { return "cuda.row_attention"; }
  compile::Support supports(const Problem& problem) const override {
    if (problem.op.as<ops::Attention>() == nullptr) return no("it computes attention");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    return {rowAttentionRefusal(problemOf(problem))};
  }

 protected:
  std::vector<RowAttentionChoice> choices(const Problem& problem) const override {
    return rowAttentionChoices(problemOf(problem));
  }
  int firstRank(const Problem&) const override { return kRank; }
};

}  // namespace

const compile::Tactic& tactic_row_attention() {
  static const RowAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
