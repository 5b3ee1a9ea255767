// Which layers run within which loop or conditional. Nobody says it: it follows from the flow of data. What depends on
// a source of a construct (a recurrence, an iterator, an input of a conditional) is within it, up to its outputs; a
// construct is within another one when a boundary of it is: its outputs, what it begins with, or what decides it.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/network/construct.h"

namespace tenon::api {

class Membership {
 public:
  // Of these layers. UserError where two constructs overlap and neither is within the other.
  explicit Membership(std::span<const LayerBase* const> layers);

  bool contains(const Construct& construct, const LayerBase& layer) const;
  // The construct that the layer runs in directly; null for the network itself. Boundary layers: sources are within
  // their construct, its outputs and limits are where the construct is.
  const Construct* innermost(const LayerBase& layer) const {
    const auto found = innermost_.find(&layer);
    return found == innermost_.end() ? nullptr : found->second;
  }

 private:
  using Layers = std::unordered_set<const LayerBase*>;
  void grow(const Construct& construct, Layers& inside) const;
  Layers layers_;
  std::unordered_map<const Construct*, Layers> inside_;
  std::vector<const Construct*> constructs_;
  std::unordered_map<const LayerBase*, const Construct*> innermost_;  // of layers within one
};

}  // namespace tenon::api
