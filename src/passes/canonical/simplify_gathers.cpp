// gather(x, constant index) => slice(x); gather(x, all indices in order) => reshape(x); gather(x, i < 0 ? i + extent :
// i) => gather(x, i), since a negative index counts from the end; slice(gather(x, i)) => gather(x, some of i).
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/gather.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "passes/common/terms.h"

namespace tenon::passes {
namespace {

// The constant indices of a gather along one axis; null for other gathers, and where new weights may change them.
graph::ConstantPtr knownIndices(const Graph& graph, const graph::Node& node, const Options& options) {
  const auto* gather = node.op.as<ops::Gather>();
  if (gather == nullptr || gather->mode != ops::GatherMode::kDefault || gather->batchDims != 0) return nullptr;
  const auto& indices = graph.value(node.inputs[1]).constant;
  return indices == nullptr || (options.refittable && !indices->weights().empty()) ? nullptr : indices;
}

size_t axisOf(const ops::Gather& gather, const Shape& in) {
  return static_cast<size_t>(gather.axis < 0 ? gather.axis + static_cast<int64_t>(in.size()) : gather.axis);
}

// One index along one axis, which then goes (or stays with extent 1).
bool ofOne(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto indices = knownIndices(graph, node, options);
  if (indices == nullptr || indices->count() != 1) return false;
  const Shape in = graph.value(node.inputs[0]).type.shape;
  const size_t axis = axisOf(*node.op.as<ops::Gather>(), in);
  if (!in[axis].isConstant()) return false;
  const int64_t extent = in[axis].constant();
  const auto given = indices->view().loadInt(0);
  const int64_t at = given < 0 ? given + extent : given;
  if (at < 0 || at >= extent) return false;
  ops::Slice slice{Shape(in.size(), 0), in, {}, ops::SliceMode::kStrict};
  slice.start[axis] = at;
  slice.size[axis] = 1;
  const auto input = node.inputs[0];
  const auto output = node.outputs[0];
  const auto name = node.name;
  const Shape shape = graph.value(output).type.shape;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const ValueId piece = patch.add(std::move(slice), name, {input}, self);
  patch.replace(output, patch.add(ops::Reshape{shape}, name, {piece}, self));
  patch.commit();
  return true;
}

// Every index of the axis once, in order.
bool ofAll(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto indices = knownIndices(graph, node, options);
  if (indices == nullptr) return false;
  const Shape in = graph.value(node.inputs[0]).type.shape;
  const size_t axis = axisOf(*node.op.as<ops::Gather>(), in);
  const auto view = indices->view();
  if (!in[axis].isConstant(view.count())) return false;
  for (int64_t i = 0; i < view.count(); ++i) {
    if (view.loadInt(i) != i) return false;
  }
  const auto input = node.inputs[0];
  const auto output = node.outputs[0];
  const auto name = node.name;
  const Shape shape = graph.value(output).type.shape;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  patch.replace(output, patch.add(ops::Reshape{shape}, name, {input}, self));
  patch.commit();
  return true;
}

// The integer a term is: a literal, or a constant whose elements are all the same.
std::optional<int64_t> integerOf(const Graph& graph, const Terms& terms, const Term& term) {
  if (term.kind == Term::Kind::kLiteral) return static_cast<int64_t>(term.literal);
  const auto value = terms.value(term);
  const auto constant = value ? graph.value(*value).constant : nullptr;
  if (constant == nullptr || constant->count() != 1 || isFloating(constant->dtype())) return std::nullopt;
  return constant->view().loadInt(0);
}

// Indices i from select(i < 0, i + extent, i).
std::optional<ValueId> unwrapped(const Graph& graph, ValueId indices, int64_t extent) {
  const Terms terms(graph);
  const Term chosen = terms.of(indices);
  if (!terms.is(chosen, ScalarOp::k_select)) return std::nullopt;
  const auto test = terms.pair(terms.operand(chosen, 0), ScalarOp::k_less);
  const auto sum = terms.pair(terms.operand(chosen, 1), ScalarOp::k_add);
  const Term index = terms.operand(chosen, 2);
  if (!test || !sum || !(test->first == index) || integerOf(graph, terms, test->second) != 0) return std::nullopt;
  const Term& added = sum->first == index ? sum->second : sum->first;
  if (!(sum->first == index) && !(sum->second == index)) return std::nullopt;
  const auto value = terms.value(index);
  if (!value || integerOf(graph, terms, added) != extent) return std::nullopt;
  const auto& before = graph.value(*value).type;
  const auto& after = graph.value(indices).type;
  return before.shape == after.shape && before.dtype == after.dtype ? value : std::nullopt;
}

bool ofWrapped(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* gather = node.op.as<ops::Gather>();
  if (gather == nullptr || gather->mode == ops::GatherMode::kNd || options.refittable) return false;
  const Shape in = graph.value(node.inputs[0]).type.shape;
  const size_t axis = axisOf(*gather, in);
  const auto indices = in[axis].isConstant() ? unwrapped(graph, node.inputs[1], in[axis].constant()) : std::nullopt;
  if (!indices) return false;
  const auto op = node.op;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const auto data = node.inputs[0];
  const NodeId from[] = {graph.value(node.inputs[1]).producer, id};
  graph::Patch patch(graph);
  patch.replace(output, patch.add(op, name, {data, *indices}, from));
  patch.commit();
  return true;
}

// The positions along the axis that a slice takes when it leaves the other axes whole; none where it does something
// else.
std::vector<int64_t> positions(const ops::Slice& slice, const Shape& in, size_t axis) {
  if (slice.mode != ops::SliceMode::kStrict || !slice.start[axis].isConstant() || !slice.size[axis].isConstant())
    return {};
  for (size_t i = 0; i < in.size(); ++i) {
    const bool steps = !slice.stride.empty() && !slice.stride[i].isConstant(1);
    if (steps || (i != axis && !(slice.start[i].isConstant(0) && slice.size[i] == in[i]))) return {};
  }
  std::vector<int64_t> result(static_cast<size_t>(slice.size[axis].constant()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = slice.start[axis].constant() + static_cast<int64_t>(i);
  return result;
}

// Where slices are all that reads a gather, and together they read no more than it gives.
bool ofSlices(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto indices = knownIndices(graph, node, options);
  if (indices == nullptr || indices->view().dims.rank != 1) return false;
  const ValueId output = node.outputs[0];
  if (graph.isOutput(output) || !(graph.value(output).constraints == graph::Constraints{})) return false;
  const Shape shape = graph.value(output).type.shape;
  const size_t axis = axisOf(*node.op.as<ops::Gather>(), graph.value(node.inputs[0]).type.shape);
  std::vector<std::pair<NodeId, std::vector<int64_t>>> slices;
  size_t taken = 0;
  for (const auto& use : graph.uses(output)) {
    const auto* slice = graph.node(use.node).op.as<ops::Slice>();
    if (slice == nullptr) return false;
    slices.emplace_back(use.node, positions(*slice, shape, axis));
    if (slices.back().second.empty()) return false;
    taken += slices.back().second.size();
  }
  if (slices.empty() || taken > static_cast<size_t>(indices->count())) return false;
  const auto data = node.inputs[0];
  const auto op = node.op;
  graph::Patch patch(graph);
  for (const auto& [slice, picks] : slices) {
    HostTensor some(indices->dtype(), {static_cast<int64_t>(picks.size())});
    for (size_t i = 0; i < picks.size(); ++i)
      some.view().storeInt(static_cast<int64_t>(i), indices->view().loadInt(picks[i]));
    const ValueId kept = patch.addConstant(graph::Constant::own(std::move(some)));
    const NodeId from[] = {id, slice};
    patch.replace(graph.node(slice).outputs[0], patch.add(op, graph.node(slice).name, {data, kept}, from));
  }
  patch.commit();
  return true;
}

}  // namespace

int pass_simplify_gathers(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) {
    return ofWrapped(graph, id, options) || ofOne(graph, id, options) || ofAll(graph, id, options) ||
           ofSlices(graph, id, options);
  });
}

}  // namespace tenon::passes
