// What the bodies of a loop or conditional hold, at any depth.
#pragma once

#include "ops/op/if.h"
#include "ops/op/loop.h"

namespace tenon::ops {

inline bool hasRegions(const Operator& op) { return op.as<Loop>() != nullptr || op.as<If>() != nullptr; }

// Calls visit(node) for each node of the bodies, those of a loop or conditional within behind that one itself.
template <typename Visit>
void forEachWithin(const Operator& op, const Visit& visit) {
  const auto walk = [&](const Region& region) {
    for (const auto& node : region->nodes) {
      visit(node);
      forEachWithin(node.op, visit);
    }
  };
  if (const auto* loop = op.as<Loop>()) {
    walk(loop->next);
    walk(loop->test);
  }
  if (const auto* choice = op.as<If>()) {
    walk(choice->then);
    walk(choice->otherwise);
  }
}

// Whether a body of the operator has an operator T; false where it has no bodies.
template <typename T>
bool holds(const Operator& op) {
  bool found = false;
  forEachWithin(op, [&](const RegionNode& node) { found = found || node.op.as<T>() != nullptr; });
  return found;
}

// The operator itself, and those of its bodies, where they are a T.
template <typename T, typename Visit>
void forEachOf(const Operator& op, const Visit& visit) {
  if (const auto* own = op.as<T>()) visit(*own);
  forEachWithin(op, [&](const RegionNode& node) {
    if (const auto* within = node.op.as<T>()) visit(*within);
  });
}

}  // namespace tenon::ops
