// The loop of passes that make one node of two.
#pragma once

#include <vector>

#include "passes/match.h"

namespace tenon::passes {

// Offers each node that `begins` to the only node that reads it, until `merge(id, use)` merges no more; returns how
// many it merged. Uses are counted anew after each round over the graph, in which a node takes part in one merger.
template <typename Begins, typename Merge>
int mergePairs(graph::Graph& graph, Begins begins, Merge merge) {
  int edits = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    const auto uses = graph.allUses();
    const auto order = graph.order();
    std::vector<bool> gone(graph.nodeCount(), false);
    for (const auto id : order) {
      if (gone[id] || !begins(graph.node(id).op)) continue;
      const auto user = onlyUser(graph, uses, graph.node(id).outputs[0]);
      if (!user || gone[user->node] || !merge(id, *user)) continue;
      gone[id] = gone[user->node] = true;
      changed = true;
      ++edits;
    }
  }
  return edits;
}

}  // namespace tenon::passes
