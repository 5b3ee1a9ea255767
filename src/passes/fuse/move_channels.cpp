// reshape(transpose(rows)) that makes a picture of rows of pixels => transpose(reshape(rows)) of [N,H,W,C], and so for
// rows that are made of a picture. The transpose then moves the channels of a picture alone, which costs nothing where
// that is channels-last.
#include "passes/common/pass.h"

#include "ops/op/reshape.h"
#include "ops/op/transpose.h"
#include "passes/common/pixel_rows.h"

namespace tenon::passes {
namespace {

constexpr size_t kPictureAxes = 4;

bool isPicture(const Graph& graph, ValueId id) { return graph.value(id).type.shape.size() == kPictureAxes; }

bool toPicture(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  if (node.op.as<ops::Reshape>() == nullptr || !isPicture(graph, node.outputs[0])) return false;
  const auto rows = pixelRowsOf(graph, node.outputs[0]);
  if (!rows || !onlyUse(graph, node.inputs[0])) return false;
  const Shape y = graph.value(node.outputs[0]).type.shape;
  const NodeId transpose = graph.value(node.inputs[0]).producer;
  const NodeId from[] = {transpose, id};
  const auto name = graph.node(transpose).name;
  graph::Patch patch(graph);
  const ValueId lines = patch.add(ops::Reshape{{y[0], y[2], y[3], y[1]}}, node.name, {*rows}, std::span(from + 1, 1));
  patch.replace(node.outputs[0], patch.add(ops::Transpose{{0, 3, 1, 2}}, name, {lines}, std::span(from, 1)));
  patch.commit();
  return true;
}

bool toRows(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  if (node.op.as<ops::Reshape>() == nullptr || !isPicture(graph, node.inputs[0])) return false;
  const auto swapped = onlyUse(graph, node.outputs[0]);
  const auto* transpose = swapped ? graph.node(swapped->node).op.as<ops::Transpose>() : nullptr;
  const Shape x = graph.value(node.inputs[0]).type.shape;
  const Shape flat = graph.value(node.outputs[0]).type.shape;
  if (transpose == nullptr || transpose->permutation != std::vector<int64_t>{0, 2, 1}) return false;
  if (!(flat[0] == x[0]) || !(flat[1] == x[1])) return false;
  const auto behind = graph.node(swapped->node);
  const NodeId from[] = {id, swapped->node};
  const Shape rows = graph.value(behind.outputs[0]).type.shape;
  graph::Patch patch(graph);
  const ValueId lines = patch.add(ops::Transpose{{0, 2, 3, 1}}, behind.name, {node.inputs[0]}, std::span(from + 1, 1));
  patch.replace(behind.outputs[0], patch.add(ops::Reshape{rows}, node.name, {lines}, std::span(from, 1)));
  patch.commit();
  return true;
}

}  // namespace

int pass_move_channels(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) { return toPicture(graph, id) || toRows(graph, id); });
}

}  // namespace tenon::passes
