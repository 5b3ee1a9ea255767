// The cheapest cut of a network between a source and a sink.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::compile {

class MinCut {
 public:
  static constexpr int64_t kNever = int64_t{1} << 60;  // the cost of what must not be cut
  static constexpr int kSource = 0;
  static constexpr int kSink = 1;

  int addVertex();
  // Costs `cost` (at least 0) where `from` is on the side of the source and `to` on that of the sink.
  void addEdge(int from, int to, int64_t cost);
  // By vertex: whether it is on the side of the sink. Of several cheapest cuts the one with the fewest such vertices.
  std::vector<bool> solve();

 private:
  struct Edge {
    int to;
    int64_t left;  // of the capacity; the edge back is the next one of an even index, the one before of an odd one
  };
  bool findLevels();
  int64_t push(int vertex, int64_t most);

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> out_{2};  // by vertex: edges
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace tenon::compile
