// transpose(reshape(slice(x))), transpose(reshape(slice'(x))), ... => slices of transpose(reshape(x)), where each slice
// has some of the heads that rows of x consist of and heads become the outermost axis: one launch moves them all, and
// slices along the outermost axis are runs of memory, which cost nothing.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/matmul.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

using Permutation = std::vector<int64_t>;

// A slice of the last axis, which a reshape parts into heads, and the transpose of that.
struct Heads {
  NodeId slice, reshape, transpose;
  int64_t start, size;   // of the slice
  int64_t heads, width;  // size = heads * width
  Permutation permutation;
};

// All of the other axes.
bool cutsLastAxis(const ops::Slice& slice, const Shape& shape) {
  if (slice.mode != ops::SliceMode::kStrict || shape.empty()) return false;
  for (const auto& stride : slice.stride) {
    if (!stride.isConstant(1)) return false;
  }
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (!slice.start[axis].isConstant(0) || !(slice.size[axis] == shape[axis])) return false;
  }
  return slice.start.back().isConstant() && slice.size.back().isConstant() && slice.size.back().constant() > 0;
}

std::optional<Heads> headsOf(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* slice = node.op.as<ops::Slice>();
  if (slice == nullptr || node.inputs.size() != 1) return std::nullopt;
  const Shape& whole = graph.value(node.inputs[0]).type.shape;
  if (!cutsLastAxis(*slice, whole)) return std::nullopt;
  const auto reshape = onlyUse(graph, node.outputs[0]);
  if (!reshape || graph.node(reshape->node).op.as<ops::Reshape>() == nullptr) return std::nullopt;
  const ValueId parted = graph.node(reshape->node).outputs[0];
  const Shape& shape = graph.value(parted).type.shape;
  const bool partsLast = shape.size() == whole.size() + 1 &&
                         std::equal(whole.begin(), whole.end() - 1, shape.begin()) && shape.back().isConstant();
  if (!partsLast || !shape[whole.size() - 1].isConstant()) return std::nullopt;
  const auto transpose = onlyUse(graph, parted);
  const auto* moved = transpose ? graph.node(transpose->node).op.as<ops::Transpose>() : nullptr;
  if (moved == nullptr || graph.value(graph.node(transpose->node).outputs[0]).constraints != graph::Constraints{})
    return std::nullopt;
  return Heads{id,
               reshape->node,
               transpose->node,
               slice->start.back().constant(),
               slice->size.back().constant(),
               shape[whole.size() - 1].constant(),
               shape.back().constant(),
               moved->permutation};
}

// Where the heads' axis goes, if what stands in front of it there has one element, and rows of heads stay whole.
std::optional<size_t> outermost(const Heads& heads, const Shape& whole) {
  const auto axis = static_cast<int64_t>(whole.size()) - 1;
  if (heads.permutation.back() != axis + 1) return std::nullopt;
  for (size_t i = 0; i < heads.permutation.size(); ++i) {
    if (heads.permutation[i] == axis) return i;
    if (heads.permutation[i] > axis || !whole[static_cast<size_t>(heads.permutation[i])].isConstant(1)) break;
  }
  return std::nullopt;
}

// Whether the permutation is the other one with its last two axes exchanged.
bool isTurned(Permutation permutation, const Permutation& other) {
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  return permutation == other;
}

// Products read a matrix as it is or turned.
bool onlyProductsRead(const Graph& graph, ValueId value) {
  const auto& uses = graph.uses(value);
  return !graph.isOutput(value) && !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) {
    return graph.node(use.node).op.as<ops::MatMul>() != nullptr && use.input < 2;
  });
}

// Those that may share the transpose of the first.
std::vector<Heads> alike(const Graph& graph, ValueId x, const Heads& first) {
  std::vector<Heads> result;
  for (const auto& use : graph.uses(x)) {
    const auto heads = headsOf(graph, use.node);
    if (!heads || heads->size != first.size || heads->width != first.width || heads->start % heads->size != 0) continue;
    const bool fits =
        heads->permutation == first.permutation || (isTurned(heads->permutation, first.permutation) &&
                                                    onlyProductsRead(graph, graph.node(heads->transpose).outputs[0]));
    if (fits) result.push_back(*heads);
  }
  return result;
}

bool share(Graph& graph, NodeId id) {
  const auto first = headsOf(graph, id);
  if (!first) return false;
  const ValueId x = graph.node(id).inputs[0];
  const Shape whole = graph.value(x).type.shape;
  const auto axis = outermost(*first, whole);
  if (!axis || graph.value(x).constant != nullptr || !whole.back().isConstant()) return false;
  const int64_t columns = whole.back().constant();
  const auto parts = alike(graph, x, *first);
  // What nobody reads of the rest is moved as well: it must be less than what is read.
  const auto moved = static_cast<int64_t>(parts.size()) * first->size;
  if (parts.size() < 2 || columns % first->size != 0 || 2 * moved <= columns) return false;

  std::vector<NodeId> from;
  for (const auto& part : parts) from.insert(from.end(), {part.slice, part.reshape, part.transpose});
  Shape parted(whole.begin(), whole.end() - 1);
  parted.emplace_back(columns / first->width);
  parted.emplace_back(first->width);
  Shape shape;
  for (const int64_t from : first->permutation) shape.push_back(parted[static_cast<size_t>(from)]);
  const auto reshapeName = graph.node(first->reshape).name, transposeName = graph.node(first->transpose).name;
  graph::Patch patch(graph);
  const ValueId rows = patch.add(ops::Reshape{parted}, reshapeName, {x}, from);
  const ValueId all = patch.add(ops::Transpose{first->permutation}, transposeName, {rows}, from);
  for (const auto& part : parts) {
    ops::Slice slice;
    slice.start.assign(shape.size(), Extent(0));
    slice.size = shape;
    slice.stride.assign(shape.size(), Extent(1));
    slice.start[*axis] = Extent(part.start / part.width);
    slice.size[*axis] = Extent(part.heads);
    const NodeId own[] = {part.slice, part.reshape, part.transpose};
    ValueId result = patch.add(slice, graph.node(part.slice).name, {all}, own);
    if (part.permutation != first->permutation) {
      Permutation turned(shape.size());
      for (size_t i = 0; i < turned.size(); ++i) turned[i] = static_cast<int64_t>(i);
      std::swap(turned.end()[-1], turned.end()[-2]);
      result = patch.add(ops::Transpose{turned}, graph.node(part.transpose).name, {result}, own);
    }
    patch.replace(graph.node(part.transpose).outputs[0], result);
  }
  patch.commit();
  return true;
}

}  // namespace

int pass_share_transposes(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return share(graph, id); });
}

}  // namespace tenon::passes
