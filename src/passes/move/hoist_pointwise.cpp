// p(reshape(x)) => reshape(p(x)); p(concat(x, y)) => concat(p(x), p(y)) where each piece can take p into what computes
// it.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

bool isScalar(const graph::Value& value) { return value.constant != nullptr && value.constant->count() == 1; }

// Every operand a reshape that only this node reads, of tensors of one shape, or a constant of one element or along the
// last axis, where the reshape keeps that.
bool aboveReshape(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const Shape outShape = graph.value(node.outputs[0]).type.shape;
  std::vector<NodeId> from;
  std::optional<Shape> source;
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.constant != nullptr &&
        (isScalar(value) || variesAlong(value.constant->dims(), outShape, static_cast<int>(outShape.size()) - 1)))
      continue;
    const auto user = onlyUser(graph, input);
    if (producerOp<ops::Reshape>(graph, input) == nullptr || !user || user->node != id || value.type.shape != outShape)
      return false;
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

// The part of a constant operand that belongs to the piece [first, first + count) of a concatenation of the given rank.
graph::ConstantPtr partOf(const graph::ConstantPtr& constant, int rank, int64_t axis, int64_t first, int64_t count) {
  const int64_t at = axis - (rank - constant->dims().rank);
  if (at < 0 || constant->dims()[static_cast<int>(at)] == 1) return constant;
  ops::Slice slice;
  for (const int64_t extent : constant->dims()) {
    slice.start.emplace_back(0);
    slice.size.emplace_back(extent);
  }
  slice.start[static_cast<size_t>(at)] = first;
  slice.size[static_cast<size_t>(at)] = count;
  return graph::Constant::recipe(slice, {constant});
}

// The operand that is a concatenation only this node reads, beside constants that do not stretch it; nothing where
// there is none.
std::optional<size_t> concatOperand(const Graph& graph, const graph::Node& node) {
  std::optional<size_t> found;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (graph.value(node.inputs[i]).constant != nullptr) continue;
    if (found || producerOp<ops::Concat>(graph, node.inputs[i]) == nullptr || !onlyUse(graph, node.inputs[i]))
      return std::nullopt;
    found = i;
  }
  if (!found || graph.value(node.inputs[*found]).type.shape != graph.value(node.outputs[0]).type.shape)
    return std::nullopt;
  if (node.inputs.size() == 1) return found;
  // Pieces that stand somewhere known.
  const auto& concat = graph.node(graph.value(node.inputs[*found]).producer);
  const int64_t axis = concat.op.as<ops::Concat>()->axis;
  const bool counted = std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId piece) {
    const Shape& shape = graph.value(piece).type.shape;
    return shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)].isConstant();
  });
  return counted ? found : std::nullopt;
}

bool aboveConcat(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto& expr = node.op.as<ops::Pointwise>()->expr;
  const auto operand = concatOperand(graph, node);
  if (!operand || expr.instructions.size() > 2) return false;
  const NodeId concatId = graph.value(node.inputs[*operand]).producer;
  const auto joined = *graph.node(concatId).op.as<ops::Concat>();
  const auto pieces = graph.node(concatId).inputs;
  const bool relu = expr == ops::ScalarExpr::of(ops::ScalarOp::k_relu);
  int fused = 0;
  const bool taken = std::all_of(pieces.begin(), pieces.end(), [&](ValueId piece) {
    const NodeId producer = graph.value(piece).producer;
    const bool fuses = producer != graph::kNone && graph.node(producer).op.facts().contraction && onlyUse(graph, piece);
    fused += fuses ? 1 : 0;
    return fuses || (relu && isNonNegative(graph, piece)) || graph.value(piece).constant != nullptr;
  });
  if (!taken || (fused == 0 && !relu)) return false;
  const NodeId self[] = {id};
  const NodeId concatOnly[] = {concatId};
  const auto op = node.op;
  const auto operands = node.inputs;
  const auto name = node.name;
  const auto concatName = graph.node(concatId).name;
  const auto output = node.outputs[0];
  const int rank = graph.value(output).type.rank();
  const int64_t axis = joined.axis < 0 ? joined.axis + rank : joined.axis;
  graph::Patch patch(graph);
  std::vector<ValueId> results;
  int64_t first = 0;
  for (const auto piece : pieces) {
    if (relu && isNonNegative(graph, piece)) {
      results.push_back(piece);
      continue;
    }
    auto inputs = operands;
    inputs[*operand] = piece;
    const Extent count = graph.value(piece).type.shape[static_cast<size_t>(axis)];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (i == *operand) continue;
      const auto constant = graph.value(inputs[i]).constant;
      const auto part = partOf(constant, rank, axis, first, count.constant());
      if (part != constant) inputs[i] = patch.addConstant(part, graph.value(inputs[i]).name + "_part");
    }
    if (inputs.size() > 1) first += count.constant();
    results.push_back(patch.add(op, name, std::move(inputs), self));
  }
  patch.replace(output, patch.add(joined, concatName, std::move(results), concatOnly));
  patch.commit();
  return true;
}

}  // namespace

int pass_hoist_pointwise(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) {
    return graph.node(id).op.as<ops::Pointwise>() != nullptr && (aboveReshape(graph, id) || aboveConcat(graph, id));
  });
}

}  // namespace tenon::passes
