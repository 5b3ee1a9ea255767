// Nodes as problems: at given symbols, with what the build allows.
#include <algorithm>

#include "compile/assignment.h"
#include "compile/tune/cold_weights.h"
#include "ops/op/matmul.h"

namespace tenon::compile {

Problem makeProblem(const graph::Graph& graph, const graph::Node& node, const SymbolValues& symbols) {
  Problem problem{node.op, {}, {}, symbols};
  const auto desc = [&](graph::ValueId id) {
    const auto& value = graph.value(id);
    TensorDesc result{value.type.dtype, evaluate(value.type.shape, symbols), value.constant};
    for (size_t axis = 0; axis < value.type.shape.size(); ++axis)
      result.openAxes |= value.type.shape[axis].isConstant() ? 0u : 1u << axis;
    return result;
  };
  for (const auto id : node.inputs) problem.inputs.push_back(desc(id));
  for (const auto id : node.outputs) problem.outputs.push_back(desc(id));
  return problem;
}

void allow(Problem& problem, const BuildOptions& options) {
  // By level. A network has few different products and many convolutions, whose trials would double the time of a
  // build.
  constexpr size_t kMoreProducts[] = {0, 0, 0, 32, 96, 256};
  constexpr size_t kMoreOthers[] = {0, 0, 0, 0, 96, 256};
  problem.tf32 = options.tf32;
  problem.coldWeights = options.coldWeights && hasColdWeights(problem);
  const auto& more = problem.op.as<ops::MatMul>() != nullptr ? kMoreProducts : kMoreOthers;
  if (options.maxTactics < 0) problem.more = more[std::clamp(options.optimizationLevel, 0, 5)];
}

Problem makeProblem(const graph::Graph& graph, const graph::Node& node, const SymbolValues& symbols,
                    const BuildOptions& options) {
  auto problem = makeProblem(graph, node, symbols);
  allow(problem, options);
  return problem;
}

}  // namespace tenon::compile
