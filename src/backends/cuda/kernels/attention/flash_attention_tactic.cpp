// Flash attention on tensor cores: one candidate per tile shape that may be the fastest.
#include <algorithm>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

constexpr int kRank = 30;  // ahead of cuda.attention

dnn::AttentionProblem problemOf(const Problem& problem) {
  const LinearOperands operands(problem);
  return dnn::attentionProblem(*problem.op.as<ops::Attention>(), operands.shapes);
}

class FlashAttentionTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.flash_attention"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::Attention>();
    if (op == nullptr) return no("it computes attention");
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    return {flashRefusal(problemOf(problem))};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result;
    for (const auto& choice : choices(problem)) {
      result.push_back(compile::rowMajor(name(), problem));
      result.back().variant = choice.text();
    }
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    return {"cuda", "flash_attention", 1, problem.op.text(), candidate.variant, -1};
  }
  std::vector<std::byte> nativeCode(const Problem&, const Candidate& candidate,
                                    const plan::KernelRecord&) const override {
    return compile(FlashChoice::parse(candidate.variant).code().source(), computeCapability());
  }
  int rank(const Problem& problem, const Candidate& candidate) const override {
    const auto all = choices(problem);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const FlashChoice& choice) { return choice.text() == candidate.variant; });
    return kRank + static_cast<int>(found - all.begin());
  }

 private:
  static std::vector<FlashChoice> choices(const Problem& problem) {
    return flashChoices(problemOf(problem), problem.tf32, !problem.symbols.empty());
  }
};

}  // namespace

const compile::Tactic& tactic_flash_attention() {
  static const FlashAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
