// transpose(reshape(x)) that makes rows of an image's pixels => reshape(transpose(x)), and back likewise: a transpose
// of the image itself, which is no work where the image is channels-last.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

using Permutation = std::vector<int64_t>;

bool swapsRows(const ops::Transpose* transpose) {
  return transpose != nullptr && transpose->permutation == Permutation{0, 2, 1};
}

bool isImage(const Shape& shape) { return shape.size() == 4 || shape.size() == 5; }

// The channels of a tensor of this rank behind its pixels, or in front of them.
Permutation channelsLast(size_t rank) {
  Permutation result{0};
  for (size_t axis = 2; axis < rank; ++axis) result.push_back(static_cast<int64_t>(axis));
  result.push_back(1);
  return result;
}
Permutation channelsFirst(size_t rank) {
  Permutation result{0, static_cast<int64_t>(rank) - 1};
  for (size_t axis = 1; axis + 1 < rank; ++axis) result.push_back(static_cast<int64_t>(axis));
  return result;
}

bool isPlain(const Graph& graph, ValueId value) {
  return graph.value(value).constraints == graph::Constraints{} && !graph.isOutput(value);
}

// [N,C,s..] -> [N,C,P] -> [N,P,C]
bool toRows(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (!swapsRows(node.op.as<ops::Transpose>())) return false;
  const ValueId flat = node.inputs[0];
  if (producerOp<ops::Reshape>(graph, flat) == nullptr || !isPlain(graph, flat)) return false;
  const NodeId reshape = graph.value(flat).producer;
  const ValueId image = graph.node(reshape).inputs[0];
  const Shape in = graph.value(image).type.shape, between = graph.value(flat).type.shape;
  if (!isImage(in) || graph.value(image).constant != nullptr || !(in[0] == between[0]) || !(in[1] == between[1]) ||
      in[1].isConstant(1))
    return false;
  const NodeId from[] = {reshape, id};
  const ValueId output = node.outputs[0];
  const Shape rows = graph.value(output).type.shape;
  const auto name = node.name, flatName = graph.node(reshape).name;
  graph::Patch patch(graph);
  const ValueId moved = patch.add(ops::Transpose{channelsLast(in.size())}, name, {image}, std::span(from + 1, 1));
  patch.replace(output, patch.add(ops::Reshape{rows}, flatName, {moved}, std::span(from, 1)));
  patch.commit();
  return true;
}

// [N,P,C] -> [N,C,P] -> [N,C,s..]
bool toImage(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Reshape>() == nullptr) return false;
  const ValueId flat = node.inputs[0];
  const Shape out = graph.value(node.outputs[0]).type.shape, between = graph.value(flat).type.shape;
  if (!isImage(out) || !swapsRows(producerOp<ops::Transpose>(graph, flat)) || !isPlain(graph, flat) ||
      !(out[0] == between[0]) || !(out[1] == between[1]) || out[1].isConstant(1))
    return false;
  const NodeId transpose = graph.value(flat).producer;
  const ValueId rows = graph.node(transpose).inputs[0];
  if (graph.value(rows).constant != nullptr) return false;
  const NodeId from[] = {transpose, id};
  const ValueId output = node.outputs[0];
  const auto name = graph.node(transpose).name, imageName = node.name;
  Shape pixels{out[0]};
  pixels.insert(pixels.end(), out.begin() + 2, out.end());
  pixels.push_back(out[1]);
  graph::Patch patch(graph);
  const ValueId image = patch.add(ops::Reshape{pixels}, imageName, {rows}, std::span(from + 1, 1));
  patch.replace(output, patch.add(ops::Transpose{channelsFirst(out.size())}, name, {image}, std::span(from, 1)));
  patch.commit();
  return true;
}

}  // namespace

int pass_image_rows(Graph& graph, const Options& options) {
  if (!factsOf(options.device).convolvesChannelsLast) return 0;
  return editUntilDone(graph, [&](NodeId id) { return toRows(graph, id) || toImage(graph, id); });
}

}  // namespace tenon::passes
