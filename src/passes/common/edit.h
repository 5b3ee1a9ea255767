// Walks over a graph that is edited on the way.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/graph.h"
#include "passes/common/match.h"

namespace tenon::passes {

// Gives each node that is still there to `edit`, in order; returns how often it said that it changed the graph. What an
// edit adds is not offered.
template <typename Edit>
int editOnce(graph::Graph& graph, Edit edit) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) edits += graph.contains(id) && edit(id) ? 1 : 0;
  return edits;
}

// The same, again and again until a walk changes nothing. What an edit adds is offered right behind it, so that what
// moves along a chain gets to its end in one walk.
template <typename Edit>
int editUntilDone(graph::Graph& graph, Edit edit) {
  const auto editWithAdded = [&](graph::NodeId first) {
    int edits = 0;
    std::vector<graph::NodeId> open{first};
    while (!open.empty()) {
      const auto id = open.back();
      open.pop_back();
      const size_t known = graph.nodeCount();
      if (!graph.contains(id) || !edit(id)) continue;
      ++edits;
      const size_t waiting = open.size();
      for (size_t added = known; added < graph.nodeCount(); ++added) {
        if (graph.contains(static_cast<graph::NodeId>(added))) open.push_back(static_cast<graph::NodeId>(added));
      }
      std::sort(open.begin() + static_cast<std::ptrdiff_t>(waiting), open.end(),
                [&](graph::NodeId a, graph::NodeId b) { return graph.isBefore(b, a); });
    }
    return edits;
  };
  int edits = 0;
  for (bool isDone = false; !isDone;) {
    const int before = edits;
    const auto order = graph.order();
    for (const auto id : order) edits += editWithAdded(id);
    isDone = edits == before;
  }
  return edits;
}

// Offers each node that `begins` to the only node that reads it, until `merge(id, use)` merges no more; returns how
// many it merged. What a merger made waits for the next walk, so that long chains are halved from walk to walk.
template <typename Begins, typename Merge>
int mergePairs(graph::Graph& graph, Begins begins, Merge merge) {
  int edits = 0;
  for (bool isDone = false; !isDone;) {
    const size_t known = graph.nodeCount();
    const int merged = editOnce(graph, [&](graph::NodeId id) {
      if (!begins(graph.node(id).op)) return false;
      const auto user = onlyUser(graph, graph.node(id).outputs[0]);
      return user && user->node < known && merge(id, *user);
    });
    edits += merged;
    isDone = merged == 0;
  }
  return edits;
}

}  // namespace tenon::passes
