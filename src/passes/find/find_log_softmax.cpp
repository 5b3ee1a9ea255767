// s - log(sum(exp(s))) with s = x - max(x) along one axis => softmax{logarithm}(x): one kernel in place of six steps
// that each read the tensor.
#include "passes/common/pass.h"

#include "ops/op/pointwise.h"
#include "ops/op/softmax.h"
#include "passes/common/reduced.h"

namespace tenon::passes {
namespace {

bool find(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  const ValueId output = node.outputs[0];
  const Terms terms(graph);
  const auto outer = terms.pair(terms.of(output), ScalarOp::k_sub);
  if (!outer || !terms.is(outer->second, ScalarOp::k_log)) return false;
  const auto sum = reducedBy(graph, terms, terms.operand(outer->second, 0), ops::ReduceOp::kSum);
  if (!sum) return false;
  const Term exponential = terms.of(sum->input);
  if (!terms.is(exponential, ScalarOp::k_exp) || !(terms.operand(exponential, 0) == outer->first)) return false;
  const auto shifted = terms.pair(outer->first, ScalarOp::k_sub);
  const auto most = shifted ? reducedBy(graph, terms, shifted->second, ops::ReduceOp::kMax) : std::nullopt;
  const auto x = shifted ? terms.value(shifted->first) : std::nullopt;
  if (!most || !x || most->axis != sum->axis || !(terms.of(most->input) == shifted->first)) return false;
  const auto& type = graph.value(*x).type;
  if (!isFloating(type.dtype) || type != graph.value(output).type) return false;
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  patch.replace(output, patch.add(ops::Softmax{most->axis, true}, node.name, {*x}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_find_log_softmax(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return find(graph, id); });
}

}  // namespace tenon::passes
