// Graphs become regions: values are numbered anew.
#include "graph/region.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "graph/phases.h"
#include "ops/op/size.h"

namespace tenon::graph {

namespace {

// The numbers that become symbols, by symbol.
std::map<std::string, ValueId> sizesOf(const Graph& graph) {
  std::map<std::string, ValueId> sizes;
  for (const NodeId id : graph.order()) {
    if (const auto* size = graph.node(id).op.as<ops::Size>()) sizes.emplace(size->symbol, graph.node(id).outputs[0]);
  }
  return sizes;
}

}  // namespace

std::vector<bool> neededValues(const Graph& graph, std::span<const ValueId> outputs) {
  const auto sizes = sizesOf(graph);
  std::vector<bool> needed(graph.valueCount());
  std::vector<ValueId> open(outputs.begin(), outputs.end());
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    if (const NodeId producer = graph.value(id).producer; producer != kNone) {
      const auto& node = graph.node(producer);
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
      if (sizes.empty()) continue;
      std::set<std::string> symbols;
      node.op.collectSymbols(symbols);
      for (const ValueId output : node.outputs) {
        for (const auto& extent : graph.value(output).type.shape) extent.collectSymbols(symbols);
      }
      for (const auto& symbol : symbols) {
        if (const auto size = sizes.find(symbol); size != sizes.end()) open.push_back(size->second);
      }
    }
  }
  return needed;
}

std::vector<ValueId> openRegion(Graph& graph, const ops::Region& region, std::span<const ValueId> inputs) {
  std::vector<ValueId> values(inputs.begin(), inputs.end());
  for (const auto& node : region->nodes) {
    std::vector<ValueId> operands;
    for (const auto input : node.inputs) operands.push_back(values.at(static_cast<size_t>(input)));
    const auto added = graph.addNode(node.op, node.name, std::move(operands), {node.name});
    const auto& outputs = graph.node(added).outputs;
    values.insert(values.end(), outputs.begin(), outputs.end());
  }
  std::vector<ValueId> outputs;
  for (const auto output : region->outputs) outputs.push_back(values.at(static_cast<size_t>(output)));
  return outputs;
}

std::vector<ValueId> neededConstants(const Graph& graph, std::span<const ValueId> outputs) {
  const auto needed = neededValues(graph, outputs);
  std::vector<ValueId> constants;
  for (ValueId id = 0; id < graph.valueCount(); ++id) {
    if (needed[id] && graph.value(id).constant != nullptr) constants.push_back(id);
  }
  return constants;
}

ops::Region closeRegion(const Graph& graph, std::span<const ValueId> inputs, std::span<const ValueId> outputs) {
  const auto needed = neededValues(graph, outputs);
  std::vector<int32_t> number(graph.valueCount(), -1);
  int32_t next = 0;
  for (const ValueId id : inputs) number[id] = next++;
  ops::RegionBody body;
  body.inputs = next;
  const auto numberOf = [&](ValueId id) {
    checkInternal(number[id] >= 0, "graph '{}': value '{}' is no input of the region", graph.name(),
                  graph.value(id).name);
    return number[id];
  };
  // Sizes stand in front of what needs them.
  const auto phases = phasesOf(graph);
  auto order = graph.order();
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return phases.ofNode[a] < phases.ofNode[b]; });
  for (const NodeId id : order) {
    const auto& node = graph.node(id);
    const bool isNeeded = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return needed[v]; });
    if (!isNeeded) continue;
    ops::RegionNode inner{node.op, {}, static_cast<int32_t>(node.outputs.size()), node.name};
    for (const ValueId input : node.inputs) inner.inputs.push_back(numberOf(input));
    for (const ValueId output : node.outputs) number[output] = next++;
    body.nodes.push_back(std::move(inner));
  }
  for (const ValueId id : outputs) body.outputs.push_back(numberOf(id));
  return ops::Region(std::move(body));
}

}  // namespace tenon::graph
