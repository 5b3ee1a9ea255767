// When the reduction with scalar work in front can be used.
#include "backends/cpu/run/pointwise_reduce.h"
#include "backends/cpu/build/simple_tactic.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kShortRun = 64;  // values below which two kernels, each along its own axes, do better

class PointwiseReduceTactic final : public SimpleTactic {
 public:
  PointwiseReduceTactic() : SimpleTactic("cpu.pointwise_reduce", true, 10) {}

  build::Support supports(const build::Problem& problem) const override {
    const auto* op = problem.op.as<ops::PointwiseReduce>();
    if (op == nullptr) return build::no("it reduces what pointwise operators compute");
    std::vector<DataType> types;
    for (const auto& input : problem.inputs) types.push_back(input.dtype);
    const auto steps = ops::instructionTypes(op->expr, types);
    types.insert(types.end(), steps.begin(), steps.end());
    for (const auto type : types) {
      const bool computes = type == DataType::kF32 || type == DataType::kBool;
      if (!computes) return build::no("values of {}; it computes f32 and bool", tenon::name(type));
    }
    if (problem.outputs[0].dtype != DataType::kF32)
      return build::no("a result of {}", tenon::name(problem.outputs[0].dtype));
    size_t buffers = problem.inputs.size();
    for (const auto& instruction : op->expr.instructions) {
      ++buffers;
      for (int i = 0; i < row(instruction.op).arity; ++i) {
        const auto& argument = instruction.arguments[static_cast<size_t>(i)];
        buffers += argument.kind == ops::ScalarArgument::Kind::kLiteral ? 1 : 0;
      }
    }
    constexpr size_t kBuffers = 47;  // of a block; the loops take one more
    if (buffers > kBuffers)
      return build::no("{} operands, literals and results; there is room for {}", buffers, kBuffers);
    if (candidates(problem).empty()) return build::no("no run of {} values lies along one axis", kShortRun);
    return build::yes();
  }

  std::vector<build::Candidate> candidates(const build::Problem& problem) const override {
    auto all = SimpleTactic::candidates(problem);
    const int rank = problem.inputs[0].dims.rank;
    if (rank >= 4 && rank <= 5 && problem.outputs[0].dims.rank < 4) {
      auto last = all[0];
      for (size_t i = 0; i < problem.inputs.size(); ++i) {
        const auto& input = problem.inputs[i];
        if (input.constant == nullptr && input.dims.rank >= 4) last.inputs[i] = Format::kChannelsLast;
      }
      all.push_back(last);
    }
    std::erase_if(all, [&](const build::Candidate& candidate) { return runOf(problem, candidate) < kShortRun; });
    return all;
  }

 private:
  // An empty tensor has no runs, and any form will do.
  static int64_t runOf(const build::Problem& problem, const build::Candidate& candidate) {
    const auto* op = problem.op.as<ops::PointwiseReduce>();
    std::vector<runtime::TensorShape> inputs;
    for (size_t i = 0; i < problem.inputs.size(); ++i) {
      inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
    }
    const auto& output = problem.outputs[0];
    return PointwiseReduceLoops(*op, inputs, {output.dtype, output.dims, candidate.outputs[0]}).run;
  }
};

}  // namespace

const build::Tactic& tactic_pointwise_reduce() {
  static const PointwiseReduceTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
