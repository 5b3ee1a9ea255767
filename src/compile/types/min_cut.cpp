// Dinic's algorithm: shortest augmenting paths, all of a length at once.
#include "compile/types/min_cut.h"

#include <algorithm>

namespace tenon::compile {

int MinCut::addVertex() {
  out_.emplace_back();
  return static_cast<int>(out_.size()) - 1;
}

void MinCut::addEdge(int from, int to, int64_t cost) {
  out_[static_cast<size_t>(from)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({to, std::min(cost, kNever)});
  out_[static_cast<size_t>(to)].push_back(static_cast<int>(edges_.size()));
  edges_.push_back({from, 0});
}

// Steps from the source over edges with capacity left; whether the sink is reached.
bool MinCut::findLevels() {
  level_.assign(out_.size(), -1);
  level_[kSource] = 0;
  std::vector<int> reached{kSource};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const int e : out_[static_cast<size_t>(reached[i])]) {
      const auto& edge = edges_[static_cast<size_t>(e)];
      auto& level = level_[static_cast<size_t>(edge.to)];
      if (edge.left == 0 || level >= 0) continue;
      level = level_[static_cast<size_t>(reached[i])] + 1;
      reached.push_back(edge.to);
    }
  }
  return level_[kSink] >= 0;
}

// One path to the sink with a stack of our own: networks are deeper than the machine's stack. Returns what it carries;
// 0: there is none left.
int64_t MinCut::push(int vertex, int64_t most) {
  std::vector<int> path;
  while (vertex != kSink) {
    auto& next = next_[static_cast<size_t>(vertex)];
    const auto& out = out_[static_cast<size_t>(vertex)];
    if (next == out.size()) {
      if (path.empty()) return 0;
      vertex = edges_[static_cast<size_t>(path.back() ^ 1)].to;
      path.pop_back();
      ++next_[static_cast<size_t>(vertex)];
      continue;
    }
    const auto& edge = edges_[static_cast<size_t>(out[next])];
    if (edge.left == 0 || level_[static_cast<size_t>(edge.to)] != level_[static_cast<size_t>(vertex)] + 1) {
      ++next;
      continue;
    }
    path.push_back(out[next]);
    vertex = edge.to;
  }
  for (const int e : path) most = std::min(most, edges_[static_cast<size_t>(e)].left);
  for (const int e : path) {
    edges_[static_cast<size_t>(e)].left -= most;
    edges_[static_cast<size_t>(e ^ 1)].left += most;
  }
  return most;
}

std::vector<bool> MinCut::solve() {
  while (findLevels()) {
    next_.assign(out_.size(), 0);
    while (push(kSource, kNever) > 0) {
    }
  }
  // What the source still reaches is on its side. The most that can be there: all that does not reach the sink.
  std::vector<bool> reachesSink(out_.size(), false);
  reachesSink[kSink] = true;
  std::vector<int> found{kSink};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const int e : out_[static_cast<size_t>(found[i])]) {
      const auto& back = edges_[static_cast<size_t>(e ^ 1)];  // towards the vertex that was found
      const int from = edges_[static_cast<size_t>(e)].to;
      if (back.left == 0 || reachesSink[static_cast<size_t>(from)]) continue;
      reachesSink[static_cast<size_t>(from)] = true;
      found.push_back(from);
    }
  }
  return reachesSink;
}

}  // namespace tenon::compile
