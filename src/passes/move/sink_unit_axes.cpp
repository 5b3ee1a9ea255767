// Lines are pictures of one column within convolutions, [N,C,L,1]. What stands between two convolutions takes them as
// pictures, too: slice(reshape(x)) => reshape(slice(x)), p(reshape(x), y) => reshape(p(x, reshape(y))). Formats of
// pictures then go through, where a tensor of three axes would be row-major.
#include "passes/common/pass.h"

#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// The picture that a reshape makes a line of: [N,C,L,1] -> [N,C,L].
std::optional<ValueId> pictureOf(const Graph& graph, ValueId line) {
  if (producerOp<ops::Reshape>(graph, line) == nullptr || graph.value(line).constraints != graph::Constraints{})
    return std::nullopt;
  const ValueId picture = graph.node(graph.value(line).producer).inputs[0];
  const Shape& from = graph.value(picture).type.shape;
  const Shape& to = graph.value(line).type.shape;
  const bool drops = to.size() == 3 && from.size() == 4 && from[3].isConstant(1) &&
                     std::equal(to.begin(), to.end(), from.begin()) && graph.value(picture).producer != graph::kNone;
  return drops ? std::optional(picture) : std::nullopt;
}

Shape asPicture(Shape line) {
  line.emplace_back(1);
  return line;
}

bool belowSlice(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  const auto* slice = node.op.as<ops::Slice>();
  const auto picture = slice == nullptr ? std::nullopt : pictureOf(graph, node.inputs[0]);
  if (!picture) return false;
  ops::Slice moved = *slice;
  moved.start.emplace_back(0);
  moved.size.emplace_back(1);
  if (!moved.stride.empty()) moved.stride.emplace_back(1);
  auto inputs = node.inputs;
  inputs[0] = *picture;
  const NodeId self[] = {id};
  const NodeId from[] = {graph.value(node.inputs[0]).producer};
  const auto name = graph.node(from[0]).name;
  const Shape line = graph.value(node.outputs[0]).type.shape;
  graph::Patch patch(graph);
  const ValueId result = patch.add(std::move(moved), node.name, std::move(inputs), self);
  patch.replace(node.outputs[0], patch.add(ops::Reshape{line}, name, {result}, from));
  patch.commit();
  return true;
}

// An operand that is neither a line nor as long on each axis broadcasts as it did, with one axis more.
bool belowPointwise(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  const Shape line = graph.value(node.outputs[0]).type.shape;
  NodeId reshape = graph::kNone;
  for (const auto input : node.inputs) {
    const auto picture = pictureOf(graph, input);
    if (picture && graph.value(input).type.shape == line) reshape = graph.value(input).producer;
  }
  if (reshape == graph::kNone) return false;
  const NodeId self[] = {id};
  const NodeId from[] = {reshape};
  const auto name = graph.node(reshape).name;
  graph::Patch patch(graph);
  auto inputs = node.inputs;
  for (auto& input : inputs) {
    const auto& value = graph.value(input);
    const Shape shape = asPicture(value.type.shape);
    if (value.constant != nullptr) {
      if (value.constant->count() != 1)
        input = patch.addConstant(graph::Constant::recipe(ops::Reshape{shape}, {value.constant}), value.name);
    } else if (const auto picture = pictureOf(graph, input)) {
      input = *picture;
    } else {
      input = patch.add(ops::Reshape{shape}, node.name + " (picture)", {input}, {});
    }
  }
  const ValueId result = patch.add(node.op, node.name, std::move(inputs), self);
  patch.replace(node.outputs[0], patch.add(ops::Reshape{line}, name, {result}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_sink_unit_axes(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) {
    if (graph.node(id).outputs.size() != 1) return false;
    return belowSlice(graph, id) || belowPointwise(graph, id);
  });
}

}  // namespace tenon::passes
