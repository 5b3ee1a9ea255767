// When cuDNN computes attention.
#include "backends/cuda/build/tactic_util.h"
#include "backends/cuda/run/cudnn_attention.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

using build::Candidate;
using build::no;
using build::Problem;
using build::Support;

constexpr size_t kMost = 6;

class CudnnAttentionTactic final : public build::Tactic {
 public:
  std::string_view name() const override { return "cuda.cudnn_attention"; }
  // Engines are numbered by release of cuDNN.
  int version() const override { return 1'000'000 + dnn::library().version; }
  Support supports(const Problem& problem) const override {
    const auto* op = problem.op.as<ops::Attention>();
    if (op == nullptr) return no("it computes attention");
    if (!dnn::library().missing.empty()) return no("{}", dnn::library().missing);
    const LinearOperands operands(problem);
    const auto refusal = dnn::attentionRefusal(dnn::attentionProblem(*op, operands.shapes));
    if (!refusal.empty()) return no("{}", refusal);
    // Measured on an H200 with cuDNN 9.19: cases of half types are wrong or end in a misaligned access.
    return no("its values differ from the reference's on a GPU; cuda.attention computes it");
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result;
    const LinearOperands operands(problem);
    try {
      const auto graph = dnn::attentionGraph(dnn::Chip::here(), dnn::attentionProblem(*problem.op.as<ops::Attention>(), operands.shapes));
      for (auto& engine : graph.graph.propose(dnn::HeuristicMode::kA, dnn::Math::kAny, kMost)) {
        result.push_back(linearCandidate(name(), problem));
        result.back().variant = dnn::Choice{dnn::Fusion::kWhole, dnn::Math::kAny, std::move(engine)}.text();
      }
    } catch (const Unsupported&) {
      // No engine takes the graph.
    }
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    return {"cuda", "cudnn_attention", 1, problem.op.text(), candidate.variant, -1};
  }
  int rank(const Problem&, const Candidate&) const override { return 10; }
};

}  // namespace

const build::Tactic& tactic_cudnn_attention() {
  static const CudnnAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
