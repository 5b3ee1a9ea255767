// Flash attention on tensor cores: one candidate per tile shape that may be the fastest.
#include "backends/cuda/kernels/attention/attention_forms_tactic.h"
#include "backends/cuda/kernels/attention/flash_attention.h"

namespace tenon::backends::cuda {
namespace {

using compile::no;
using compile::Problem;

constexpr int kRank = 30;  // ahead of cuda.attention

class FlashAttentionTactic final : public AttentionFormsTactic<FlashChoice> {
 public:
  std::string_view name() const override { return "cuda.flash_attention"; }
  compile::Support supports(const Problem& problem) const override {
    if (problem.op.as<ops::Attention>() == nullptr) return no("it computes attention");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    return {flashRefusal(problemOf(problem))};
  }

 protected:
  std::vector<FlashChoice> choices(const Problem& problem) const override {
    return flashChoices(problemOf(problem), problem.tf32, mayGrow(problem));
  }
  int firstRank(const Problem&) const override { return kRank; }

 private:
  // Whether there may be more keys, or more rows, at run time: they stand in front of the last axis.
  static bool mayGrow(const Problem& problem) {
    const bool isPacked = problem.op.as<ops::Attention>()->packed;
    for (size_t i = 0; i < (isPacked ? 1u : 2u); ++i) {
      const auto& operand = problem.inputs[i];
      if ((operand.openAxes >> (operand.dims.rank - 2) & 1) != 0) return true;
    }
    return false;
  }
};

}  // namespace

const compile::Tactic& tactic_flash_attention() {
  static const FlashAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
