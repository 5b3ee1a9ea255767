// Attention of any number of keys by warpgroups: one candidate per tile shape that may be the fastest.
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/attention/attention_forms_tactic.h"
#include "backends/cuda/kernels/attention/stream_attention.h"
#include "core/environment.h"

namespace tenon::backends::cuda {
namespace {

using compile::no;
using compile::Problem;

constexpr int kFewRank = 32;   // beside the forms of cuda.flash_attention
constexpr int kManyRank = 26;  // ahead of them
constexpr int64_t kManyKeys = 512;

class StreamAttentionTactic final : public AttentionFormsTactic<StreamChoice> {
 public:
  std::string_view name() const override { return "cuda.stream_attention"; }
  int version() const override { return 2; }
  compile::Support supports(const Problem& problem) const override {
    if (problem.op.as<ops::Attention>() == nullptr) return no("it computes attention");
    if (const auto missing = streamMissing(); !missing.empty()) return no("{}", missing);
    if (!nvrtc().missing.empty()) return no("{}", nvrtc().missing);
    if (!switchedOn("TENON_CUDA_STREAM_ATTENTION", true)) return no("TENON_CUDA_STREAM_ATTENTION is 0");
    return {streamRefusal(problemOf(problem))};
  }

 protected:
  std::vector<StreamChoice> choices(const Problem& problem) const override {
    return streamChoices(problemOf(problem), maskMayGrow(problem));
  }
  int firstRank(const Problem& problem) const override {
    return problemOf(problem).keys >= kManyKeys ? kManyRank : kFewRank;
  }

 private:
  // Whether the mask's axis of queries is open.
  static bool maskMayGrow(const Problem& problem) {
    const auto& op = *problem.op.as<ops::Attention>();
    if (!op.hasMask) return false;
    const auto& mask = problem.inputs[op.maskInput()];
    return mask.dims.rank > 1 && (mask.openAxes >> (mask.dims.rank - 2) & 1) != 0;
  }
};

}  // namespace

const compile::Tactic& tactic_stream_attention() {
  static const StreamAttentionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cuda
