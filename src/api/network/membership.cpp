// Sets of layers grown along the flow of data until nothing changes.
#include "api/network/membership.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::api {

Membership::Membership(std::span<const LayerBase* const> layers) : layers_(layers.begin(), layers.end()) {
  for (const LayerBase* layer : layers) {
    const Construct* construct = layer->construct();
    if (construct == nullptr) continue;
    if (inside_.try_emplace(construct).second) constructs_.push_back(construct);
    if (layer->role() == BoundaryRole::kSource) inside_[construct].insert(layer);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const Construct* construct : constructs_) {
      auto& inside = inside_[construct];
      const size_t before = inside.size();
      grow(*construct, inside);
      changed = changed || inside.size() != before;
    }
  }
  for (size_t a = 0; a < constructs_.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const auto& first = inside_[constructs_[a]];
      const auto& second = inside_[constructs_[b]];
      const auto& smaller = first.size() < second.size() ? first : second;
      const auto& larger = first.size() < second.size() ? second : first;
      const auto shared =
          std::count_if(smaller.begin(), smaller.end(), [&](const auto* x) { return larger.count(x) != 0; });
      checkUser(shared == 0 || (static_cast<size_t>(shared) == smaller.size() && smaller.size() != larger.size()),
                "'{}' and '{}' share layers and neither is within the other; the result of a loop or conditional may "
                "leave it through its outputs only",
                constructs_[a]->name(), constructs_[b]->name());
    }
  }
  // Nested constructs are smaller than those around them.
  for (const Construct* construct : constructs_) {
    for (const LayerBase* layer : inside_[construct]) {
      const auto [place, isNew] = innermost_.try_emplace(layer, construct);
      if (!isNew && inside_[construct].size() < inside_[place->second].size()) place->second = construct;
    }
  }
}

// Forward from what is inside; with a boundary of another construct come all of its layers.
void Membership::grow(const Construct& construct, Layers& inside) const {
  std::vector<const LayerBase*> open(inside.begin(), inside.end());
  const auto take = [&](const LayerBase* layer) {
    if (layers_.count(layer) != 0 && inside.insert(layer).second) open.push_back(layer);
  };
  while (!open.empty()) {
    const LayerBase* layer = open.back();
    open.pop_back();
    const Construct* other = layer->construct();
    if (other != nullptr && other != &construct) {
      for (const LayerBase* boundary : other->layers()) {
        if (layers_.count(boundary) != 0) take(boundary);
      }
      for (const LayerBase* member : inside_.at(other)) take(member);
    }
    for (const auto& output : layer->outputs()) {
      for (const LayerBase* reader : output->consumers()) {
        const bool ownBoundary = reader->construct() == &construct && reader->role() != BoundaryRole::kSource;
        if (ownBoundary) continue;
        take(reader);  // a next value as well: it may reach the recurrence of another loop in no other way
      }
    }
  }
}

bool Membership::contains(const Construct& construct, const LayerBase& layer) const {
  const auto found = inside_.find(&construct);
  return found != inside_.end() && found->second.count(&layer) != 0;
}

}  // namespace tenon::api
