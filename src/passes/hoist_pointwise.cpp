// p(reshape(x)) => reshape(p(x)); p(concat(x, y)) => concat(p(x), p(y)) where each piece can take p into what computes it.
#include "passes/hoist_pointwise.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "passes/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Uses = std::vector<std::vector<graph::Use>>;

bool isScalar(const graph::Value& value) { return value.constant != nullptr && value.constant->count() == 1; }

// Every operand a reshape that only this node reads, of tensors of one shape, or a constant of one element or along the last axis,
// where the reshape keeps that.
bool aboveReshape(Graph& graph, NodeId id, const Uses& uses) {
  const auto& node = graph.node(id);
  const Shape outShape = graph.value(node.outputs[0]).type.shape;
  std::vector<NodeId> from;
  std::optional<Shape> source;
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.constant != nullptr && (isScalar(value) || variesAlong(value.constant->dims(), outShape, static_cast<int>(outShape.size()) - 1))) continue;
    const auto user = onlyUser(graph, uses, input);
    if (producerOp<ops::Reshape>(graph, input) == nullptr || !user || user->node != id || value.type.shape != outShape) return false;
    const ValueId before = graph.node(value.producer).inputs[0];
    if (graph.value(before).producer == graph::kNone) return false;  // nothing there that could take it
    const Shape& shape = graph.value(before).type.shape;
    if (source && !(*source == shape)) return false;
    source = shape;
    from.push_back(value.producer);
  }
  if (!source) return false;
  const bool keepsLast = !source->empty() && !outShape.empty() && source->back() == outShape.back();
  for (const auto input : node.inputs) {
    const auto& constant = graph.value(input).constant;
    if (constant != nullptr && constant->count() == 1 && constant->dims().rank > 0 && source->empty()) return false;
    if (constant != nullptr && constant->count() != 1 && !keepsLast) return false;
  }
  auto inputs = node.inputs;
  const NodeId self[] = {id};
  const auto op = node.op;
  const auto name = node.name;
  const auto output = node.outputs[0];
  graph::Patch patch(graph);
  for (auto& input : inputs) {
    const auto constant = graph.value(input).constant;
    if (constant == nullptr) {
      input = graph.node(graph.value(input).producer).inputs[0];
    } else if (constant->dims().rank > 1) {
      input = patch.addConstant(asVector(constant), graph.value(input).name);
    }
  }
  const ValueId result = patch.add(op, name, std::move(inputs), self);
  patch.replace(output, patch.add(ops::Reshape{outShape}, graph.node(from[0]).name, {result}, from));
  patch.commit();
  return true;
}

bool aboveConcat(Graph& graph, NodeId id, const Uses& uses) {
  const auto& node = graph.node(id);
  const auto& expr = node.op.as<ops::Pointwise>()->expr;
  if (node.inputs.size() != 1 || !onlyUse(graph, uses, node.inputs[0])) return false;
  const auto* concat = producerOp<ops::Concat>(graph, node.inputs[0]);
  if (concat == nullptr || expr.instructions.size() > 2) return false;
  const NodeId concatId = graph.value(node.inputs[0]).producer;
  const auto pieces = graph.node(concatId).inputs;
  const bool relu = expr == ops::ScalarExpr::of(ops::ScalarOp::k_relu);
  const bool taken = std::all_of(pieces.begin(), pieces.end(), [&](ValueId piece) {
    const NodeId producer = graph.value(piece).producer;
    const bool fuses = producer != graph::kNone && graph.node(producer).op.facts().contraction && onlyUse(graph, uses, piece);
    return fuses || (relu && isNonNegative(graph, piece));
  });
  if (!taken) return false;
  const NodeId self[] = {id};
  const NodeId concatOnly[] = {concatId};
  const auto op = node.op;
  const auto joined = graph.node(concatId).op;
  const auto name = node.name;
  const auto concatName = graph.node(concatId).name;
  const auto output = node.outputs[0];
  graph::Patch patch(graph);
  std::vector<ValueId> results;
  for (const auto piece : pieces) {
    const bool stays = relu && isNonNegative(graph, piece);
    results.push_back(stays ? piece : patch.add(op, name, {piece}, self));
  }
  patch.replace(output, patch.add(joined, concatName, std::move(results), concatOnly));
  patch.commit();
  return true;
}

}  // namespace

int hoistPointwise(Graph& graph, const Options&) {
  int edits = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    const auto order = graph.order();
    const auto uses = graph.allUses();
    for (const auto id : order) {
      if (graph.node(id).op.as<ops::Pointwise>() == nullptr) continue;
      if (!aboveReshape(graph, id, uses) && !aboveConcat(graph, id, uses)) continue;
      changed = true;
      ++edits;
      break;
    }
  }
  return edits;
}

}  // namespace tenon::passes
