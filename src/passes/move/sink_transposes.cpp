// p(transpose(x), transpose(y), c) => transpose(p(x, y, transposed c)), reduce(transpose(x)) => reduce(x), and the
// like: one transpose where there were several, next to others that it cancels, or none.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"
#include "passes/common/fuse.h"
#include "passes/common/transposed.h"

namespace tenon::passes {
namespace {

using Permutation = std::vector<int64_t>;

Permutation inverse(const Permutation& permutation) {
  Permutation result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

ValueId inputOf(const Graph& graph, ValueId value) { return graph.node(graph.value(value).producer).inputs[0]; }

// The constant seen through the inverse of a transpose of rank permutation.size(); broadcasting pads it on the left.
ConstantPtr transposedBack(const ConstantPtr& constant, const Permutation& permutation) {
  if (constant->count() == 1) return constant;
  Shape shape(permutation.size() - static_cast<size_t>(constant->dims().rank), 1);
  for (const int64_t extent : constant->dims()) shape.push_back(extent);
  return Constant::recipe(ops::Transpose{inverse(permutation)}, {Constant::recipe(ops::Reshape{shape}, {constant})});
}

// Whether the constants of a node can be seen through the inverse of a transpose.
bool constantsFit(const Graph& graph, const graph::Node& node, const Permutation& permutation) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const auto& constant = graph.value(input).constant;
    return constant == nullptr || constant->dims().rank <= static_cast<int>(permutation.size());
  });
}

// The pointwise node on what its inputs are in front of this transpose, and one transpose behind it. Inputs that are no
// such transpose become the inverse one of themselves. `gone`: the transposes that nobody needs any more, at least one.
void moveBelow(Graph& graph, NodeId id, const Permutation& moved, const std::vector<NodeId>& gone) {
  const auto node = graph.node(id);
  const auto name = graph.node(gone[0]).name;
  const NodeId self[] = {id};
  auto inputs = node.inputs;
  graph::Patch patch(graph);
  for (auto& input : inputs) {
    const auto constant = graph.value(input).constant;
    const auto* transpose = transposeBehind(graph, input);
    if (constant != nullptr) {
      if (constant->count() != 1)
        input = patch.addConstant(transposedBack(constant, moved), graph.value(input).name + "_transposed");
    } else if (transpose != nullptr && transpose->permutation == moved) {
      input = inputOf(graph, input);
    } else {
      input = patch.add(ops::Transpose{inverse(moved)}, name + "_back", {input}, self);
    }
  }
  const ValueId result = patch.add(node.op, node.name, std::move(inputs), self);
  patch.replace(node.outputs[0], patch.add(ops::Transpose{moved}, name, {result}, gone));
  patch.commit();
}

// One that sank onto another: both sink on as one, or are gone, so that one that goes down a long chain does not bear
// the names of all that it met.
bool ofTranspose(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* transpose = node.op.as<ops::Transpose>();
  const auto* before = transpose == nullptr ? nullptr : transposeBehind(graph, node.inputs[0]);
  if (before == nullptr || !onlyUse(graph, node.inputs[0])) return false;
  ops::Transpose both;
  for (const int64_t axis : transpose->permutation) {
    both.permutation.push_back(before->permutation[static_cast<size_t>(axis)]);
  }
  const NodeId from[] = {graph.value(node.inputs[0]).producer, id};
  const ValueId input = inputOf(graph, node.inputs[0]);
  const ValueId output = node.outputs[0];
  const auto name = node.name;
  const bool areGone = std::is_sorted(both.permutation.begin(), both.permutation.end());
  graph::Patch patch(graph);
  patch.replace(output,
                areGone && mayStandFor(graph, input, output) ? input : patch.add(std::move(both), name, {input}, from));
  patch.commit();
  return true;
}

// The node must be all that reads its transposed inputs, so that no transpose is added.
bool belowPointwise(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  const Shape outShape = graph.value(node.outputs[0]).type.shape;
  const Permutation* permutation = nullptr;
  std::vector<NodeId> from;
  bool whole = false;
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.constant != nullptr) continue;
    const auto* transpose = transposeBehind(graph, input);
    const auto user = onlyUser(graph, input);
    if (transpose == nullptr || !user || user->node != id || transpose->permutation.size() != outShape.size())
      return false;
    if (permutation != nullptr && *permutation != transpose->permutation) return false;
    permutation = &transpose->permutation;
    from.push_back(value.producer);
    whole = whole || value.type.shape == outShape;
  }
  if (permutation == nullptr || !whole || !constantsFit(graph, node, *permutation)) return false;
  moveBelow(graph, id, Permutation(*permutation), from);
  return true;
}

// p(slice(transpose(x)), transpose(x)) => transpose(p(slice(x), x)), where nothing else reads the transposed x or its
// slices: gated units, whose halves are slices, and rotary embedding. On GPUs, which read slices where they are.
bool belowSlices(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr || factsOf(options.device).kind != DeviceKind::kGpu) return false;
  const Shape outShape = graph.value(node.outputs[0]).type.shape;
  const auto sliceOf = [&](ValueId value) -> const ops::Slice* {
    const auto* slice = producerOp<ops::Slice>(graph, value);
    return slice != nullptr && graph.node(graph.value(value).producer).inputs.size() == 1 ? slice : nullptr;
  };
  ValueId moved = graph::kNone;  // the transposed tensor
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.constant != nullptr) continue;
    if (!(value.type.shape == outShape)) return false;
    const auto user = sliceOf(input) != nullptr ? onlyUser(graph, input) : std::nullopt;
    const ValueId whole = user && user->node == id ? inputOf(graph, input) : input;
    if (moved != graph::kNone && whole != moved) return false;
    moved = whole;
  }
  const auto* transpose = moved == graph::kNone ? nullptr : transposeBehind(graph, moved);
  if (transpose == nullptr || graph.isOutput(moved) || transpose->permutation.size() != outShape.size()) return false;
  const Permutation permutation = transpose->permutation;
  if (!constantsFit(graph, node, permutation)) return false;
  bool hasSlice = false;
  for (const auto& use : graph.uses(moved)) {
    if (use.node == id) continue;
    const ValueId slice = graph.node(use.node).outputs[0];
    if (std::count(node.inputs.begin(), node.inputs.end(), slice) == 0) return false;
    hasSlice = true;
  }
  if (!hasSlice) return false;
  const auto copy = node;
  const NodeId from[] = {graph.value(moved).producer};
  const NodeId self[] = {id};
  const auto name = graph.node(from[0]).name;
  graph::Patch patch(graph);
  auto inputs = copy.inputs;
  for (auto& input : inputs) {
    const auto constant = graph.value(input).constant;
    if (constant != nullptr) {
      if (constant->count() != 1)
        input = patch.addConstant(transposedBack(constant, permutation), graph.value(input).name + "_transposed");
    } else if (input == moved) {
      input = inputOf(graph, moved);
    } else {
      const NodeId slice[] = {graph.value(input).producer};
      const auto sliceName = graph.node(slice[0]).name;
      input = patch.add(slicedBack(*sliceOf(input), permutation), sliceName, {inputOf(graph, moved)}, slice);
    }
  }
  const ValueId result = patch.add(copy.op, copy.name, std::move(inputs), self);
  patch.replace(copy.outputs[0], patch.add(ops::Transpose{permutation}, name, {result}, from));
  patch.commit();
  return true;
}

// [N,H,W,C] -> [N,C,H,W], and so with more or fewer axes of pixels: no work where the tensors are channels-last.
bool movesChannelsForward(const Permutation& permutation) {
  const size_t rank = permutation.size();
  if (rank < 4 || permutation[0] != 0 || permutation[1] != static_cast<int64_t>(rank) - 1) return false;
  for (size_t i = 2; i < rank; ++i) {
    if (permutation[i] != static_cast<int64_t>(i) - 1) return false;
  }
  return true;
}

// A product that only one transpose reads, which only the node reads, and that has room for the node behind its
// epilogue.
bool endsProduct(const Graph& graph, NodeId id, ValueId input) {
  const auto* transpose = transposeBehind(graph, input);
  const auto user = onlyUser(graph, input);
  if (transpose == nullptr || !user || user->node != id) return false;
  const ValueId x = inputOf(graph, input);
  const auto* product = producerOp<ops::MatMul>(graph, x);
  if (product == nullptr || !onlyUse(graph, x)) return false;
  const auto& expr = graph.node(id).op.as<ops::Pointwise>()->expr;
  const auto joined = product->epilogue.empty() ? expr : expr.compose(0, product->epilogue);
  return hasRoom(joined, graph.node(graph.value(x).producer).inputs.size() + graph.node(id).inputs.size());
}

// p(transpose(product), transpose(y)) => transpose(p(product, y)), so that the product takes p, whoever else reads the
// transposed y. On GPUs, where convolutions are channels-last, y may also be what one computes.
bool intoProduct(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  const auto& type = graph.value(node.outputs[0]).type;
  const auto product = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](ValueId input) { return endsProduct(graph, id, input); });
  if (product == node.inputs.end()) return false;
  const Permutation permutation = transposeBehind(graph, *product)->permutation;
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.constant != nullptr) continue;
    const auto* transpose = transposeBehind(graph, input);
    const bool same = transpose != nullptr && transpose->permutation == permutation;
    const bool convolved = factsOf(options.device).convolvesChannelsLast && movesChannelsForward(permutation) &&
                           value.constraints == graph::Constraints{} &&
                           producerOp<ops::Convolution>(graph, input) != nullptr;
    if (!(value.type.shape == type.shape) || value.type.dtype != type.dtype || (!same && !convolved)) return false;
  }
  if (!constantsFit(graph, node, permutation)) return false;
  moveBelow(graph, id, permutation, {graph.value(*product).producer});
  return true;
}

bool belowReduce(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* reduce = node.op.as<ops::Reduce>();
  const auto* transpose = reduce == nullptr ? nullptr : transposeBehind(graph, node.inputs[0]);
  if (transpose == nullptr) return false;
  const auto rank = static_cast<int64_t>(transpose->permutation.size());
  ops::Reduce moved = *reduce;
  std::vector<bool> gone(static_cast<size_t>(rank), false);  // axes of the transpose's input
  for (auto& axis : moved.axes) {
    axis = transpose->permutation[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
    gone[static_cast<size_t>(axis)] = true;
  }
  std::sort(moved.axes.begin(), moved.axes.end());
  Permutation after;
  for (const int64_t axis : transpose->permutation) {
    if (reduce->keepDims) {
      after.push_back(axis);
    } else if (!gone[static_cast<size_t>(axis)]) {
      after.push_back(axis - std::count(gone.begin(), gone.begin() + axis, true));
    }
  }
  const NodeId from[] = {graph.value(node.inputs[0]).producer, id};
  const auto output = node.outputs[0];
  const auto name = node.name;
  const auto input = inputOf(graph, node.inputs[0]);
  graph::Patch patch(graph);
  ValueId result = patch.add(moved, name, {input}, from);
  if (!std::is_sorted(after.begin(), after.end())) {
    const auto transposeName = graph.node(from[0]).name;
    result = patch.add(ops::Transpose{after}, transposeName, {result}, std::span(from, 1));
  }
  patch.replace(output, result);
  patch.commit();
  return true;
}

bool swapsLastTwo(const Permutation& permutation) {
  const auto rank = static_cast<int64_t>(permutation.size());
  if (rank < 2 || permutation.back() != rank - 2 || permutation[permutation.size() - 2] != rank - 1) return false;
  for (int64_t i = 0; i + 2 < rank; ++i) {
    if (permutation[static_cast<size_t>(i)] != i) return false;
  }
  return true;
}

// matmul(transpose(a), b) => matmul{transposeA}(a, b). Products of many rows with one matrix keep their rows together.
bool intoMatMul(Graph& graph, NodeId id) {
  const auto* op = graph.node(id).op.as<ops::MatMul>();
  if (op == nullptr) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto& node = graph.node(id);
    const auto* transpose = transposeBehind(graph, node.inputs[side]);
    if (transpose == nullptr || !swapsLastTwo(transpose->permutation)) continue;
    const bool flat = graph.value(node.inputs[1]).type.rank() == 2 && graph.value(node.inputs[0]).type.rank() > 2;
    if (side == 0 && flat) continue;
    ops::MatMul merged = *op;
    (side == 0 ? merged.transposeA : merged.transposeB) ^= true;
    const NodeId from[] = {graph.value(node.inputs[side]).producer, id};
    auto inputs = node.inputs;
    inputs[side] = inputOf(graph, inputs[side]);
    const auto output = node.outputs[0];
    const auto name = node.name;
    graph::Patch patch(graph);
    patch.replace(output, patch.add(std::move(merged), name, std::move(inputs), from));
    patch.commit();
    return true;
  }
  return false;
}

// Axes k and k + 1 change places, k at the front of them; -1 when the permutation is anything else.
int64_t swappedAxis(const Permutation& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] == static_cast<int64_t>(i)) continue;
    Permutation swapped(permutation.size());
    for (size_t k = 0; k < swapped.size(); ++k) swapped[k] = static_cast<int64_t>(k);
    if (i + 1 < swapped.size()) std::swap(swapped[i], swapped[i + 1]);
    return swapped == permutation ? static_cast<int64_t>(i) : -1;
  }
  return -1;
}

// The shuffle of equal pieces that stand side by side: transpose(reshape(concat(x0, x1, ...))), where the reshape makes
// an axis of the pieces, is the pieces side by side along the axis behind: concat(reshape(x0), reshape(x1), ...).
bool intoConcat(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* transpose = node.op.as<ops::Transpose>();
  if (transpose == nullptr || producerOp<ops::Reshape>(graph, node.inputs[0]) == nullptr ||
      !onlyUse(graph, node.inputs[0]))
    return false;
  const NodeId reshapeId = graph.value(node.inputs[0]).producer;
  const ValueId joined = graph.node(reshapeId).inputs[0];
  const auto* concat = producerOp<ops::Concat>(graph, joined);
  if (concat == nullptr || !onlyUse(graph, joined)) return false;
  const NodeId concatId = graph.value(joined).producer;
  const auto pieces = graph.node(concatId).inputs;
  const Shape split = graph.value(node.inputs[0]).type.shape;
  const Shape in = graph.value(joined).type.shape;
  const int64_t axis = concat->axis < 0 ? concat->axis + static_cast<int64_t>(in.size()) : concat->axis;
  const auto at = static_cast<size_t>(axis);
  if (swappedAxis(transpose->permutation) != axis || split.size() != in.size() + 1) return false;
  if (!split[at].isConstant(static_cast<int64_t>(pieces.size()))) return false;
  for (const auto piece : pieces) {
    const Shape& shape = graph.value(piece).type.shape;
    if (!(shape[at] == split[at + 1])) return false;
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (i != at && !(in[i] == split[i < at ? i : i + 1])) return false;
  }
  const NodeId from[] = {concatId, reshapeId, id};
  const auto output = node.outputs[0];
  const auto name = node.name;
  graph::Patch patch(graph);
  std::vector<ValueId> columns;
  for (const auto piece : pieces) {
    Shape shape = graph.value(piece).type.shape;
    shape.insert(shape.begin() + axis + 1, Extent(1));
    columns.push_back(patch.add(ops::Reshape{shape}, "", {piece}, std::span(from + 1, 1)));
    graph.node(graph.value(columns.back()).producer).name =
        fmt::format("{}_{}", graph.node(reshapeId).name, columns.size());
  }
  patch.replace(output, patch.add(ops::Concat{axis + 1}, name, std::move(columns), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_sink_transposes(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) {
    if (graph.node(id).outputs.size() != 1) return false;
    return ofTranspose(graph, id) || belowPointwise(graph, id) || belowSlices(graph, id, options) ||
           intoProduct(graph, id, options) || belowReduce(graph, id) || intoMatMul(graph, id) || intoConcat(graph, id);
  });
}

}  // namespace tenon::passes
