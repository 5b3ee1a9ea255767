// A reduction that stays with extent 1 along its axis.
#include "passes/common/reduced.h"

#include "passes/common/match.h"

namespace tenon::passes {

std::optional<Reduced> reducedBy(const graph::Graph& graph, const Terms& terms, const Term& term, ops::ReduceOp op) {
  const auto value = terms.value(term);
  const auto* reduce = value ? producerOp<ops::Reduce>(graph, *value) : nullptr;
  if (reduce == nullptr || reduce->op != op || !reduce->keepDims || reduce->axes.size() != 1) return std::nullopt;
  const graph::ValueId input = graph.node(graph.value(*value).producer).inputs[0];
  const int64_t axis = reduce->axes[0];
  return Reduced{axis < 0 ? axis + graph.value(input).type.rank() : axis, input};
}

}  // namespace tenon::passes
