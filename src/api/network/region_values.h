// Values and types of regions: what the lowering of loops and that of conditionals share.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/op/size.h"

namespace tenon::api {

inline std::vector<graph::ValueId> join(std::initializer_list<std::vector<graph::ValueId>> lists) {
  std::vector<graph::ValueId> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

inline std::string describe(const ops::TensorType& type) {
  return fmt::format("{} {}", tenon::name(type.dtype), text(type.shape));
}

// The symbols of sizes that the body computes.
inline std::set<std::string> sizesOf(const graph::Graph& body) {
  std::set<std::string> names;
  for (const auto id : body.order()) {
    if (const auto* size = body.node(id).op.as<ops::Size>()) names.insert(size->symbol);
  }
  return names;
}

}  // namespace tenon::api
