// transpose(p(x, y)) => p(transpose(x), transpose(y)) where that moves less: x is a transpose already, which both
// become one with, and y is smaller than the result, as in sums of products that exporters write by einsum.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

using Permutation = std::vector<int64_t>;

Shape padded(const Shape& shape, size_t rank) {
  Shape result(rank - shape.size(), Extent(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

// Elements, where they are known.
std::optional<int64_t> countOf(const Shape& shape) {
  int64_t count = 1;
  for (const auto& extent : shape) {
    if (!extent.isConstant()) return std::nullopt;
    count *= extent.constant();
  }
  return count;
}

// Whether axes of more than one element keep their order.
bool movesNothing(const Shape& shape, const Permutation& permutation) {
  int64_t last = -1;
  for (const int64_t axis : permutation) {
    if (shape[static_cast<size_t>(axis)].isConstant(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// Whether a transpose makes a value, maybe through a reshape, for one reader alone.
bool isTransposed(const Graph& graph, ValueId id) {
  if (!onlyUse(graph, id)) return false;
  if (producerOp<ops::Transpose>(graph, id) != nullptr) return true;
  if (producerOp<ops::Reshape>(graph, id) == nullptr) return false;
  const ValueId before = graph.node(graph.value(id).producer).inputs[0];
  return producerOp<ops::Transpose>(graph, before) != nullptr && onlyUse(graph, before).has_value();
}

bool pays(const Graph& graph, const graph::Node& node, const Permutation& permutation) {
  const Shape& result = graph.value(node.outputs[0]).type.shape;
  const auto all = countOf(result);
  if (!all) return false;
  int added = 0;           // transposes
  bool isWhole = false;    // some operand is as large as the result
  bool isCheaper = false;  // some operand needs none
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.constant != nullptr) continue;
    const Shape shape = padded(value.type.shape, result.size());
    const auto count = countOf(shape);
    if (!count) return false;
    isWhole = isWhole || shape == result;
    if (movesNothing(shape, permutation)) {
      isCheaper = true;
    } else if (!isTransposed(graph, input)) {
      constexpr int64_t kSmaller = 4;
      if (*count * kSmaller > *all) return false;
      ++added;
    }
  }
  // Where every operand is transposed, the transpose stays behind (sink_transposes).
  return added <= 1 && (isCheaper || !isWhole);
}

bool hoist(Graph& graph, NodeId id) {
  const auto* transpose = graph.node(id).op.as<ops::Transpose>();
  if (transpose == nullptr) return false;
  const ValueId value = graph.node(id).inputs[0];
  if (producerOp<ops::Pointwise>(graph, value) == nullptr || !onlyUse(graph, value)) return false;
  const Permutation permutation = transpose->permutation;
  const NodeId before = graph.value(value).producer;
  const auto node = graph.node(before);
  if (node.outputs.size() != 1 || !pays(graph, node, permutation)) return false;
  const auto name = graph.node(id).name;
  const ValueId output = graph.node(id).outputs[0];
  const NodeId self[] = {before};
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  auto inputs = node.inputs;
  for (auto& input : inputs) {
    const auto& operand = graph.value(input);
    const Shape own = operand.type.shape;
    const Shape shape = padded(own, permutation.size());
    if (operand.constant != nullptr) {
      if (operand.constant->count() == 1) continue;
      const auto whole = graph::Constant::recipe(ops::Reshape{shape}, {operand.constant});
      input = patch.addConstant(graph::Constant::recipe(ops::Transpose{permutation}, {whole}),
                                operand.name + "_transposed");
      continue;
    }
    if (own.size() != shape.size()) input = patch.add(ops::Reshape{shape}, name + " (axes)", {input}, {});
    if (movesNothing(shape, permutation)) {
      Shape moved;
      for (const int64_t axis : permutation) moved.push_back(shape[static_cast<size_t>(axis)]);
      input = patch.add(ops::Reshape{moved}, name, {input}, from);
    } else {
      input = patch.add(ops::Transpose{permutation}, name, {input}, from);
    }
  }
  patch.replace(output, patch.add(node.op, node.name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int pass_hoist_transposes(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) { return hoist(graph, id); });
}

}  // namespace tenon::passes
