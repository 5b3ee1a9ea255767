// gather(concat(x, y, ...), i) => concat_gather(x, i, y, ...) for known indices, and gathers of gathers of one axis =>
// one: what is picked of tensors side by side is copied once, from where it is.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/concat_gather.h"
#include "ops/op/gather.h"

namespace tenon::passes {
namespace {

constexpr size_t kMostParts = 32;  // that kernels take

// Where an element of a result comes from: a tensor, and the index along the axis.
struct Source {
  ValueId tensor;
  int64_t at;
};

struct Picks {
  int64_t axis = 0;  // not negative
  std::vector<Source> sources;
};

int64_t extentAlong(const Graph& graph, ValueId value, int64_t axis) {
  const Extent& extent = graph.value(value).type.shape[static_cast<size_t>(axis)];
  return extent.isConstant() ? extent.constant() : -1;
}

// The tensors that make up the operand of a gather: those of a concatenation of the axis, or itself.
std::vector<ValueId> partsOf(const Graph& graph, ValueId operand, int64_t axis) {
  const auto* concat = producerOp<ops::Concat>(graph, operand);
  const auto rank = static_cast<int64_t>(graph.value(operand).type.rank());
  if (concat == nullptr || (concat->axis < 0 ? concat->axis + rank : concat->axis) != axis ||
      graph.value(operand).constraints != graph::Constraints{})
    return {operand};
  return graph.node(graph.value(operand).producer).inputs;
}

// What a node picks, where indices and extents are known and all tensors are computed; nothing for other nodes.
std::optional<Picks> picksOf(const Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* gather = node.op.as<ops::Gather>();
  const auto* joined = node.op.as<ops::ConcatGather>();
  if (joined == nullptr && (gather == nullptr || gather->mode != ops::GatherMode::kDefault || gather->batchDims != 0))
    return std::nullopt;
  const auto& indices = graph.value(node.inputs[ops::ConcatGather::kIndices]).constant;
  const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).type.rank());
  if (indices == nullptr || indices->dims().rank != 1 || (options.refittable && !indices->weights().empty()))
    return std::nullopt;
  Picks result;
  result.axis = joined != nullptr ? joined->axis : gather->axis;
  if (result.axis < 0) result.axis += rank;
  std::vector<ValueId> parts;
  if (joined != nullptr) {
    parts = node.inputs;
    parts.erase(parts.begin() + ops::ConcatGather::kIndices);
  } else {
    parts = partsOf(graph, node.inputs[0], result.axis);
  }
  std::vector<int64_t> ends;  // of the parts, along the axis
  for (const ValueId part : parts) {
    const int64_t extent = extentAlong(graph, part, result.axis);
    const int64_t before = ends.empty() ? 0 : ends.back();
    if (extent < 0 || extent > INT64_MAX - before || graph.value(part).constant != nullptr) return std::nullopt;
    ends.push_back(before + extent);
  }
  for (int64_t i = 0; i < indices->count(); ++i) {
    const int64_t given = indices->view().loadInt(i);
    const int64_t at = given < 0 ? given + ends.back() : given;
    if (at < 0 || at >= ends.back()) return std::nullopt;
    const auto part = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    result.sources.push_back({parts[part], part == 0 ? at : at - ends[part - 1]});
  }
  return result;
}

// The node as a concat_gather that reads these sources. False where there is no kernel for it.
bool replace(Graph& graph, NodeId id, const Picks& picks, std::span<const NodeId> from, const Options& options) {
  std::vector<ValueId> tensors;
  for (const auto& source : picks.sources) {
    if (std::find(tensors.begin(), tensors.end(), source.tensor) == tensors.end()) tensors.push_back(source.tensor);
  }
  if (tensors.empty() || tensors.size() > kMostParts) return false;
  HostTensor table(DataType::kI32, {static_cast<int64_t>(picks.sources.size())});
  for (size_t i = 0; i < picks.sources.size(); ++i) {
    int64_t at = picks.sources[i].at;
    for (const ValueId tensor : tensors) {
      if (tensor == picks.sources[i].tensor) break;
      at += extentAlong(graph, tensor, picks.axis);
    }
    if (at > INT32_MAX) return false;  // the table's type
    table.view().storeInt(static_cast<int64_t>(i), at);
  }
  const ops::ConcatGather op{picks.axis};
  std::vector<ops::TensorType> types;
  for (const ValueId tensor : tensors) types.push_back(graph.value(tensor).type);
  types.insert(types.begin() + 1, {DataType::kI32, {Extent(table.view().count())}, std::nullopt});
  if (options.computes && !options.computes(op, types)) return false;
  const auto output = graph.node(id).outputs[0];
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  auto inputs = tensors;
  inputs.insert(inputs.begin() + 1, patch.addConstant(Constant::own(std::move(table)), name + "_picks"));
  patch.replace(output, patch.add(op, name, std::move(inputs), from));
  patch.commit();
  return true;
}

// Gathers of concatenations, and of the channels of images, whose layout other gathers keep from being channels-last.
bool ofGather(Graph& graph, NodeId id, const Options& options) {
  if (graph.node(id).op.as<ops::Gather>() == nullptr) return false;
  const ValueId operand = graph.node(id).inputs[0];
  const auto picks = picksOf(graph, id, options);
  if (!picks || bits(graph.value(operand).type.dtype) < 8) return false;
  const bool isJoined = partsOf(graph, operand, picks->axis).size() > 1;
  const int rank = graph.value(operand).type.rank();
  if (!isJoined && (picks->axis != 1 || rank < 4 || rank > 5)) return false;
  std::vector<NodeId> from{id};
  if (isJoined) from.insert(from.begin(), graph.value(operand).producer);
  return replace(graph, id, *picks, from, options);
}

// A tensor of the node that only such nodes of the same axis read: they read what it was made of.
bool ofPicked(Graph& graph, NodeId id, const Options& options) {
  if (graph.node(id).op.as<ops::ConcatGather>() == nullptr) return false;
  const auto picks = picksOf(graph, id, options);
  if (!picks) return false;
  for (const ValueId tensor : graph.node(id).inputs) {
    const auto& value = graph.value(tensor);
    if (producerOp<ops::ConcatGather>(graph, tensor) == nullptr || graph.isOutput(tensor) ||
        value.constraints != graph::Constraints{})
      continue;
    const auto before = picksOf(graph, value.producer, options);
    const auto& uses = graph.uses(tensor);
    const bool alike = std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) {
      return graph.node(use.node).op.as<ops::ConcatGather>() != nullptr;
    });
    if (!before || before->axis != picks->axis || !alike) continue;
    auto through = *picks;
    for (auto& source : through.sources) {
      if (source.tensor == tensor) source = before->sources[static_cast<size_t>(source.at)];
    }
    const NodeId from[] = {value.producer, id};
    if (replace(graph, id, through, from, options)) return true;
  }
  return false;
}

}  // namespace

int pass_fuse_gather(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return ofGather(graph, id, options) || ofPicked(graph, id, options); });
}

}  // namespace tenon::passes
