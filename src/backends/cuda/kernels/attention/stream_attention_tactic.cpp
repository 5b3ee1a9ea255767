// Attention of any number of keys by warpgroups: one candidate per tile shape that may be the fastest.
#include <algorithm>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/attention/stream_attention.h"
#include "backends/cuda/tactics/tactic_util.h"
#include "core/environment.h"
#include "ops/op/attention.h"

namespace tenon::backends::cuda {
namespace {

using compile::Candidate;
using compile::no;
using compile::Problem;
using compile::Support;

constexpr int kFewRank = 32;   // beside the forms of cuda.flash_attention
constexpr int kManyRank = 26;  // ahead of them
constexpr int64_t kManyKeys = 512;

dnn::AttentionProblem problemOf(const Problem& problem) {
  const LinearOperands operands(problem);
  return dnn::attentionProblem(*problem.op.as<ops::Attention>(), operands.shapes);
}

class StreamAttentionTactic final : public compile::Tactic {
 public:
  std::string_view name() const override { return "cuda.stream_attention"; }
  int version() const override { return 1; }
  Support supports(const Problem& problem) const override {
    if (problem.op.as<ops::Attention>() == nullptr) return no("it computes attention");
    if (const auto missing = streamMissing(); !missing.empty()) return no("{}", missing);
    if (!switchedOn("TENON_CUDA_STREAM_ATTENTION", true)) return no("TENON_CUDA_STREAM_ATTENTION is 0");
    return {streamRefusal(problemOf(problem))};
  }
  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result;
    for (const auto& choice : streamChoices(problemOf(problem))) {
      result.push_back(compile::rowMajor(name(), problem));
      result.back().variant = choice.text();
    }
    return result;
  }
  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    return {"cuda", "stream_attention", 1, problem.op.text(), candidate.variant, -1};
  }
  std::vector<std::byte> nativeCode(const Problem&, const Candidate& candidate,
                                    const plan::KernelRecord&) const override {
    return compile(StreamChoice::parse(candidate.variant).code().source(), computeCapability());
  }
  int rank(const Problem& problem, const Candidate& candidate) const override {
    const auto p = problemOf(problem);
    const auto all = streamChoices(p);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const StreamChoice& choice) { return choice.text() == candidate.variant; });
    return (p.keys >= kManyKeys ? kManyRank : kFewRank) + static_cast<int>(found - all.begin());
  }
};

}  // namespace

const compile::Tactic& tactic_stream_attention() {
  static const StreamAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
