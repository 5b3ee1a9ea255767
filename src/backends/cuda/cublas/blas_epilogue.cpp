// Which scalar expressions behind a product cuBLASLt computes itself.
#include "backends/cuda/cublas/blas_matmul.h"

namespace tenon::backends::cuda {
namespace {

using ops::ScalarArgument;
using ops::ScalarOp;

// Whether the operand is a vector along the last axis of the result.
bool isRow(const Dims& dims, const Dims& result) {
  return dims.rank >= 1 && dims.count() == dims[dims.rank - 1] && dims[dims.rank - 1] == result[result.rank - 1];
}

bool sameExtents(const Dims& dims, const Dims& result) {
  if (dims.rank > result.rank || dims.count() != result.count()) return false;
  for (int axis = 0; axis < dims.rank; ++axis) {
    if (dims[axis] != result[result.rank - dims.rank + axis]) return false;
  }
  return true;
}

}  // namespace

std::optional<BlasEpilogue> matchEpilogue(const ops::ScalarExpr& expr, std::span<const runtime::TensorShape> extras,
                                          const Dims& result) {
  BlasEpilogue epilogue;
  bool added = false;
  for (size_t i = 0; i < expr.instructions.size(); ++i) {
    const auto& instruction = expr.instructions[i];
    const auto isSoFar = [&](const ScalarArgument& a) {
      return i == 0 ? a.kind == ScalarArgument::Kind::kInput && a.index == 0
                    : a.kind == ScalarArgument::Kind::kResult && a.index == static_cast<int>(i) - 1;
    };
    const auto& a = instruction.arguments[0];
    const auto& b = instruction.arguments[1];
    if (epilogue.activation != BlasEpilogue::Activation::kNone) return std::nullopt;
    switch (instruction.op) {
      case ScalarOp::k_identity:
        if (!isSoFar(a)) return std::nullopt;
        break;
      case ScalarOp::k_cast:  // to f32: the sum is not rounded
        if (!isSoFar(a) || added || expr.instructions.size() != 1) return std::nullopt;
        break;
      case ScalarOp::k_relu:
      case ScalarOp::k_gelu_tanh:
        if (!isSoFar(a)) return std::nullopt;
        epilogue.activation =
            instruction.op == ScalarOp::k_relu ? BlasEpilogue::Activation::kRelu : BlasEpilogue::Activation::kGeluTanh;
        break;
      case ScalarOp::k_mul:
      case ScalarOp::k_div: {
        const bool swapped = instruction.op == ScalarOp::k_mul && isSoFar(b);
        const auto& factor = swapped ? a : b;
        if (added || !isSoFar(swapped ? b : a) || factor.kind != ScalarArgument::Kind::kLiteral) return std::nullopt;
        const double value = instruction.op == ScalarOp::k_mul ? factor.literal : 1 / factor.literal;
        epilogue.alpha = static_cast<float>(static_cast<double>(epilogue.alpha) * value);
        break;
      }
      case ScalarOp::k_add: {
        const auto& other = isSoFar(a) ? b : a;
        if (!isSoFar(isSoFar(a) ? a : b) || other.kind != ScalarArgument::Kind::kInput || other.index < 1)
          return std::nullopt;
        const auto at = static_cast<size_t>(other.index) - 1;
        if (at >= extras.size()) return std::nullopt;
        const auto& dims = extras[at].dims;
        if (epilogue.bias < 0 && isRow(dims, result)) {
          epilogue.bias = other.index;
        } else if (epilogue.residual < 0 && sameExtents(dims, result)) {
          epilogue.residual = other.index;
        } else {
          return std::nullopt;
        }
        added = true;
        break;
      }
      default: return std::nullopt;
    }
  }
  return epilogue;
}

}  // namespace tenon::backends::cuda
