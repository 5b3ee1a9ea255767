// A pointwise node joins the only pointwise node that reads it, and reads what is only repeated as it was: p(expand(x),
// y)
// => p(x, y).
#include "passes/common/fuse.h"
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/pointwise.h"
#include "ops/scalar_facts.h"
#include "passes/common/stretch.h"

namespace tenon::passes {
namespace {

// The expression of `outer` over a common list of inputs, with its operand `joined` computed by `inner` over the same
// list. Equal operands become one.
ops::ScalarExpr compose(const ops::ScalarExpr& outer, const std::vector<ValueId>& outerInputs, ValueId joined,
                        const ops::ScalarExpr& inner, const std::vector<ValueId>& innerInputs,
                        std::vector<ValueId>& inputs) {
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
  const auto first = inner.empty() ? ops::ScalarExpr::of(ScalarOp::k_identity) : inner;
  return outer.withInputs(outerMap).compose(kJoined, first.withInputs(innerMap));
}

// What costs less to compute again for each element of a larger tensor than to store, wait for and load.
bool isWorthRepeating(const ScalarExpr& expr) {
  constexpr size_t kFew = 2;
  return expr.instructions.size() <= kFew && ops::isCheap(expr);
}

bool fuse(Graph& graph, NodeId id, const graph::Use& use) {
  const auto& producer = graph.node(id);
  const auto& consumer = graph.node(use.node);
  const auto* inner = producer.op.as<ops::Pointwise>();
  const auto* outer = consumer.op.as<ops::Pointwise>();
  if (inner == nullptr || outer == nullptr || producer.device != consumer.device) return false;
  const ValueId joined = producer.outputs[0];
  const bool sameShape = graph.value(joined).type.shape == graph.value(consumer.outputs[0]).type.shape;
  if (!sameShape && !isWorthRepeating(inner->expr)) return false;
  std::vector<ValueId> inputs;
  auto expr = compose(outer->expr, consumer.inputs, joined, inner->expr, producer.inputs, inputs);
  if (!hasRoom(expr, inputs.size())) return false;
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

// Pointwise nodes broadcast their operands; one of them must still have the shape of the result.
bool dropStretch(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId source = unstretched(graph, node.inputs[i]);
    if (source == node.inputs[i]) continue;
    auto inputs = node.inputs;
    inputs[i] = source;
    const auto narrowed = node.op.infer(node.name, graph.inputTypes(inputs));
    if (!(narrowed[0].shape == graph.value(node.outputs[0]).type.shape)) continue;
    graph::Patch patch(graph);
    patch.replaceUse({id, static_cast<int>(i)}, source);
    patch.commit();
    return true;
  }
  return false;
}

}  // namespace

int pass_fuse_pointwise(Graph& graph, const Options&) {
  const int narrowed = editUntilDone(graph, [&](NodeId id) { return dropStretch(graph, id); });
  return narrowed + mergePairs(
                        graph, [](const ops::Operator& op) { return op.as<ops::Pointwise>() != nullptr; },
                        [&](NodeId id, const graph::Use& use) { return fuse(graph, id, use); });
}

}  // namespace tenon::passes
