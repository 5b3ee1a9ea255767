// Phases of nodes, by repeated walks until all symbols are placed: a node may stand in front of the size that it needs.
#include "graph/phases.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace tenon::graph {
namespace {

class PhaseFinder {
 public:
  explicit PhaseFinder(const Graph& graph) : graph_(graph), shapes_(graph.shapes()) {
    result_.ofNode.assign(graph.nodeCount(), 0);
    for (const NodeId id : graph.order()) {
      if (graph.node(id).op.as<ops::Size>() == nullptr) continue;
      result_.sizes.push_back(id);
      result_.known[sizeOf(graph, id).symbol] = ops::kNoPhase;
    }
  }

  Phases run() {
    if (result_.sizes.empty()) return std::move(result_);
    shapes_.placeSymbols(result_.known);
    readNodes();
    for (;;) {
      const bool open = visit();
      shapes_.placeSymbols(result_.known);
      if (!open) break;
      checkInternal(progress_, "graph '{}': a size depends on itself", graph_.name());
    }
    for (const int32_t phase : result_.ofNode) result_.count = std::max(result_.count, phase + 1);
    for (const auto& symbol : graph_.shapes().symbols) {
      const auto found = result_.known.find(symbol.name);
      if (found != result_.known.end()) result_.count = std::max(result_.count, found->second + 1);
    }
    std::erase_if(result_.sizes, [&](NodeId id) { return result_.ofNode[id] + 1 >= result_.count; });
    std::stable_sort(result_.sizes.begin(), result_.sizes.end(),
                     [&](NodeId a, NodeId b) { return result_.ofNode[a] < result_.ofNode[b]; });
    return std::move(result_);
  }

 private:
  void readNodes() {
    names_.resize(graph_.nodeCount());
    for (const NodeId id : graph_.order()) {
      const auto& node = graph_.node(id);
      node.op.collectSymbols(names_[id]);
      for (const auto* values : {&node.inputs, &node.outputs}) {
        for (const ValueId value : *values) {
          for (const auto& extent : graph_.value(value).type.shape) extent.collectSymbols(names_[id]);
        }
      }
      std::erase_if(names_[id], [&](const std::string& name) { return !result_.known.contains(name); });
    }
  }

  // Whether some node has no phase yet.
  bool visit() {
    bool open = false;
    progress_ = false;
    for (const NodeId id : graph_.order()) {
      const auto& node = graph_.node(id);
      int32_t phase = ops::phaseOf(names_[id], result_.known);
      for (const ValueId input : node.inputs) {
        const NodeId producer = graph_.value(input).producer;
        if (producer != kNone) phase = ops::laterPhase(phase, result_.ofNode[producer]);
      }
      result_.ofNode[id] = phase;
      open = open || phase == ops::kNoPhase;
      const auto* size = node.op.as<ops::Size>();
      if (size == nullptr || phase == ops::kNoPhase) continue;
      auto& known = result_.known[size->symbol];
      progress_ = progress_ || known == ops::kNoPhase;
      known = phase + 1;
    }
    return open;
  }

  const Graph& graph_;
  const ops::ShapeBinder shapes_;
  Phases result_;
  std::vector<std::set<std::string>> names_;  // by node: the symbols that it needs
  bool progress_ = false;
};

}  // namespace

Phases phasesOf(const Graph& graph) { return PhaseFinder(graph).run(); }

void sortByPhases(Graph& graph, const Phases& phases) {
  if (phases.count == 1) return;
  auto order = graph.order();
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return phases.ofNode[a] < phases.ofNode[b]; });
  graph.reorder(std::move(order));
}

}  // namespace tenon::graph
