// When tables and formulas of bytes can be used.
#include "backends/cpu/tactics/common/scalar_work.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cpu {
namespace {

class BytePointwiseTactic final : public SimpleTactic {
 public:
  BytePointwiseTactic() : SimpleTactic("cpu.byte_pointwise", true, 8) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Pointwise>();
    if (op == nullptr) return compile::no("it computes pointwise operators");
    constexpr size_t kMostOperands = 2;
    if (problem.inputs.size() > kMostOperands || problem.inputs.empty())
      return compile::no("{} operands; expected one or two of 8 bits", problem.inputs.size());
    const auto isByte = [](DataType type) { return type == DataType::kI8 || type == DataType::kU8; };
    const auto& y = problem.outputs[0];
    for (const auto& input : problem.inputs) {
      if (input.constant != nullptr) return compile::no("a constant operand, which lies row by row");
      if (!isByte(input.dtype) || !isByte(y.dtype) || input.dims != y.dims)
        return compile::no("an operand {} of {} and a result {} of {}; expected i8 or u8 and one shape",
                           input.dims.text(), tenon::name(input.dtype), y.dims.text(), tenon::name(y.dtype));
    }
    // Fewer steps are as fast in vectors; smaller tensors do not pay for the table.
    const size_t leastSteps = problem.inputs.size() == 1 ? 3 : 6;
    const int64_t leastElements = problem.inputs.size() == 1 ? 256 : 4096;
    if (op->expr.instructions.size() < leastSteps || y.dims.count() < leastElements)
      return compile::no("{} steps for {} elements; expected {} and {}", op->expr.instructions.size(), y.dims.count(),
                         leastSteps, leastElements);
    constexpr size_t kTable = 64;
    return scalarWorkSupport(op->expr, problem, kTable);
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    allowPitch(result);
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_byte_pointwise() {
  static const BytePointwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
