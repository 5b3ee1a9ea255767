// Normalizations of rows become part of the products in front of them.
#include "ops/op/composite.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "passes/common/match.h"
#include "passes/common/row_sum.h"
#include "passes/composites.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

bool replace(Graph& graph, NodeId id, const RowSum& sum, const Pays& pays) {
  const auto norm = graph.node(id);
  auto op = *norm.op.as<ops::Normalization>();
  const auto product = graph.node(sum.product);
  const ValueId kept = !op.skip ? norm.inputs[0] : op.keepSum ? norm.outputs[1] : graph::kNone;
  const bool isKept = kept != graph::kNone && (op.skip || graph.isOutput(kept) || graph.uses(kept).size() > 1);
  op.skip = op.keepSum = false;
  graph::Patch patch(graph);
  const auto vectorOf = [&](ValueId value) {
    const auto& constant = graph.value(value).constant;
    return constant->dims().rank == 1 ? value : patch.addConstant(asVector(constant));
  };
  auto inputs = sum.inputs;
  ops::CompositePart first{sum.op, {}};
  for (size_t i = 0; i < inputs.size(); ++i) first.inputs.push_back(static_cast<int32_t>(i));
  const auto count = static_cast<int32_t>(inputs.size());
  inputs.push_back(vectorOf(norm.inputs[1]));
  inputs.push_back(vectorOf(norm.inputs[2]));
  const NodeId instead[] = {sum.product, id};
  const std::vector<int32_t> outputs = isKept ? std::vector<int32_t>{1, 0} : std::vector<int32_t>{1};
  const ops::Composite composite{{std::move(first), {op, {-1, count, count + 1}}}, outputs};
  const NodeId made =
      patch.addNode(composite, fmt::format("{} + {}", product.name, norm.name), std::move(inputs), instead);
  graph.node(made).device = norm.device;
  const NodeId all[] = {made};
  if (!pays(graph, all, instead)) {
    patch.discard();
    return false;
  }
  patch.replace(norm.outputs[0], graph.node(made).outputs[0]);
  if (isKept) patch.replace(kept, graph.node(made).outputs[1]);
  patch.commit();
  return true;
}

}  // namespace

int joinRows(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    if (!graph.contains(id) || !normalizesRows(graph, id)) continue;
    if (const auto sum = rowSumOf(graph, id); sum && replace(graph, id, *sum, pays)) ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
