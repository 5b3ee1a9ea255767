// y = s * conv(x, w) + t per channel  =>  conv(x, s * w) + (s * bias + t).
#include "passes/fold_affine.h"

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "passes/match.h"

namespace tenon::passes {
namespace {

using graph::Constant;
using graph::ConstantPtr;
using graph::Graph;
using graph::NodeId;
using ops::ScalarArgument;
using ops::ScalarOp;

ConstantPtr combine(ScalarOp op, const ConstantPtr& a, const ConstantPtr& b) {
  return Constant::recipe(ops::Pointwise{ops::ScalarExpr::of(op)}, {a, b});
}

// scale * x + shift, as constants of one or `channels` elements; null scale is 1, null shift 0.
struct Affine {
  ConstantPtr scale;
  ConstantPtr shift;

  void multiply(const ConstantPtr& by) {
    scale = scale ? combine(ScalarOp::k_mul, scale, by) : by;
    if (shift) shift = combine(ScalarOp::k_mul, shift, by);
  }
  void add(const ConstantPtr& by) { shift = shift ? combine(ScalarOp::k_add, shift, by) : by; }
};

// Applies one instruction whose running operand is at `at`; false when it is not affine.
bool apply(Affine& affine, const ops::ScalarInstruction& instruction, int at, const std::vector<ConstantPtr>& others, DataType type) {
  const auto minusOne = Constant::scalar(type, -1);
  const auto& other = others[static_cast<size_t>(1 - std::min(at, 1))];
  switch (instruction.op) {
    case ScalarOp::k_identity: return true;
    case ScalarOp::k_neg: affine.multiply(minusOne); return true;
    case ScalarOp::k_add: affine.add(other); return true;
    case ScalarOp::k_mul: affine.multiply(other); return true;
    case ScalarOp::k_sub:
      if (at == 0) {
        affine.add(combine(ScalarOp::k_mul, other, minusOne));
      } else {
        affine.multiply(minusOne);
        affine.add(other);
      }
      return true;
    case ScalarOp::k_div:
      if (at != 0) return false;
      affine.multiply(combine(ScalarOp::k_div, Constant::scalar(type, 1), other));
      return true;
    case ScalarOp::k_fma:
      if (at == 2) return false;
      affine.multiply(other);
      affine.add(others[2]);
      return true;
    default: return false;
  }
}

// The pointwise node as scale and shift of its input `running`, when it is affine in it with constants per channel.
bool readAffine(const Graph& graph, const graph::Node& node, graph::ValueId running, Affine& affine) {
  const auto& expr = node.op.as<ops::Pointwise>()->expr;
  const auto& out = graph.value(node.outputs[0]).type;
  for (size_t k = 0; k < expr.instructions.size(); ++k) {
    const auto& instruction = expr.instructions[k];
    int at = -1;
    std::vector<ConstantPtr> operands(3);
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      const bool isInput = argument.kind == ScalarArgument::Kind::kInput;
      if (argument.kind == ScalarArgument::Kind::kLiteral) {
        operands[static_cast<size_t>(i)] = Constant::scalar(out.dtype, argument.literal);
      } else if (isInput && node.inputs[static_cast<size_t>(argument.index)] != running) {
        const auto& constant = graph.value(node.inputs[static_cast<size_t>(argument.index)]).constant;
        if (constant == nullptr || !variesAlong(constant->dims(), out.shape, 1)) return false;
        operands[static_cast<size_t>(i)] = asVector(constant);
      } else {
        const bool current = k == 0 ? isInput : !isInput && argument.index == static_cast<int>(k) - 1;
        if (!current || at >= 0) return false;
        at = i;
      }
    }
    if (at < 0 || !apply(affine, instruction, at, operands, out.dtype)) return false;
  }
  return true;
}

// The vector laid along one axis of a tensor of the given rank.
ConstantPtr along(const ConstantPtr& vector, int axis, int rank) {
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = vector->count();
  return Constant::recipe(ops::Reshape{shape}, {vector});
}

// A scalar or one-element vector stretched to a vector of `count`.
ConstantPtr stretched(const ConstantPtr& vector, int64_t count, DataType type) {
  if (vector->dims().rank == 1 && vector->count() == count) return vector;
  HostTensor zeros(type, {count});
  return combine(ScalarOp::k_add, Constant::own(std::move(zeros)), vector);
}

template <typename Op>
bool foldInto(Graph& graph, NodeId id, int channelAxis, const std::vector<std::vector<graph::Use>>& uses) {
  const auto& node = graph.node(id);
  const auto* op = node.op.template as<Op>();
  if (op == nullptr || !op->epilogue.empty()) return false;
  const auto& weights = graph.value(node.inputs[1]).constant;
  const ConstantPtr bias = op->hasBias ? graph.value(node.inputs[2]).constant : nullptr;
  if (weights == nullptr || (op->hasBias && bias == nullptr)) return false;
  const auto use = onlyUse(graph, uses, node.outputs[0]);
  if (!use) return false;
  const auto& next = graph.node(use->node);
  if (next.op.as<ops::Pointwise>() == nullptr) return false;
  const auto& type = graph.value(node.outputs[0]).type;
  if (graph.value(next.outputs[0]).type.shape != type.shape || graph.value(next.outputs[0]).type.dtype != type.dtype) return false;
  Affine affine;
  if (!isFloating(type.dtype) || !readAffine(graph, next, node.outputs[0], affine)) return false;
  if (affine.scale && channelAxis == 1 && op->groups != 1) return false;

  Op merged = *op;
  auto inputs = node.inputs;
  const NodeId from[] = {id, use->node};
  const auto output = next.outputs[0];
  const auto name = node.name;
  const int64_t channels = type.shape[1].constant();
  graph::Patch patch(graph);
  ConstantPtr newBias = bias;
  if (affine.scale) {
    const auto laid = along(affine.scale, affine.scale->count() == 1 ? 0 : channelAxis, weights->dims().rank);
    inputs[1] = patch.addConstant(combine(ScalarOp::k_mul, weights, laid), graph.value(inputs[1]).name + "_scaled");
    if (newBias) newBias = combine(ScalarOp::k_mul, newBias, affine.scale);
  }
  if (affine.shift) newBias = newBias ? combine(ScalarOp::k_add, newBias, affine.shift) : affine.shift;
  if (newBias) {
    const auto value = patch.addConstant(stretched(newBias, channels, type.dtype), name + "_bias");
    inputs.resize(2);
    inputs.push_back(value);
    merged.hasBias = true;
  }
  patch.replace(output, patch.add(std::move(merged), name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int foldAffine(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  int edits = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    const auto uses = graph.allUses();
    const auto order = graph.order();
    std::vector<bool> touched(graph.nodeCount(), false);
    for (const auto id : order) {
      const auto use = onlyUse(graph, uses, graph.node(id).outputs[0]);
      if (!use || touched[id]) continue;
      if (!foldInto<ops::Convolution>(graph, id, 0, uses) && !foldInto<ops::Deconvolution>(graph, id, 1, uses)) continue;
      touched[use->node] = true;
      changed = true;
      ++edits;
    }
  }
  return edits;
}

}  // namespace tenon::passes
