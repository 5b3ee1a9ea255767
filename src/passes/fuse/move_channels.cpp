// reshape(transpose(rows)) that makes a picture of rows of pixels => transpose(reshape(rows)) of [N,H,W,C], and so for
// rows that are made of a picture. The transpose then moves the channels of a picture alone, which costs nothing where
// that is channels-last. A product that reads the channels of a picture's pixels in front of these, as one axis, reads
// them behind: its weights are sorted instead.
#include "passes/common/pass.h"

#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pooling.h"
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

// The picture whose channels and pixels are the inner axis of rows, channels first: [N,C,H,W] -> [N,C*H*W], or
// [N,C,H,W] -> [N,H,C,W] -> [N,H,C*W]. The former costs nothing where the picture is row-major, so that it counts only
// where what computes it is channels-last most of the time.
std::optional<ValueId> flattened(const Graph& graph, ValueId rows) {
  if (producerOp<ops::Reshape>(graph, rows) == nullptr) return std::nullopt;
  const ValueId before = graph.node(graph.value(rows).producer).inputs[0];
  if (!isPicture(graph, before) || !onlyUse(graph, rows) || !onlyUse(graph, before)) return std::nullopt;
  const Shape& shape = graph.value(rows).type.shape;
  const Shape& from = graph.value(before).type.shape;
  if (const auto* transpose = producerOp<ops::Transpose>(graph, before)) {
    const bool isByLine = transpose->permutation == std::vector<int64_t>{0, 2, 1, 3} && shape.size() == 3 &&
                          shape[0] == from[0] && shape[1] == from[1];
    return isByLine ? std::optional(graph.node(graph.value(before).producer).inputs[0]) : std::nullopt;
  }
  const bool isPixels =
      producerOp<ops::Convolution>(graph, before) != nullptr || producerOp<ops::Pooling>(graph, before) != nullptr;
  return isPixels && shape.size() == 2 && shape[0] == from[0] ? std::optional(before) : std::nullopt;
}

bool intoWeights(Graph& graph, NodeId id, const Options& options) {
  const auto node = graph.node(id);
  const auto* product = node.op.as<ops::MatMul>();
  if (product == nullptr || product->transposeA || options.refittable) return false;
  const auto weights = graph.value(node.inputs[1]).constant;
  const auto picture = flattened(graph, node.inputs[0]);
  if (!picture || weights == nullptr) return false;
  const Dims& w = weights->dims();
  const Shape x = graph.value(*picture).type.shape;
  const Shape rows = graph.value(node.inputs[0]).type.shape;
  constexpr int64_t kPack = 8;  // channels that kernels of channels-last pictures take at once
  if (w.count(0, w.rank - 2) != 1 || !x[1].isConstant() || x[1].constant() % kPack != 0) return false;
  const int64_t inner = w[w.rank - (product->transposeB ? 1 : 2)];
  const int64_t columns = w[w.rank - (product->transposeB ? 2 : 1)];
  if (!rows.back().isConstant(inner) || inner == x[1].constant()) return false;
  const Extent channels = x[1];
  const Extent pixels(inner / x[1].constant());
  const Extent others(columns);
  const Shape apart = product->transposeB ? Shape{others, channels, pixels} : Shape{channels, pixels, others};
  const ops::Transpose swap{product->transposeB ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0, 2}};
  Shape whole;
  for (const int64_t extent : w) whole.emplace_back(extent);
  const auto sorted = graph::Constant::recipe(
      ops::Reshape{whole}, {graph::Constant::recipe(swap, {graph::Constant::recipe(ops::Reshape{apart}, {weights})})});
  const NodeId reshape = graph.value(node.inputs[0]).producer;
  const NodeId from[] = {reshape};
  const NodeId self[] = {id};
  const auto name = graph.node(reshape).name;
  auto inputs = node.inputs;
  graph::Patch patch(graph);
  const ValueId last = patch.add(ops::Transpose{{0, 2, 3, 1}}, name + " (pixels)", {*picture}, from);
  inputs[0] = patch.add(ops::Reshape{rows}, name, {last}, from);
  inputs[1] = patch.addConstant(sorted, graph.value(node.inputs[1]).name + " by pixels");
  patch.replace(node.outputs[0], patch.add(node.op, node.name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int pass_move_channels(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) {
    if (graph.node(id).outputs.size() != 1) return false;
    return toPicture(graph, id) || toRows(graph, id) || intoWeights(graph, id, options);
  });
}

}  // namespace tenon::passes
