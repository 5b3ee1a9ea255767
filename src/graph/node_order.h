// The order of a graph's nodes. Each node knows where it stands, so that comparing two needs no walk over the others.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::graph {

using NodeId = uint32_t;

// Places are numbers with gaps between them; where a gap is used up, all are numbered anew.
class NodeOrder {
 public:
  const std::vector<NodeId>& nodes() const noexcept { return nodes_; }
  bool contains(NodeId id) const noexcept { return id < places_.size() && places_[id] != kNowhere; }
  bool isBefore(NodeId a, NodeId b) const { return places_[a] < places_[b]; }  // both are contained

  void append(NodeId id);
  void assign(std::vector<NodeId> nodes);
  void insertBefore(NodeId place, NodeId id);
  void erase(NodeId id);

 private:
  static constexpr int64_t kNowhere = INT64_MIN;
  std::vector<NodeId>::iterator find(NodeId id);
  void setPlace(NodeId id, int64_t place);

  std::vector<NodeId> nodes_;    // by ascending place
  std::vector<int64_t> places_;  // by id
};

}  // namespace tenon::graph
