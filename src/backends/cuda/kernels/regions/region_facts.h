// What the bodies of a loop or conditional hold, at any depth.
#pragma once

#include <algorithm>

#include "ops/op/if.h"
#include "ops/op/loop.h"

namespace tenon::backends::cuda {

template <typename T>
bool holds(const ops::Operator& op);

template <typename T>
bool holds(const ops::Region& region) {
  return std::any_of(region->nodes.begin(), region->nodes.end(),
                     [](const ops::RegionNode& node) { return node.op.as<T>() != nullptr || holds<T>(node.op); });
}

// Whether a body of the operator has an operator T; false where it has no bodies.
template <typename T>
bool holds(const ops::Operator& op) {
  if (const auto* loop = op.as<ops::Loop>()) return holds<T>(loop->next) || holds<T>(loop->test);
  if (const auto* choice = op.as<ops::If>()) return holds<T>(choice->then) || holds<T>(choice->otherwise);
  return false;
}

inline bool hasRegions(const ops::Operator& op) { return op.as<ops::Loop>() != nullptr || op.as<ops::If>() != nullptr; }

}  // namespace tenon::backends::cuda
