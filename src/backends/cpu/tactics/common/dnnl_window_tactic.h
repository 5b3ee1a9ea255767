// What the tactics of oneDNN's convolution and deconvolution share.
#pragma once

#include "backends/cpu/kernels/common/gated.h"
#include "backends/cpu/tactics/common/simple_tactic.h"
#include "backends/cpu/tactics/common/tile_support.h"
#include "core/storage.h"
#include "ops/op/convolution.h"

namespace tenon::backends::cpu {

// Stands in plans and timing caches: an implementation of oneDNN with that in its name.
inline constexpr const char* kNarrowVectors = "avx2";

// Op is ops::Convolution or ops::Deconvolution.
template <typename Op>
class DnnlWindowTactic final : public SimpleTactic {
 public:
  explicit DnnlWindowTactic(std::string_view name) : SimpleTactic(name, true, 20) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<Op>();
    if (op == nullptr) return compile::no("it computes {}s", Op::kName);
    if (problem.inputs[0].dims.count() == 0 && problem.outputs[0].dims.count() != 0)
      return compile::no("the input is empty");
    for (const auto& padding : op->prePadding) {
      if (padding.isConstant() && padding.constant() < 0)
        return compile::no("the padding {} is negative", padding.constant());
    }
    for (size_t i = 0; i < op->postPadding.size(); ++i) {
      const auto& padding = op->postPadding[i];
      const int64_t least = std::is_same_v<Op, ops::Convolution> || op->strides.empty() ? 0 : 1 - op->strides[i];
      if (padding.isConstant() && padding.constant() < least)
        return compile::no("the post-padding is {}; expected at least {}", padding.constant(), least);
    }
    if (const auto support = staysF32(op->epilogue); !support) return support;
    return onlyF32(problem);
  }

  // Row-major tensors go through im2col and gemm, which is slower in every case measured and rounds the last channels
  // differently; they are left for few channels, where the change of format would cost more than it gains.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    if (result.size() > 1 && problem.inputs[0].dims[1] > kFewChannels) result.erase(result.begin());
    if (!std::is_same_v<Op, ops::Convolution>) return result;
    if (result.back().outputs[0] == Layout::kChannelsLast && mayGainByNarrowVectors(problem)) {
      auto narrow = result.back();
      narrow.variant = kNarrowVectors;
      result.push_back(std::move(narrow));
    }
    if (result.back().outputs[0] == Layout::kChannelsLast && isSwish(problem)) {
      auto gated = result.back();
      gated.variant = kGated;
      result.push_back(std::move(gated));
    }
    if (hasWholeGroups(problem)) addBlockedCandidate(name(), problem, result);
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = SimpleTactic::build(problem, candidate);
    record.params = candidate.variant;
    return record;
  }
  int rank(const compile::Problem&, const compile::Candidate& candidate) const override {
    if (!candidate.variant.empty()) return 30;
    return candidate.outputs[0] == Layout::kLinear ? 40 : candidate.outputs[0] == Layout::kChannelsLast ? 20 : 45;
  }

 private:
  // Which own code computes behind oneDNN's sums.
  static bool isSwish(const compile::Problem& problem) {
    const auto& op = *problem.op.as<Op>();
    const auto* gate = leadingGate(op.epilogue);
    const auto isMatrix = [&](int input) {
      const auto& dims = problem.inputs[static_cast<size_t>(input) + (op.hasBias ? 2 : 1)].dims;
      return dims == problem.outputs[0].dims && dims.count() != 1;
    };
    return gate != nullptr && gate->op == ops::ScalarOp::k_sigmoid && isGateAlone(op.epilogue, isMatrix);
  }

  // Processors that compute as much per cycle with vectors of 8: those of 16 may be left partly idle by the number of
  // channels, and what waits for memory gains nothing by them.
  static bool mayGainByNarrowVectors(const compile::Problem& problem) {
    const auto& w = problem.inputs[1];
    const int64_t lanes = channelBlock(Layout::kBlocked16);
    const bool ofPoints = w.dims.count(2, w.dims.rank) == 1;
    return blockedFormat() == Layout::kBlocked16 && w.constant != nullptr &&
           (isDepthwise(problem) || ofPoints || w.dims[0] % lanes != 0 || w.dims[1] % lanes != 0);
  }

  static bool isDepthwise(const compile::Problem& problem) {
    const auto& w = problem.inputs[1].dims;
    return w[1] == 1 && w[0] == problem.op.as<Op>()->groups;
  }

  // Blocks of channels want constant weights, and groups of whole blocks or of one channel.
  static bool hasWholeGroups(const compile::Problem& problem) {
    const auto blocked = blockedFormat();
    const auto& w = problem.inputs[1];
    if (!blocked || w.constant == nullptr) return false;
    const int64_t groups = problem.op.as<Op>()->groups;
    const int64_t block = channelBlock(*blocked);
    return groups == 1 || isDepthwise(problem) || (w.dims[1] % block == 0 && w.dims[0] / groups % block == 0);
  }
};

}  // namespace tenon::backends::cpu
