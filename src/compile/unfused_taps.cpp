// Values keep the names of the tensors that they are, whatever replaced what computes them (graph::Patch).
#include "compile/unfused_taps.h"

#include "ops/op/unfused_tap.h"

namespace tenon::compile {

void tapUnfused(graph::Graph& graph, const std::set<std::string>& tensors) {
  const auto order = graph.order();
  for (const auto id : order) {
    if (graph.node(id).op.facts().sideEffects) continue;
    const auto outputs = graph.node(id).outputs;
    for (const auto output : outputs) {
      const auto name = graph.value(output).name;
      if (tensors.contains(name)) graph.add(ops::UnfusedTap{}, name, {output}, graph.node(id).origins);
    }
  }
}

}  // namespace tenon::compile
