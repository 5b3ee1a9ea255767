// Common subexpressions: the later of two equal nodes goes.
#include "passes/common/pass.h"

#include <algorithm>
#include <map>

namespace tenon::passes {
namespace {

// Numbers that each layer has a constant of its own for are what they hold.
std::string operandText(const graph::Value& value, graph::ValueId id, const Options& options) {
  const auto& constant = value.constant;
  if (constant == nullptr || constant->count() != 1 || (options.refittable && !constant->weights().empty()))
    return fmt::format("%{}", id);
  const auto view = constant->view();
  std::string bytes;
  for (size_t i = 0; i < view.bytes(); ++i) bytes += fmt::format("{:02x}", static_cast<const uint8_t*>(view.data)[i]);
  return fmt::format("{}{}={}", name(value.type.dtype), text(value.type.shape), bytes);
}

}  // namespace

int pass_merge_equal(Graph& graph, const Options& options) {
  std::map<std::string, NodeId> known;
  return editOnce(graph, [&](NodeId id) {
    const auto& node = graph.node(id);
    const auto facts = node.op.facts();
    if (!facts.deterministic || facts.sideEffects || node.inputs.empty()) return false;
    std::string key = fmt::format("{} {}", node.op.text(), node.device);
    for (const auto input : node.inputs) key += " " + operandText(graph.value(input), input, options);
    const auto [found, isNew] = known.emplace(key, id);
    if (isNew) return false;
    const auto outputs = node.outputs;
    const bool demanded = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return graph.isOutput(output) || graph.value(output).constraints != graph::Constraints{};
    });
    if (demanded) return false;
    graph::Patch patch(graph);
    for (size_t i = 0; i < outputs.size(); ++i) patch.replace(outputs[i], graph.node(found->second).outputs[i]);
    patch.commit();
    return true;
  });
}

}  // namespace tenon::passes
