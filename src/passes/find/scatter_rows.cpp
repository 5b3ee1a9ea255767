// scatter_reduce(x, p(i repeated along the axes behind the scattered one), u) => scatter_reduce{rows}(x, p(i), u):
// whole rows are combined, and indices are compared once for each.
#include "passes/common/pass.h"

#include "ops/op/pointwise.h"
#include "ops/op/scatter_reduce.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// Whether the slice repeats what stands along the axes behind `axis`, and nothing else.
bool repeatsRows(const Graph& graph, const graph::Node& node, size_t axis) {
  const auto* slice = node.op.as<ops::Slice>();
  if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || node.inputs.size() != 1) return false;
  const Shape& from = graph.value(node.inputs[0]).type.shape;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool isWhole = slice->start[i].isConstant(0) && slice->size[i] == from[i] &&
                         (slice->stride.empty() || slice->stride[i].isConstant(1));
    if (i > axis ? !from[i].isConstant(1) || !slice->start[i].isConstant(0) : !isWhole) return false;
  }
  return true;
}

bool toRows(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* scatter = node.op.as<ops::ScatterReduce>();
  if (scatter == nullptr || scatter->rows) return false;
  const Shape data = graph.value(node.inputs[0]).type.shape;
  const Shape updates = graph.value(node.inputs[2]).type.shape;
  const auto axis =
      static_cast<size_t>(scatter->axis < 0 ? scatter->axis + static_cast<int64_t>(data.size()) : scatter->axis);
  if (axis + 1 == data.size()) return false;
  for (size_t i = axis + 1; i < data.size(); ++i) {
    if (!(data[i] == updates[i])) return false;
  }
  NodeId repeats = graph.value(node.inputs[1]).producer;
  if (repeats == graph::kNone) return false;
  const auto* pointwise = graph.node(repeats).op.as<ops::Pointwise>();
  const NodeId formula = pointwise != nullptr && graph.node(repeats).inputs.size() == 1 ? repeats : graph::kNone;
  if (formula != graph::kNone) repeats = graph.value(graph.node(formula).inputs[0]).producer;
  if (repeats == graph::kNone || !repeatsRows(graph, graph.node(repeats), axis)) return false;

  auto rows = *scatter;
  rows.rows = true;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const auto x = node.inputs[0];
  const auto u = node.inputs[2];
  ValueId indices = graph.node(repeats).inputs[0];
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  if (formula != graph::kNone) {
    const NodeId own[] = {formula};
    const auto op = graph.node(formula).op;
    indices = patch.add(op, graph.node(formula).name, {indices}, own);
  }
  patch.replace(output, patch.add(rows, name, {x, indices, u}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_scatter_rows(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return toRows(graph, id); });
}

}  // namespace tenon::passes
