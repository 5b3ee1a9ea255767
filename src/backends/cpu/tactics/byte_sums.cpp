// When sums of bytes can be used.
#include "ops/op/pointwise_reduce.h"

#include <set>

#include "backends/cpu/tactics/common/scalar_work.h"

namespace tenon::backends::cpu {
namespace {

class ByteSumsTactic final : public SimpleTactic {
 public:
  ByteSumsTactic() : SimpleTactic("cpu.byte_sums", true, 8) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::PointwiseReduce>();
    if (op == nullptr) return compile::no("it reduces what pointwise operators compute");
    const auto& x = problem.inputs[0];
    if (problem.inputs.size() != 1 || (x.dtype != DataType::kI8 && x.dtype != DataType::kU8) || x.constant != nullptr ||
        problem.outputs[0].dtype != DataType::kF32)
      return compile::no("{} operands, the first of {}, and a result of {}; expected one of i8 or u8, and f32",
                         problem.inputs.size(), tenon::name(x.dtype), tenon::name(problem.outputs[0].dtype));
    if (op->op != ops::ReduceOp::kSum && op->op != ops::ReduceOp::kAvg) return compile::no("it adds up nothing");
    const int rank = x.dims.rank;
    std::set<int64_t> axes;
    for (const int64_t axis : op->axes) axes.insert(axis < 0 ? axis + rank : axis);
    for (int i = 0; i < rank; ++i) {
      const bool isLast = i >= rank - static_cast<int>(axes.size());
      if ((axes.count(i) != 0) != isLast) return compile::no("axes other than the last ones");
    }
    constexpr size_t kTable = 256;
    return scalarWorkSupport(op->expr, problem, kTable);
  }

  // Channels may be last where all axes behind them are reduced.
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    std::vector<compile::Candidate> result{compile::rowMajor(name(), problem)};
    const int rank = problem.inputs[0].dims.rank;
    const auto axes = static_cast<int>(problem.op.as<ops::PointwiseReduce>()->axes.size());
    if (rank < 4 || rank > 5 || axes != rank - 2) return result;
    result.push_back(result[0]);
    result.back().inputs[0] = Layout::kChannelsLast;
    if (problem.outputs[0].dims.rank == rank) result.back().outputs[0] = Layout::kChannelsLast;
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_byte_sums() {
  static const ByteSumsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
