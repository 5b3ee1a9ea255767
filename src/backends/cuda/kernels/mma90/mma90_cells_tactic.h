// When products of cells by warpgroups are candidates, and in which tiles.
#pragma once

#include "backends/cuda/kernels/mma90/mma90_cells.h"
#include "backends/cuda/tactics/mma90_tactic.h"
#include "backends/cuda/tactics/own_tactic.h"

namespace tenon::backends::cuda {

template <typename Op>
class Mma90CellTactic final : public OwnTacticOf<Op> {
 public:
  explicit Mma90CellTactic(std::string_view name) : OwnTacticOf<Op>(name, Formats::kAlsoChannelsLast, kMma90Rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result;
    for (const auto layout : {Layout::kChannelsLast, Layout::kLinear}) {
      const auto candidate = candidateOf(problem, layout);
      const auto product = productOf(problem, candidate);
      if (!product.refusal.empty()) continue;
      auto weights = product.weights();
      weights.isExact = weights.bytes == 4 && !problem.tf32;
      const auto more = mma90Variants(candidate, mma90Candidates(product.shapes(&problem.symbols), weights, problem));
      result.insert(result.end(), more.begin(), more.end());
    }
    return result;
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto product = productOf(problem, candidate);
    auto record = OwnTactic::build(problem, candidate);
    record.params =
        Mma90Record::params(product.shapes(&problem.symbols), product.weights(), Mma90Shape::parse(candidate.variant));
    return record;
  }

 protected:
  compile::Support acceptsOp(const Op&, const compile::Problem& problem) const override {
    constexpr int64_t kLeastChannels = 32;  // a step holds 32 or 64: with fewer most of it would be zeros
    const auto product = productOf(problem, candidateOf(problem, Layout::kChannelsLast));
    if (!product.refusal.empty()) return compile::no("{}", product.refusal);
    if (problem.inputs[0].dims[1] < kLeastChannels)
      return compile::no("{} channels; at least {} are supported", problem.inputs[0].dims[1], kLeastChannels);
    return mma90Support(product.product, product.shapes(&problem.symbols), problem);
  }

 private:
  compile::Candidate candidateOf(const compile::Problem& problem, Layout layout) const {
    auto candidate = channelsLastCandidate(this->name(), problem);
    candidate.inputs[1] = Layout::kLinear;
    if (layout == Layout::kLinear) candidate.outputs[0] = Layout::kLinear;
    return candidate;
  }
  static Mma90CellProduct productOf(const compile::Problem& problem, const compile::Candidate& candidate) {
    std::vector<runtime::TensorShape> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i)
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
    const std::vector<runtime::TensorShape> outputs{
        {problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]}};
    return {*problem.op.as<Op>(), {inputs, outputs, &problem.symbols}};
  }
};

}  // namespace tenon::backends::cuda
