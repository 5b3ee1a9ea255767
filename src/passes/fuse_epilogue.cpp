// Pointwise nodes join what computes their operand: each other, and the epilogue of a contraction.
#include "passes/fuse_epilogue.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "passes/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxInstructions = 10;  // so that every backend's kernels have room for the operands and results

// The expression of `outer` over a common list of inputs, with its operand `joined` computed by `inner` over the same
// list. Equal operands become one.
ops::ScalarExpr compose(const ops::ScalarExpr& outer, const std::vector<ValueId>& outerInputs, ValueId joined,
                        const ops::ScalarExpr& inner, const std::vector<ValueId>& innerInputs, std::vector<ValueId>& inputs) {
  const auto place = [&](ValueId id) {
    const auto found = std::find(inputs.begin(), inputs.end(), id);
    if (found != inputs.end()) return static_cast<int>(found - inputs.begin());
    inputs.push_back(id);
    return static_cast<int>(inputs.size() - 1);
  };
  std::vector<int> innerMap;
  for (const ValueId id : innerInputs) innerMap.push_back(place(id));
  std::vector<int> outerMap;
  constexpr int kJoined = 255;
  for (const ValueId id : outerInputs) outerMap.push_back(id == joined ? kJoined : place(id));
  const auto first = inner.empty() ? ops::ScalarExpr::of(ops::ScalarOp::k_identity) : inner;
  return outer.withInputs(outerMap).compose(kJoined, first.withInputs(innerMap));
}

bool fusePointwise(Graph& graph, NodeId id, const graph::Use& use) {
  const auto& producer = graph.node(id);
  const auto& consumer = graph.node(use.node);
  const auto* inner = producer.op.as<ops::Pointwise>();
  const auto* outer = consumer.op.as<ops::Pointwise>();
  if (inner == nullptr || outer == nullptr || producer.device != consumer.device) return false;
  const ValueId joined = producer.outputs[0];
  if (graph.value(joined).type.shape != graph.value(consumer.outputs[0]).type.shape) return false;
  std::vector<ValueId> inputs;
  auto expr = compose(outer->expr, consumer.inputs, joined, inner->expr, producer.inputs, inputs);
  if (inputs.size() > kMaxInputs || expr.instructions.size() > kMaxInstructions) return false;
  const NodeId from[] = {id, use.node};
  const auto output = consumer.outputs[0];
  graph::Patch patch(graph);
  const ValueId fused = patch.add(ops::Pointwise{std::move(expr)}, "", std::move(inputs), from);
  auto& node = graph.node(graph.value(fused).producer);
  node.name = fmt::format("fusedPointwiseNode({})", fmt::join(node.origins, ", "));
  patch.replace(output, fused);
  patch.commit();
  return true;
}

// The contraction's own inputs come first; those of the epilogue follow.
template <typename Op>
bool fuseInto(Graph& graph, NodeId id, const graph::Use& use, size_t ownInputs) {
  const auto& node = graph.node(id);
  const auto* op = node.op.template as<Op>();
  const auto& consumer = graph.node(use.node);
  const auto* pointwise = consumer.op.template as<ops::Pointwise>();
  if (op == nullptr || pointwise == nullptr || node.device != consumer.device) return false;
  const ValueId joined = node.outputs[0];
  const auto& type = graph.value(joined).type;
  const auto& out = graph.value(consumer.outputs[0]).type;
  if (type.shape != out.shape || type.dtype != out.dtype || !isFloating(type.dtype)) return false;
  // Inputs of the whole: x0 is the contraction's result, which `joined` stands for here.
  std::vector<ValueId> inner{joined};
  inner.insert(inner.end(), node.inputs.begin() + static_cast<std::ptrdiff_t>(ownInputs), node.inputs.end());
  std::vector<ValueId> all = inner;
  std::vector<int> outerMap;
  for (const ValueId input : consumer.inputs) {
    auto found = std::find(all.begin() + 1, all.end(), input);
    if (input == joined) {
      outerMap.push_back(255);
    } else if (found != all.end()) {
      outerMap.push_back(static_cast<int>(found - all.begin()));
    } else {
      outerMap.push_back(static_cast<int>(all.size()));
      all.push_back(input);
    }
  }
  const auto before = op->epilogue.empty() ? ops::ScalarExpr::of(ops::ScalarOp::k_identity) : op->epilogue;
  auto expr = op->epilogue.empty() ? pointwise->expr.withInputs(outerMap) : pointwise->expr.withInputs(outerMap).compose(255, before);
  if (op->epilogue.empty()) {
    for (auto& instruction : expr.instructions) {
      for (auto& argument : instruction.arguments) {
        if (argument.kind == ops::ScalarArgument::Kind::kInput && argument.index == 255) argument.index = 0;
      }
    }
  }
  if (all.size() > kMaxInputs || expr.instructions.size() > kMaxInstructions) return false;
  Op merged = *op;
  merged.epilogue = std::move(expr);
  std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(ownInputs));
  inputs.insert(inputs.end(), all.begin() + 1, all.end());
  const NodeId from[] = {id, use.node};
  const auto output = consumer.outputs[0];
  graph::Patch patch(graph);
  const ValueId fused = patch.add(std::move(merged), "", std::move(inputs), from);
  auto& fusedNode = graph.node(graph.value(fused).producer);
  fusedNode.name = fmt::format("{}", fmt::join(fusedNode.origins, " + "));
  patch.replace(output, fused);
  patch.commit();
  return true;
}

bool fuseOne(Graph& graph, NodeId id, const graph::Use& use) {
  const auto& op = graph.node(id).op;
  if (const auto* convolution = op.as<ops::Convolution>()) {
    return fuseInto<ops::Convolution>(graph, id, use, convolution->hasBias ? 3 : 2);
  }
  if (const auto* deconvolution = op.as<ops::Deconvolution>()) {
    return fuseInto<ops::Deconvolution>(graph, id, use, deconvolution->hasBias ? 3 : 2);
  }
  if (op.as<ops::MatMul>() != nullptr) return fuseInto<ops::MatMul>(graph, id, use, 2);
  return fusePointwise(graph, id, use);
}

// Uses by the same node count once: x * sigmoid(x) reads x twice.
std::optional<graph::Use> onlyUser(const Graph& graph, const std::vector<std::vector<graph::Use>>& uses, ValueId value) {
  if (value >= uses.size() || uses[value].empty() || graph.isOutput(value)) return std::nullopt;
  if (graph.value(value).constraints != graph::Constraints{}) return std::nullopt;
  for (const auto& use : uses[value]) {
    if (use.node != uses[value][0].node) return std::nullopt;
  }
  return uses[value][0];
}

}  // namespace

int fuseEpilogue(Graph& graph, const Options&) {
  int edits = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    const auto uses = graph.allUses();
    const auto order = graph.order();
    std::vector<bool> gone(graph.nodeCount(), false);
    // Pointwise nodes first, so that chains with several readers of the contraction become one reader.
    for (const bool contractions : {false, true}) {
      if (contractions && changed) break;
      for (const auto id : order) {
        if (gone[id] || graph.node(id).outputs.size() != 1 || graph.node(id).op.facts().contraction != contractions) continue;
        const auto use = onlyUser(graph, uses, graph.node(id).outputs[0]);
        if (!use || gone[use->node] || !fuseOne(graph, id, *use)) continue;
        gone[id] = gone[use->node] = true;
        changed = true;
        ++edits;
      }
    }
  }
  return edits;
}

}  // namespace tenon::passes
