// attention(q, repeat(k), repeat(v)) => attention(q, k, v), where repeat() gives each head of k so many neighbours:
// [..,G,T,D] -> [..,G,1,T,D] -> [..,G,R,T,D] -> [..,G*R,T,D].
#include "passes/common/pass.h"

#include "ops/op/attention.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

// What is repeated, and how often.
struct Repeated {
  ValueId source;  // [..,G,1,T,D], of as many elements as [..,G,T,D]
  Shape shape;     // [..,G,T,D]
  Extent times;
};

std::optional<Repeated> repeated(const Graph& graph, ValueId value) {
  if (producerOp<ops::Reshape>(graph, value) == nullptr || graph.value(value).constraints != graph::Constraints{})
    return std::nullopt;
  const ValueId stretched = graph.node(graph.value(value).producer).inputs[0];
  const auto* slice = producerOp<ops::Slice>(graph, stretched);
  if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || slice->stride.empty() ||
      graph.value(stretched).constraints != graph::Constraints{})
    return std::nullopt;
  const ValueId source = graph.node(graph.value(stretched).producer).inputs[0];
  const Shape& heads = graph.value(value).type.shape;
  const Shape& before = graph.value(source).type.shape;
  if (heads.size() < 3 || before.size() != heads.size() + 1) return std::nullopt;
  const size_t axis = before.size() - 3;  // of the repetition
  Repeated result{source, before, slice->size[axis]};
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  for (size_t i = 0; i < before.size(); ++i) {
    const bool whole = slice->stride[i].isConstant(1) && slice->size[i] == before[i];
    const bool repeats = i == axis && before[i].isConstant(1) && slice->stride[i].isConstant(0);
    if (!slice->start[i].isConstant(0) || (!whole && !repeats)) return std::nullopt;
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    if (!(heads[i] == (i + 3 == heads.size() ? result.shape[i] * result.times : result.shape[i]))) return std::nullopt;
  }
  return result;
}

bool group(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* attention = node.op.as<ops::Attention>();
  if (attention == nullptr || attention->heads != 0) return false;
  const auto keys = repeated(graph, node.inputs[1]);
  const auto values = repeated(graph, node.inputs[2]);
  if (!keys || !values || !(keys->times == values->times) || !keys->times.isConstant() || keys->times.constant() < 2)
    return false;
  auto types = graph.inputTypes(node.inputs);
  types[1].shape = keys->shape;
  types[2].shape = values->shape;
  if (!keys->shape[keys->shape.size() - 3].isConstant() || (options.computes && !options.computes(*attention, types)))
    return false;
  auto inputs = node.inputs;
  const auto op = *attention;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  inputs[1] = patch.add(ops::Reshape{keys->shape}, name + "_keys", {keys->source}, {});
  inputs[2] = patch.add(ops::Reshape{values->shape}, name + "_values", {values->source}, {});
  patch.replace(output, patch.add(op, name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int pass_group_queries(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return group(graph, id, options); });
}

}  // namespace tenon::passes
