// All symbols of a graph: those of its inputs and their elements, of its shape program, and sizes of the device.
#include "graph/symbol_names.h"

#include <algorithm>
#include <set>

#include "graph/graph.h"
#include "ops/op/size.h"

namespace tenon::graph {

std::string freeSymbolName(const Graph& graph, const std::string& wanted) {
  std::set<std::string> taken;
  for (const auto& [symbol, source] : graph.symbols()) taken.insert(symbol);
  for (const auto& symbol : graph.shapes().symbols) taken.insert(symbol.name);
  for (const NodeId id : graph.order()) {
    if (const auto* size = graph.node(id).op.as<ops::Size>()) taken.insert(size->symbol);
  }
  for (const ValueId input : graph.inputs()) {
    const auto& type = graph.value(input).type;
    for (const auto& extent : type.shape) extent.collectSymbols(taken);
    if (!type.contents) continue;
    for (const auto& extent : *type.contents) extent.collectSymbols(taken);
  }
  std::string stem = wanted;
  std::replace(stem.begin(), stem.end(), '\'', '_');
  std::string name = stem;
  for (int suffix = 1; taken.contains(name + "[0]") || taken.contains(name + "[0].size"); ++suffix)
    name = fmt::format("{}_{}", stem, suffix);
  return name;
}

}  // namespace tenon::graph
