// y = s * conv(x, w) + t per channel  =>  conv(x, s * w) + (s * bias + t).
#include "passes/fold_affine.h"

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/pointwise.h"
#include "passes/affine.h"
#include "passes/merge_pairs.h"

namespace tenon::passes {
namespace {

using graph::ConstantPtr;
using graph::Graph;
using graph::NodeId;
using ops::ScalarOp;

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
  if (graph.value(next.outputs[0]).type.shape != type.shape || graph.value(next.outputs[0]).type.dtype != type.dtype) return false;
  Affine affine;
  if (!isFloating(type.dtype) || readAffine(graph, next, node.outputs[0], 1, affine) != next.op.as<ops::Pointwise>()->expr.instructions.size()) return false;
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
    inputs[1] = patch.addConstant(combineConstants(ScalarOp::k_mul, weights, laid), graph.value(inputs[1]).name + "_scaled");
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

}  // namespace

int foldAffine(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  const auto begins = [](const ops::Operator& op) {
    return op.as<ops::Convolution>() != nullptr || op.as<ops::Deconvolution>() != nullptr;
  };
  return mergePairs(graph, begins, [&](NodeId id, const graph::Use& use) {
    return foldInto<ops::Convolution>(graph, id, use, 0) || foldInto<ops::Deconvolution>(graph, id, use, 1);
  });
}

}  // namespace tenon::passes
