// Small questions that several passes ask of a graph.
#include "passes/match.h"

#include "ops/op/reshape.h"

namespace tenon::passes {

std::optional<graph::Use> onlyUse(const graph::Graph& graph, const std::vector<std::vector<graph::Use>>& uses,
                                  graph::ValueId value) {
  if (value >= uses.size() || uses[value].size() != 1 || graph.isOutput(value)) return std::nullopt;
  if (graph.value(value).constraints != graph::Constraints{}) return std::nullopt;
  return uses[value][0];
}

bool variesAlong(const Dims& constant, const Shape& shape, int axis) {
  const int rank = static_cast<int>(shape.size());
  if (constant.rank > rank) return false;
  for (int i = 0; i < constant.rank; ++i) {
    const int at = i + rank - constant.rank;
    if (constant[i] == 1) continue;
    if (at != axis || !shape[static_cast<size_t>(at)].isConstant(constant[i])) return false;
  }
  return true;
}

graph::ConstantPtr asVector(const graph::ConstantPtr& constant) {
  return graph::Constant::recipe(ops::Reshape{{Extent(constant->count())}}, {constant});
}

}  // namespace tenon::passes
