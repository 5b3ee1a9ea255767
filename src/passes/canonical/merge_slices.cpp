// slice(slice(x)) => slice(x); slice(concat(x, y)) => slice(x); concat(x[a:b], x[b:c]) => x[a:c];
// concat(concat(x, y), z) => concat(x, y, z); concat(x[a:], x[:a]) => slice{wrap}(x),
// concat(-x[a:], x[:a]) => slice{wrap}(x) * signs;
// concat(x[0::2], x[1::2]) => reshape(transpose(reshape(x))), and so for steps along several axes.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

Extent strideOf(const ops::Slice& slice, size_t axis) { return slice.stride.empty() ? Extent(1) : slice.stride[axis]; }

size_t axisOf(const ops::Concat& concat, size_t rank) {
  return static_cast<size_t>(concat.axis < 0 ? concat.axis + static_cast<int64_t>(rank) : concat.axis);
}

bool isFree(const Graph& graph, ValueId value) { return graph.value(value).constraints == graph::Constraints{}; }

void replace(Graph& graph, NodeId id, ops::Operator op, std::vector<ValueId> inputs, std::span<const NodeId> from) {
  const auto output = graph.node(id).outputs[0];
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  patch.replace(output, patch.add(std::move(op), name, std::move(inputs), from));
  patch.commit();
}

// What leaves an axis at its end comes back at its beginning.
bool isRoll(const Graph& graph, NodeId id) {
  const auto* slice = graph.node(id).op.as<ops::Slice>();
  if (slice == nullptr || slice->mode != ops::SliceMode::kWrap ||
      !(slice->size == graph.value(graph.node(id).inputs[0]).type.shape))
    return false;
  return std::all_of(slice->stride.begin(), slice->stride.end(),
                     [](const Extent& stride) { return stride.isConstant(1); });
}

bool sliceOfSlice(Graph& graph, NodeId id) {
  const auto* outer = graph.node(id).op.as<ops::Slice>();
  const auto* inner = outer == nullptr ? nullptr : producerOp<ops::Slice>(graph, graph.node(id).inputs[0]);
  if (inner == nullptr || !isFree(graph, graph.node(id).inputs[0])) return false;
  const bool rolls = isRoll(graph, id) && isRoll(graph, graph.value(graph.node(id).inputs[0]).producer);
  if (!rolls && (outer->mode != ops::SliceMode::kStrict || inner->mode != ops::SliceMode::kStrict)) return false;
  ops::Slice merged = *outer;
  merged.stride.clear();
  for (size_t i = 0; i < merged.start.size(); ++i) {
    merged.start[i] = inner->start[i] + outer->start[i] * strideOf(*inner, i);
    if (!rolls) merged.stride.push_back(strideOf(*inner, i) * strideOf(*outer, i));
  }
  const NodeId from[] = {graph.value(graph.node(id).inputs[0]).producer, id};
  replace(graph, id, merged, {graph.node(from[0]).inputs[0]}, from);
  return true;
}

// A slice whose range along the axis of the concatenation lies within one piece; the other axes do not matter.
bool sliceOfConcat(Graph& graph, NodeId id) {
  const auto* slice = graph.node(id).op.as<ops::Slice>();
  const auto* concat = slice == nullptr ? nullptr : producerOp<ops::Concat>(graph, graph.node(id).inputs[0]);
  if (concat == nullptr || slice->mode != ops::SliceMode::kStrict || !isFree(graph, graph.node(id).inputs[0]))
    return false;
  const size_t axis = axisOf(*concat, slice->start.size());
  if (!slice->start[axis].isConstant() || !slice->size[axis].isConstant() || !strideOf(*slice, axis).isConstant())
    return false;
  const int64_t first = slice->start[axis].constant();
  const int64_t count = slice->size[axis].constant();
  const int64_t last = first + (count - 1) * strideOf(*slice, axis).constant();
  if (count < 1) return false;
  const NodeId from[] = {graph.value(graph.node(id).inputs[0]).producer, id};
  int64_t at = 0;
  for (const auto piece : graph.node(from[0]).inputs) {
    const Extent& extent = graph.value(piece).type.shape[axis];
    if (!extent.isConstant()) return false;
    const int64_t end = at + extent.constant();
    if (std::min(first, last) >= at && std::max(first, last) < end) {
      ops::Slice moved = *slice;
      moved.start[axis] = first - at;
      replace(graph, id, moved, {piece}, from);
      return true;
    }
    at = end;
  }
  return false;
}

// Whether `next` begins where `before` ends along the axis, both of one tensor with steps of one there.
bool continues(const ops::Slice& before, const ops::Slice& next, size_t axis) {
  if (before.mode != ops::SliceMode::kStrict || next.mode != ops::SliceMode::kStrict) return false;
  for (size_t i = 0; i < before.start.size(); ++i) {
    if (!(strideOf(before, i) == strideOf(next, i))) return false;
    if (i != axis && (!(before.start[i] == next.start[i]) || !(before.size[i] == next.size[i]))) return false;
  }
  return strideOf(before, axis).isConstant(1) && before.start[axis] + before.size[axis] == next.start[axis];
}

// Each run of slices that continue one another becomes one slice.
bool concatOfSlices(Graph& graph, NodeId id) {
  const auto* concat = graph.node(id).op.as<ops::Concat>();
  if (concat == nullptr) return false;
  struct Run {
    ValueId value;              // the only piece, or the first of several
    std::vector<NodeId> nodes;  // their slices
    std::optional<ops::Slice> slice;
  };
  const auto inputs = graph.node(id).inputs;
  const size_t axis = axisOf(*concat, graph.value(inputs[0]).type.shape.size());
  std::vector<Run> runs;
  for (const ValueId input : inputs) {
    const auto* slice = isFree(graph, input) ? producerOp<ops::Slice>(graph, input) : nullptr;
    if (slice == nullptr) {
      runs.push_back({input, {}, std::nullopt});
      continue;
    }
    const NodeId node = graph.value(input).producer;
    const bool goesOn = !runs.empty() && runs.back().slice &&
                        graph.node(runs.back().nodes[0]).inputs == graph.node(node).inputs &&
                        continues(*runs.back().slice, *slice, axis);
    if (goesOn) {
      runs.back().nodes.push_back(node);
      runs.back().slice->size[axis] = runs.back().slice->size[axis] + slice->size[axis];
    } else {
      runs.push_back({input, {node}, *slice});
    }
  }
  if (runs.size() == inputs.size()) return false;
  const NodeId self[] = {id};
  const auto name = graph.node(id).name;
  const auto output = graph.node(id).outputs[0];
  const ops::Concat op = *concat;
  graph::Patch patch(graph);
  std::vector<ValueId> pieces;
  for (auto& run : runs) {
    if (run.nodes.size() < 2) {
      pieces.push_back(run.value);
    } else {
      const auto& first = graph.node(run.nodes[0]);
      pieces.push_back(patch.add(std::move(*run.slice), first.name, first.inputs, run.nodes));
    }
  }
  patch.replace(output, patch.add(op, name, std::move(pieces), self));
  patch.commit();
  return true;
}

bool concatOfConcat(Graph& graph, NodeId id) {
  const auto* concat = graph.node(id).op.as<ops::Concat>();
  if (concat == nullptr) return false;
  const auto inputs = graph.node(id).inputs;
  const size_t rank = graph.value(inputs[0]).type.shape.size();
  std::vector<ValueId> flat;
  std::vector<NodeId> from;
  for (const auto input : inputs) {
    const auto* inner = producerOp<ops::Concat>(graph, input);
    if (inner == nullptr || axisOf(*inner, rank) != axisOf(*concat, rank) || !onlyUse(graph, input)) {
      flat.push_back(input);
      continue;
    }
    from.push_back(graph.value(input).producer);
    const auto& pieces = graph.node(from.back()).inputs;
    flat.insert(flat.end(), pieces.begin(), pieces.end());
  }
  if (from.empty()) return false;
  from.push_back(id);
  replace(graph, id, *concat, std::move(flat), from);
  return true;
}

// A piece of a concatenation: of which node it is a slice, whether its sign is changed, and the nodes that do both.
struct SignedPiece {
  const ops::Slice* slice = nullptr;
  bool negated = false;
  std::vector<NodeId> nodes;

  SignedPiece(const Graph& graph, ValueId value) {
    const auto* pointwise = producerOp<ops::Pointwise>(graph, value);
    negated = pointwise != nullptr && pointwise->expr == ops::ScalarExpr::of(ops::ScalarOp::k_neg);
    if (negated) {
      if (!isFree(graph, value) || !isFloating(graph.value(value).type.dtype)) return;
      nodes.push_back(graph.value(value).producer);
      value = graph.node(nodes[0]).inputs[0];
    }
    if (!isFree(graph, value)) return;
    slice = producerOp<ops::Slice>(graph, value);
    nodes.insert(nodes.begin(), graph.value(value).producer);
  }
};

// Two pieces of one tensor that change places, their signs by one product with a row of ones and minus ones (as halves
// of heads are turned by their position). On the host they are copied row by row, which is as fast.
bool concatToRoll(Graph& graph, NodeId id, const Options& options) {
  const auto node = graph.node(id);
  const auto* concat = node.op.as<ops::Concat>();
  if (concat == nullptr || node.inputs.size() != 2 || !factsOf(options.device).launchesAreDear) return false;
  const SignedPiece last(graph, node.inputs[0]), first(graph, node.inputs[1]);
  if (last.slice == nullptr || first.slice == nullptr) return false;
  const auto source = graph.node(last.nodes[0]).inputs;
  auto type = graph.value(source[0]).type;
  const size_t axis = axisOf(*concat, type.shape.size());
  if (source.size() != 1 || graph.node(first.nodes[0]).inputs != source || !continues(*first.slice, *last.slice, axis))
    return false;
  const Extent& begin = first.slice->start[axis];
  const Extent ahead = first.slice->size[axis];
  const bool isSigned = last.negated || first.negated;
  const bool isPart = !begin.isConstant(0) || !(ahead + last.slice->size[axis] == type.shape[axis]);
  ops::Slice part{Shape(type.shape.size(), 0), type.shape};
  part.start[axis] = begin;
  type.shape[axis] = part.size[axis] = ahead + last.slice->size[axis];
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (!strideOf(*first.slice, i).isConstant(1) || !(graph.value(node.outputs[0]).type.shape[i] == type.shape[i]))
      return false;
    if (i != axis && !first.slice->start[i].isConstant(0)) return false;
  }
  if (isPart && !isSigned) return false;
  if (isSigned && (!type.shape[axis].isConstant() || !ahead.isConstant())) return false;
  ops::Slice roll{Shape(type.shape.size(), 0), type.shape, {}, ops::SliceMode::kWrap};
  roll.start[axis] = ahead;
  if (options.computes && !options.computes(roll, std::span(&type, 1))) return false;
  std::vector<NodeId> from = last.nodes;
  from.insert(from.end(), first.nodes.begin(), first.nodes.end());
  from.push_back(id);
  if (!isSigned) {
    replace(graph, id, roll, source, from);
    return true;
  }
  Dims dims;
  for (size_t i = axis; i < type.shape.size(); ++i) dims.push(i == axis ? type.shape[axis].constant() : 1);
  HostTensor signs(type.dtype, dims);
  const int64_t behind = dims[0] - ahead.constant();  // elements of the piece that comes first now
  for (int64_t i = 0; i < dims[0]; ++i) signs.view().storeDouble(i, (i < behind ? last : first).negated ? -1 : 1);
  const auto product =
      ops::ScalarExpr::of(ops::ScalarOp::k_mul, {ops::ScalarArgument::input(0), ops::ScalarArgument::input(1)});
  graph::Patch patch(graph);
  const NodeId slices[] = {last.nodes[0], first.nodes[0]};
  const ValueId whole = isPart ? patch.add(part, node.name + " (part)", source, slices) : source[0];
  const ValueId rolled = patch.add(roll, node.name + " (roll)", {whole}, from);
  const ValueId factors = patch.addConstant(Constant::own(std::move(signs)), node.name + "_signs");
  const NodeId self[] = {id};
  patch.replace(node.outputs[0], patch.add(ops::Pointwise{product}, node.name, {rolled, factors}, self));
  patch.commit();
  return true;
}

// An axis of which each piece has every step-th index.
struct Stepped {
  size_t axis;
  int64_t step;
  int64_t weight;  // piece k begins at index k / weight % step
};

// The axes over which the pieces of a concatenation step, in descending weight, where together they have every element
// once.
std::vector<Stepped> steppedAxes(const Graph& graph, const graph::Node& node) {
  const Shape& shape = graph.value(graph.node(graph.value(node.inputs[0]).producer).inputs[0]).type.shape;
  const auto slice = [&](size_t k) -> const ops::Slice& { return *producerOp<ops::Slice>(graph, node.inputs[k]); };
  std::vector<Stepped> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Extent step = strideOf(slice(0), axis);
    const Extent& size = slice(0).size[axis];
    if (!step.isConstant() || step.constant() < 1 || !(size * step == shape[axis])) return {};
    Stepped stepped{axis, step.constant(), 0};
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Extent& start = slice(k).start[axis];
      if (!(strideOf(slice(k), axis) == step) || !(slice(k).size[axis] == size) || !start.isConstant()) return {};
      if (start.constant() == 1 && stepped.weight == 0) stepped.weight = static_cast<int64_t>(k);
    }
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const int64_t wanted = stepped.weight == 0 ? 0 : static_cast<int64_t>(k) / stepped.weight % stepped.step;
      if (slice(k).start[axis].constant() != wanted) return {};
    }
    if (stepped.step > 1) axes.push_back(stepped);
  }
  std::sort(axes.begin(), axes.end(), [](const Stepped& a, const Stepped& b) { return a.weight > b.weight; });
  auto weight = static_cast<int64_t>(node.inputs.size());
  for (const auto& stepped : axes) {
    if (stepped.weight * stepped.step != weight) return {};
    weight = stepped.weight;
  }
  return weight == 1 ? axes : std::vector<Stepped>{};
}

// Pieces that step over one tensor, side by side: its blocks become rows of the axis, by one copy instead of one for
// each piece.
bool concatOfSteps(Graph& graph, NodeId id, const Options& options) {
  const auto node = graph.node(id);
  const auto* concat = node.op.as<ops::Concat>();
  if (concat == nullptr || !factsOf(options.device).launchesAreDear) return false;
  std::vector<NodeId> from;
  for (const auto input : node.inputs) {
    const auto* slice = producerOp<ops::Slice>(graph, input);
    if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || !onlyUse(graph, input)) return false;
    from.push_back(graph.value(input).producer);
    if (graph.node(from.back()).inputs != graph.node(from[0]).inputs) return false;
  }
  const auto axes = steppedAxes(graph, node);
  if (axes.empty()) return false;
  const ValueId source = graph.node(from[0]).inputs[0];
  const Shape in = graph.value(source).type.shape;
  const Shape out = graph.value(node.outputs[0]).type.shape;
  const size_t joined = axisOf(*concat, in.size());
  // Each stepped axis as two: where a block is, and the place within it.
  Shape split;
  std::vector<int64_t> blocks;  // places in `split`
  std::vector<int64_t> within(axes.size());
  for (size_t axis = 0; axis < in.size(); ++axis) {
    const auto stepped = std::find_if(axes.begin(), axes.end(), [&](const Stepped& s) { return s.axis == axis; });
    blocks.push_back(static_cast<int64_t>(split.size()));
    split.push_back(stepped == axes.end() ? in[axis] : floorDiv(in[axis], stepped->step));
    if (stepped == axes.end()) continue;
    within[static_cast<size_t>(stepped - axes.begin())] = static_cast<int64_t>(split.size());
    split.push_back(stepped->step);
  }
  ops::Transpose transpose;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    if (axis == joined) transpose.permutation.insert(transpose.permutation.end(), within.begin(), within.end());
    transpose.permutation.push_back(blocks[axis]);
  }
  if (split.size() > static_cast<size_t>(kMaxRank)) return false;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const ValueId cut = patch.add(ops::Reshape{split}, node.name + " (cut)", {source}, from);
  const ValueId sorted = patch.add(transpose, node.name + " (blocks)", {cut}, self);
  patch.replace(node.outputs[0], patch.add(ops::Reshape{out}, node.name, {sorted}, self));
  patch.commit();
  return true;
}

}  // namespace

int pass_merge_slices(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) {
    return sliceOfSlice(graph, id) || sliceOfConcat(graph, id) || concatOfSlices(graph, id) ||
           concatOfConcat(graph, id) || concatToRoll(graph, id, options) || concatOfSteps(graph, id, options);
  });
}

}  // namespace tenon::passes
