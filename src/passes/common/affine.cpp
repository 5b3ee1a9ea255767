// Affine chains read off pointwise nodes.
#include "passes/common/affine.h"

#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "passes/common/match.h"

namespace tenon::passes {
namespace {

using graph::Constant;
using graph::ConstantPtr;
using ops::ScalarArgument;
using ops::ScalarOp;

// Applies one instruction whose running operand is at `at`; false when it is not affine.
bool apply(Affine& affine, const ops::ScalarInstruction& instruction, int at, const std::vector<ConstantPtr>& others,
           DataType type) {
  const auto minusOne = Constant::scalar(type, -1);
  const auto& other = others[static_cast<size_t>(1 - std::min(at, 1))];
  switch (instruction.op) {
    case ScalarOp::k_identity: return true;
    case ScalarOp::k_neg: affine.multiply(minusOne); return true;
    case ScalarOp::k_add: affine.add(other); return true;
    case ScalarOp::k_mul: affine.multiply(other); return true;
    case ScalarOp::k_sub:
      if (at == 0) {
        affine.add(combineConstants(ScalarOp::k_mul, other, minusOne));
      } else {
        affine.multiply(minusOne);
        affine.add(other);
      }
      return true;
    case ScalarOp::k_div:
      if (at != 0) return false;
      affine.multiply(combineConstants(ScalarOp::k_div, Constant::scalar(type, 1), other));
      return true;
    case ScalarOp::k_fma:
      if (at == 2) return false;
      affine.multiply(other);
      affine.add(others[2]);
      return true;
    default: return false;
  }
}

}  // namespace

ConstantPtr combineConstants(ScalarOp op, const ConstantPtr& a, const ConstantPtr& b) {
  return Constant::recipe(ops::Pointwise{ops::ScalarExpr::of(op)}, {a, b});
}

void Affine::multiply(const ConstantPtr& by) {
  scale = scale ? combineConstants(ScalarOp::k_mul, scale, by) : by;
  if (shift) shift = combineConstants(ScalarOp::k_mul, shift, by);
}

void Affine::add(const ConstantPtr& by) { shift = shift ? combineConstants(ScalarOp::k_add, shift, by) : by; }

size_t readAffine(const graph::Graph& graph, const graph::Node& node, graph::ValueId running, int axis,
                  Affine& affine) {
  return readAffine(graph, node.op.as<ops::Pointwise>()->expr, node.inputs, graph.value(node.outputs[0]).type, running,
                    axis, affine);
}

size_t readAffine(const graph::Graph& graph, const ops::ScalarExpr& expr, std::span<const graph::ValueId> inputs,
                  const ops::TensorType& type, graph::ValueId running, int axis, Affine& affine) {
  for (size_t k = 0; k < expr.instructions.size(); ++k) {
    const auto& instruction = expr.instructions[k];
    int at = -1;
    std::vector<ConstantPtr> operands(3);
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      const bool isInput = argument.kind == ScalarArgument::Kind::kInput;
      if (argument.kind == ScalarArgument::Kind::kLiteral) {
        operands[static_cast<size_t>(i)] = Constant::scalar(type.dtype, argument.literal);
      } else if (isInput && inputs[static_cast<size_t>(argument.index)] != running) {
        const auto& constant = graph.value(inputs[static_cast<size_t>(argument.index)]).constant;
        if (constant == nullptr || constant->dtype() != type.dtype || !variesAlong(constant->dims(), type.shape, axis))
          return k;
        operands[static_cast<size_t>(i)] = asVector(constant);
      } else {
        const bool current = k == 0 ? isInput : !isInput && argument.index == static_cast<int>(k) - 1;
        if (!current || at >= 0) return k;
        at = i;
      }
    }
    if (at < 0 || !apply(affine, instruction, at, operands, type.dtype)) return k;
  }
  return expr.instructions.size();
}

bool looksInside(const ops::ScalarExpr& expr, size_t first, std::span<const graph::ValueId> inputs,
                 graph::ValueId running) {
  for (size_t k = first; k < expr.instructions.size(); ++k) {
    for (int i = 0; i < row(expr.instructions[k].op).arity; ++i) {
      const auto& argument = expr.instructions[k].arguments[static_cast<size_t>(i)];
      if (argument.kind == ScalarArgument::Kind::kResult && argument.index + 1 < static_cast<int>(first)) return true;
      if (argument.kind == ScalarArgument::Kind::kInput && inputs[static_cast<size_t>(argument.index)] == running)
        return true;
    }
  }
  return false;
}

ConstantPtr laidAlong(const ConstantPtr& vector, int axis, int rank) {
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = vector->count();
  return Constant::recipe(ops::Reshape{shape}, {vector});
}

ConstantPtr stretchedTo(const ConstantPtr& vector, int64_t count, DataType type) {
  if (vector->dims().rank == 1 && vector->count() == count) return vector;
  HostTensor zeros(type, {count});
  return combineConstants(ScalarOp::k_add, Constant::own(std::move(zeros)), vector);
}

}  // namespace tenon::passes
