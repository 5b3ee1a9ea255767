// When the reduction with a pointwise prologue can be used.
#include "backends/cpu/kernels/common/pointwise_reduce.h"

#include "backends/cpu/tactics/common/scalar_work.h"
#include "backends/cpu/tactics/common/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

// Values below which two kernels, each along its own axes, do better; of sums that go by way of no block.
constexpr int64_t kShortRun = 64, kShortSum = 16;

class PointwiseReduceTactic final : public SimpleTactic {
 public:
  PointwiseReduceTactic() : SimpleTactic("cpu.pointwise_reduce", true, 10) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::PointwiseReduce>();
    if (op == nullptr) return compile::no("it reduces what pointwise operators compute");
    if (problem.outputs[0].dtype != DataType::kF32)
      return compile::no("a result of {}", tenon::name(problem.outputs[0].dtype));
    constexpr size_t kBlock = 512;
    const auto support = scalarWorkSupport(op->expr, problem, kBlock);
    if (!support) return support;
    if (candidates(problem).empty()) return compile::no("no axis has {} contiguous values to reduce", kShortRun);
    return compile::yes();
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto all = SimpleTactic::candidates(problem);
    const int rank = problem.inputs[0].dims.rank;
    if (rank >= 4 && rank <= 5 && problem.outputs[0].dims.rank < 4) {
      auto last = all[0];
      for (size_t i = 0; i < problem.inputs.size(); ++i) {
        const auto& input = problem.inputs[i];
        if (input.constant == nullptr && input.dims.rank >= 4) last.inputs[i] = Layout::kChannelsLast;
      }
      all.push_back(last);
    }
    const bool isSum =
        sumsMagnitudes(*problem.op.as<ops::PointwiseReduce>()) && problem.inputs[0].dtype == DataType::kF32;
    std::erase_if(all, [&](const compile::Candidate& candidate) {
      const auto loops = loopsOf(problem, candidate);
      return loops.run < (isSum && loops.byRows ? kShortSum : kShortRun);
    });
    return all;
  }

 private:
  // An empty tensor has no runs, and any form will do.
  static PointwiseReduceLoops loopsOf(const compile::Problem& problem, const compile::Candidate& candidate) {
    const auto* op = problem.op.as<ops::PointwiseReduce>();
    std::vector<runtime::TensorShape> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
    }
    const auto& output = problem.outputs[0];
    return PointwiseReduceLoops(*op, inputs, {output.dtype, output.dims, candidate.outputs[0]});
  }
};

}  // namespace

const compile::Tactic& tactic_pointwise_reduce() {
  static const PointwiseReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
