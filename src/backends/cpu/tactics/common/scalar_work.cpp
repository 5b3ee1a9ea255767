// Types and room of the block-wise runner.
#include "backends/cpu/tactics/common/scalar_work.h"

namespace tenon::backends::cpu {

compile::Support scalarWorkSupport(const ops::ScalarExpr& expr, const compile::Problem& problem, size_t buffers) {
  std::vector<DataType> types;
  for (const auto& input : problem.inputs) types.push_back(input.dtype);
  const auto steps = ops::instructionTypes(expr, types);
  types.insert(types.end(), steps.begin(), steps.end());
  for (const auto& output : problem.outputs) types.push_back(output.dtype);
  for (const auto type : types) {
    const bool computes = type == DataType::kF32 || type == DataType::kBool;
    if (!computes) return compile::no("values of {}; f32 and bool are supported", tenon::name(type));
  }
  size_t needed = problem.inputs.size();
  for (const auto& instruction : expr.instructions) {
    ++needed;
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      needed += argument.kind == ops::ScalarArgument::Kind::kLiteral ? 1 : 0;
    }
  }
  if (needed > buffers)
    return compile::no("{} operands, constants and results; at most {} are supported", needed, buffers);
  return compile::yes();
}

}  // namespace tenon::backends::cpu
