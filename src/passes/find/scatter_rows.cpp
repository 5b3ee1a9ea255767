// scatter_reduce(x, p(i repeated along the axes behind the scattered one), u) => scatter_reduce{rows}(x, p(i), u),
// where p is any scalar work, in one node or in several: whole rows are combined, and indices are compared once for
// each.
#include "passes/common/pass.h"

#include <algorithm>

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

// Whether the value, aligned at the last axes, has the extent 1 along the axes behind `axis` of `rank`.
bool isOneElementARow(const Graph& graph, ValueId value, size_t axis, size_t rank) {
  const Shape& shape = graph.value(value).type.shape;
  for (size_t i = axis + 1; i < rank; ++i) {
    const size_t missing = rank - shape.size();
    if (i >= missing && !shape[i - missing].isConstant(1)) return false;
  }
  return true;
}

constexpr int kMostSteps = 8;  // of scalar work on indices

// Whether all elements of a row are computed from what is repeated along it.
bool isEqualAlongRows(const Graph& graph, ValueId value, size_t axis, size_t rank, int steps = kMostSteps) {
  if (isOneElementARow(graph, value, axis, rank)) return true;
  const NodeId producer = graph.value(value).producer;
  if (producer == graph::kNone || steps == 0 || graph.value(value).type.shape.size() != rank) return false;
  const auto& node = graph.node(producer);
  if (node.outputs.size() != 1) return false;
  if (node.op.as<ops::Pointwise>() == nullptr) return repeatsRows(graph, node, axis);
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return isEqualAlongRows(graph, input, axis, rank, steps - 1); });
}

// One element of each row of such a value.
ValueId oneOfEachRow(const Graph& graph, graph::Patch& patch, ValueId value, size_t axis, size_t rank) {
  if (isOneElementARow(graph, value, axis, rank)) return value;
  const NodeId producer = graph.value(value).producer;
  const auto node = graph.node(producer);
  if (node.op.as<ops::Pointwise>() == nullptr) return node.inputs[0];
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(oneOfEachRow(graph, patch, input, axis, rank));
  const NodeId from[] = {producer};
  return patch.add(node.op, node.name, std::move(inputs), from);
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
  if (!isEqualAlongRows(graph, node.inputs[1], axis, data.size())) return false;

  auto rows = *scatter;
  rows.rows = true;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const auto inputs = node.inputs;
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  const ValueId indices = oneOfEachRow(graph, patch, inputs[1], axis, data.size());
  patch.replace(output, patch.add(rows, name, {inputs[0], indices, inputs[2]}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_scatter_rows(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return toRows(graph, id); });
}

}  // namespace tenon::passes
