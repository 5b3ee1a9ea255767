// The rules of scalar expressions, applied to each pointwise node.
#include <algorithm>

#include "ops/op/pointwise.h"
#include "passes/common/pass.h"
#include "passes/common/scalar_rules.h"

namespace tenon::passes {
namespace {

bool simplifyPointwise(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* pointwise = node.op.as<ops::Pointwise>();
  if (pointwise == nullptr) return false;
  const auto& out = graph.value(node.outputs[0]).type;
  auto expr = simplify(pointwise->expr);
  const bool oneType = std::all_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId input) { return graph.value(input).type.dtype == out.dtype; });
  if (oneType) expr = simplifyActivations(expr, out.dtype);
  if (expr == pointwise->expr) return false;
  // A rule may drop an operand that made the shape or the type; then the node stays as it is.
  const ops::Operator op = ops::Pointwise{std::move(expr)};
  const auto types = op.infer(node.name, graph.inputTypes(node.inputs));
  if (types[0].dtype != out.dtype || types[0].shape != out.shape) return false;
  const NodeId from[] = {id};
  const auto output = node.outputs[0];
  const auto inputs = node.inputs;
  const auto name = node.name;
  graph::Patch patch(graph);
  patch.replace(output, patch.add(op, name, inputs, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_rewrite(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return simplifyPointwise(graph, id); });
}

}  // namespace tenon::passes
