// y = s * conv(x, w) + t per channel  =>  conv(x, s * w) + (s * bias + t); s * (x w) + t per column  =>  x (s w) + t.
#include "passes/common/pass.h"

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "passes/common/affine.h"

namespace tenon::passes {
namespace {

template <typename Op>
bool foldInto(Graph& graph, NodeId id, const graph::Use& use, int channelAxis) {
  const auto& node = graph.node(id);
  const auto* op = node.op.template as<Op>();
  if (op == nullptr || !op->epilogue.empty()) return false;
  const auto& weights = graph.value(node.inputs[1]).constant;
  const ConstantPtr bias = op->hasBias ? graph.value(node.inputs[2]).constant : nullptr;
  if (weights == nullptr || (op->hasBias && bias == nullptr)) return false;
  const auto& next = graph.node(use.node);
  if (next.op.as<ops::Pointwise>() == nullptr) return false;
  const auto& type = graph.value(node.outputs[0]).type;
  if (graph.value(next.outputs[0]).type.shape != type.shape || graph.value(next.outputs[0]).type.dtype != type.dtype)
    return false;
  Affine affine;
  if (!isFloating(type.dtype) ||
      readAffine(graph, next, node.outputs[0], 1, affine) != next.op.as<ops::Pointwise>()->expr.instructions.size())
    return false;
  if (affine.scale && channelAxis == 1 && op->groups != 1) return false;

  Op merged = *op;
  auto inputs = node.inputs;
  const NodeId from[] = {id, use.node};
  const auto output = next.outputs[0];
  const auto name = node.name;
  const int64_t channels = type.shape[1].constant();
  graph::Patch patch(graph);
  ConstantPtr newBias = bias;
  if (affine.scale) {
    const auto laid = laidAlong(affine.scale, affine.scale->count() == 1 ? 0 : channelAxis, weights->dims().rank);
    inputs[1] =
        patch.addConstant(combineConstants(ScalarOp::k_mul, weights, laid), graph.value(inputs[1]).name + "_scaled");
    if (newBias) newBias = combineConstants(ScalarOp::k_mul, newBias, affine.scale);
  }
  if (affine.shift) newBias = newBias ? combineConstants(ScalarOp::k_add, newBias, affine.shift) : affine.shift;
  if (newBias) {
    const auto value = patch.addConstant(stretchedTo(newBias, channels, type.dtype), name + "_bias");
    inputs.resize(2);
    inputs.push_back(value);
    merged.hasBias = true;
  }
  patch.replace(output, patch.add(std::move(merged), name, std::move(inputs), from));
  patch.commit();
  return true;
}

// The instructions from `first` on, over x0 = the result of those before.
ops::ScalarExpr restOf(const ops::ScalarExpr& expr, size_t first) {
  ops::ScalarExpr rest{{expr.instructions.begin() + static_cast<std::ptrdiff_t>(first), expr.instructions.end()}};
  for (auto& instruction : rest.instructions) {
    for (auto& argument : instruction.arguments) {
      if (argument.kind != ops::ScalarArgument::Kind::kResult) continue;
      const int index = argument.index - static_cast<int>(first);
      argument = index < 0 ? ops::ScalarArgument::input(0) : ops::ScalarArgument::result(index);
    }
  }
  return rest;
}

// Operands that the epilogue no longer reads go; the product's own two stay.
void dropUnread(ops::ScalarExpr& epilogue, std::vector<graph::ValueId>& inputs) {
  for (size_t i = inputs.size(); i-- > 2;) {
    const int index = static_cast<int>(i) - 1;
    bool read = false;
    const auto eachArgument = [&](auto visit) {
      for (auto& instruction : epilogue.instructions) {
        for (auto& argument : instruction.arguments) {
          if (argument.kind == ops::ScalarArgument::Kind::kInput) visit(argument.index);
        }
      }
    };
    eachArgument([&](int& at) { read = read || at == index; });
    if (read) continue;
    eachArgument([&](int& at) { at -= at > index ? 1 : 0; });
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// The scale that an epilogue begins with, behind a shift or not.
bool foldIntoProduct(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  if (op == nullptr || op->epilogue.empty()) return false;
  const auto product = node.outputs[0];
  const auto type = graph.value(product).type;
  const auto weights = graph.value(node.inputs[1]).constant;
  if (weights == nullptr || !isFloating(type.dtype) || weights->dtype() != type.dtype ||
      graph.value(node.inputs[0]).type.dtype != type.dtype)
    return false;
  std::vector<graph::ValueId> operands{product};
  operands.insert(operands.end(), node.inputs.begin() + 2, node.inputs.end());
  Affine affine;
  const size_t length = readAffine(graph, op->epilogue, operands, type, product, type.rank() - 1, affine);
  if (!affine.scale || looksInside(op->epilogue, length, operands, product)) return false;

  ops::MatMul merged = *op;
  auto inputs = node.inputs;
  const int rank = weights->dims().rank;
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  const auto laid = laidAlong(affine.scale,
                              affine.scale->count() == 1 ? 0
                              : op->transposeB           ? rank - 2
                                                         : rank - 1,
                              rank);
  inputs[1] =
      patch.addConstant(combineConstants(ScalarOp::k_mul, weights, laid), graph.value(inputs[1]).name + "_scaled");
  merged.epilogue = restOf(op->epilogue, length);
  if (affine.shift) {
    const int place = static_cast<int>(inputs.size()) - 1;
    const auto sum =
        ops::ScalarExpr::of(ScalarOp::k_add, {ops::ScalarArgument::input(0), ops::ScalarArgument::input(place)});
    merged.epilogue = merged.epilogue.empty() ? sum : merged.epilogue.compose(0, sum);
    inputs.push_back(patch.addConstant(affine.shift, node.name + "_bias"));
  }
  dropUnread(merged.epilogue, inputs);
  patch.replace(product, patch.add(std::move(merged), node.name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_fold_affine(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  const auto begins = [](const ops::Operator& op) {
    return op.as<ops::Convolution>() != nullptr || op.as<ops::Deconvolution>() != nullptr;
  };
  const int products = editUntilDone(graph, [&](NodeId id) { return foldIntoProduct(graph, id); });
  return products + mergePairs(graph, begins, [&](NodeId id, const graph::Use& use) {
           return foldInto<ops::Convolution>(graph, id, use, 0) || foldInto<ops::Deconvolution>(graph, id, use, 1);
         });
}

}  // namespace tenon::passes
