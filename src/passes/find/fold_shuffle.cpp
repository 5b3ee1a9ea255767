// Recognises reshape, transpose, reshape over channels. On GPUs only of images: what looks like it in other tensors may
// be windows or heads, which other passes and one transpose serve as well.
#include "passes/common/pass.h"

#include "ops/op/gather.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

// The producer of the node's input, if it is a T whose result nobody looks at in between.
template <typename T>
NodeId before(const Graph& graph, NodeId id) {
  const auto& value = graph.value(graph.node(id).inputs[0]);
  if (value.producer == graph::kNone || value.constraints.debug || graph.isOutput(graph.node(id).inputs[0]))
    return graph::kNone;
  return graph.node(value.producer).op.as<T>() != nullptr ? value.producer : graph::kNone;
}

bool swapsAxesOneAndTwo(const ops::Transpose& transpose) {
  const auto& p = transpose.permutation;
  if (p.size() < 4 || p[0] != 0 || p[1] != 2 || p[2] != 1) return false;
  for (size_t axis = 3; axis < p.size(); ++axis) {
    if (p[axis] != static_cast<int64_t>(axis)) return false;
  }
  return true;
}

bool foldOne(Graph& graph, NodeId id, const Options& options) {
  if (graph.node(id).op.as<ops::Reshape>() == nullptr) return false;
  const NodeId middle = before<ops::Transpose>(graph, id);
  if (middle == graph::kNone || !swapsAxesOneAndTwo(*graph.node(middle).op.as<ops::Transpose>())) return false;
  const NodeId first = before<ops::Reshape>(graph, middle);
  if (first == graph::kNone) return false;
  const auto input = graph.node(first).inputs[0];
  const auto output = graph.node(id).outputs[0];
  const Shape shape = graph.value(input).type.shape;
  const Shape split = graph.value(graph.node(first).outputs[0]).type.shape;
  if (shape != graph.value(output).type.shape || split.size() != shape.size() + 1) return false;
  if (factsOf(options.device).kind == DeviceKind::kGpu && shape.size() < 4) return false;
  if (!(split[0] == shape[0]) || !split[1].isConstant() || !split[2].isConstant() || !shape[1].isConstant())
    return false;
  for (size_t axis = 2; axis < shape.size(); ++axis) {
    if (!(split[axis + 1] == shape[axis])) return false;
  }
  const int64_t groups = split[1].constant();
  const int64_t each = split[2].constant();
  HostTensor indices(DataType::kI32, {groups * each});
  for (int64_t i = 0; i < groups * each; ++i) indices.view().storeInt(i, i % groups * each + i / groups);
  const NodeId from[] = {first, middle, id};
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  const auto channels = patch.addConstant(graph::Constant::own(std::move(indices)), name + ".channels");
  ops::Gather gather;
  gather.axis = 1;
  patch.replace(output, patch.add(gather, name, {input, channels}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_fold_shuffle(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return foldOne(graph, id, options); });
}

}  // namespace tenon::passes
