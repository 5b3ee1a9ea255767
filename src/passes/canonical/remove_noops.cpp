// Removal of nodes whose output is their first input: copies, and relu of what is never negative.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

bool isIdentityExpr(const ops::ScalarExpr& expr, DataType in, DataType out) {
  if (in != out) return false;
  return std::all_of(expr.instructions.begin(), expr.instructions.end(), [&](const ops::ScalarInstruction& i) {
    const bool copies = i.op == ops::ScalarOp::k_identity || (i.op == ops::ScalarOp::k_cast && i.castTo == in);
    return copies && i.arguments[0].kind != ops::ScalarArgument::Kind::kLiteral &&
           (i.arguments[0].kind == ops::ScalarArgument::Kind::kResult || i.arguments[0].index == 0);
  });
}

bool isWhole(const ops::Slice& slice, const Shape& in) {
  const bool starts =
      std::all_of(slice.start.begin(), slice.start.end(), [](const Extent& e) { return e.isConstant(0); });
  const bool steps =
      std::all_of(slice.stride.begin(), slice.stride.end(), [](const Extent& e) { return e.isConstant(1); });
  return starts && steps && slice.size == in;
}

bool changesNothing(const graph::Graph& graph, const graph::Node& node) {
  if (node.inputs.empty() || node.outputs.size() != 1) return false;
  const auto& in = graph.value(node.inputs[0]).type;
  const auto& out = graph.value(node.outputs[0]).type;
  if (in.dtype != out.dtype || in.shape != out.shape) return false;
  const auto facts = node.op.facts();
  const bool isView = std::any_of(facts.aliases.begin(), facts.aliases.end(), [](const auto& a) { return a.view; });
  if (isView) return true;  // a reshape to the same shape
  if (const auto* pointwise = node.op.as<ops::Pointwise>()) {
    if (node.inputs.size() != 1) return false;
    const bool relu =
        pointwise->expr == ops::ScalarExpr::of(ops::ScalarOp::k_relu) && isNonNegative(graph, node.inputs[0]);
    return relu || isIdentityExpr(pointwise->expr, in.dtype, out.dtype);
  }
  if (const auto* transpose = node.op.as<ops::Transpose>()) {
    return std::is_sorted(transpose->permutation.begin(), transpose->permutation.end());
  }
  if (const auto* slice = node.op.as<ops::Slice>()) return isWhole(*slice, in.shape);
  return node.op.as<ops::Concat>() != nullptr && node.inputs.size() == 1;
}

}  // namespace

int pass_remove_noops(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) {
    const auto& node = graph.node(id);
    if (!changesNothing(graph, node)) return false;
    const auto input = node.inputs[0];
    const auto output = node.outputs[0];
    if (!mayStandFor(graph, input, output)) return false;
    graph::Patch patch(graph);
    patch.replace(output, input);
    patch.commit();
    return true;
  });
}

}  // namespace tenon::passes
