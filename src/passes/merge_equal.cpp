// Common subexpressions: the later of two equal nodes goes.
#include "passes/merge_equal.h"

#include <algorithm>
#include <map>

namespace tenon::passes {

int mergeEqual(graph::Graph& graph, const Options&) {
  int edits = 0;
  std::map<std::string, graph::NodeId> known;
  const auto order = graph.order();
  for (const auto id : order) {
    const auto& node = graph.node(id);
    const auto facts = node.op.facts();
    if (!facts.deterministic || facts.sideEffects || node.inputs.empty()) continue;
    const auto key = fmt::format("{} {} {}", node.op.text(), node.device, fmt::join(node.inputs, ","));
    const auto [found, isNew] = known.emplace(key, id);
    if (isNew) continue;
    const auto outputs = node.outputs;
    const bool demanded = std::any_of(outputs.begin(), outputs.end(), [&](graph::ValueId output) {
      return graph.isOutput(output) || graph.value(output).constraints != graph::Constraints{};
    });
    if (demanded) continue;
    graph::Patch patch(graph);
    for (size_t i = 0; i < outputs.size(); ++i) patch.replace(outputs[i], graph.node(found->second).outputs[i]);
    patch.commit();
    ++edits;
  }
  return edits;
}

}  // namespace tenon::passes
