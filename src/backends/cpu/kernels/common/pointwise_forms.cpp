// Facts of scalar operators, and products that become part of sums.
#include "backends/cpu/kernels/common/pointwise_forms.h"

#include <cmath>
#include <vector>

namespace tenon::backends::cpu {

using ops::ScalarArgument;
using ops::ScalarExpr;
using ops::ScalarOp;

// Whether the literal, truncated and saturated to 64 bits as the reference does, is a value of the type.
bool holds(DataType type, double value) {
  const double whole = std::isnan(value) ? 0 : std::trunc(value);
  switch (type) {
    case DataType::kI32: return whole >= -0x1p31 && whole < 0x1p31;
    case DataType::kI8: return whole >= -128 && whole < 128;
    case DataType::kU8: return whole >= 0 && whole < 256;
    case DataType::kBool: return whole == 0 || whole == 1;
    default: return true;
  }
}

bool isLogical(ScalarOp op) {
  return op == ScalarOp::k_and || op == ScalarOp::k_or || op == ScalarOp::k_xor || op == ScalarOp::k_not;
}

ScalarExpr joinProducts(ScalarExpr expr, std::span<const int64_t> results) {
  std::vector<int> uses(expr.instructions.size(), 0);
  for (const int64_t result : results) ++uses.at(static_cast<size_t>(result));
  for (const auto& instruction : expr.instructions) {
    for (int i = 0; i < ops::row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (argument.kind == ScalarArgument::Kind::kResult) ++uses.at(static_cast<size_t>(argument.index));
    }
  }
  for (auto& instruction : expr.instructions) {
    if (instruction.op != ScalarOp::k_add) continue;
    for (size_t side = 0; side < 2; ++side) {
      const auto factor = instruction.arguments[side];
      if (factor.kind != ScalarArgument::Kind::kResult || uses[static_cast<size_t>(factor.index)] != 1) continue;
      const auto& product = expr.instructions[static_cast<size_t>(factor.index)];
      if (product.op != ScalarOp::k_mul) continue;
      instruction.op = ScalarOp::k_fma;
      instruction.arguments = {product.arguments[0], product.arguments[1], instruction.arguments[1 - side]};
      break;
    }
  }
  return expr;
}

bool isCommutative(ScalarOp op) {
  switch (op) {
    case ScalarOp::k_add:
    case ScalarOp::k_mul:
    case ScalarOp::k_min:
    case ScalarOp::k_max:
    case ScalarOp::k_and:
    case ScalarOp::k_or:
    case ScalarOp::k_xor:
    case ScalarOp::k_bit_and:
    case ScalarOp::k_bit_or:
    case ScalarOp::k_bit_xor:
    case ScalarOp::k_equal: return true;
    default: return false;
  }
}

ScalarOp mirrored(ScalarOp op) {
  return op == ScalarOp::k_greater ? ScalarOp::k_less : op == ScalarOp::k_less ? ScalarOp::k_greater : op;
}

}  // namespace tenon::backends::cpu
