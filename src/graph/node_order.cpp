// Binary search by place; inserting in the middle moves four bytes for each node behind, which is nothing beside an
// edit.
#include "graph/node_order.h"

#include <algorithm>

namespace tenon::graph {
namespace {

constexpr int64_t kGap = int64_t{1} << 32;

}  // namespace

std::vector<NodeId>::iterator NodeOrder::find(NodeId id) {
  return std::lower_bound(nodes_.begin(), nodes_.end(), places_[id],
                          [&](NodeId other, int64_t place) { return places_[other] < place; });
}

void NodeOrder::setPlace(NodeId id, int64_t place) {
  if (id >= places_.size()) places_.resize(id + size_t{1}, kNowhere);
  places_[id] = place;
}

void NodeOrder::append(NodeId id) {
  setPlace(id, nodes_.empty() ? 0 : places_[nodes_.back()] + kGap);
  nodes_.push_back(id);
}

void NodeOrder::assign(std::vector<NodeId> nodes) {
  nodes_ = std::move(nodes);
  std::fill(places_.begin(), places_.end(), kNowhere);
  for (size_t i = 0; i < nodes_.size(); ++i) setPlace(nodes_[i], static_cast<int64_t>(i) * kGap);
}

void NodeOrder::insertBefore(NodeId place, NodeId id) {
  auto at = find(place);
  if (at == nodes_.begin()) {
    setPlace(id, places_[place] - kGap);
  } else {
    if (places_[place] - places_[*(at - 1)] < 2) {
      for (size_t i = 0; i < nodes_.size(); ++i) places_[nodes_[i]] = static_cast<int64_t>(i) * kGap;
    }
    const int64_t before = places_[*(at - 1)];
    setPlace(id, before + (places_[place] - before) / 2);
  }
  nodes_.insert(at, id);
}

void NodeOrder::erase(NodeId id) {
  nodes_.erase(find(id));
  places_[id] = kNowhere;
}

}  // namespace tenon::graph
