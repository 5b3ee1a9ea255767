// Which layers a build needs, and in which order they can be lowered.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "api/network/construct.h"
#include "api/network/network.h"

namespace tenon::api {
namespace {

using Layers = std::unordered_set<const LayerBase*>;

const LayerBase* producerOf(const LayerBase& layer, size_t input) {
  const Tensor* tensor = layer.inputs()[input];
  return tensor != nullptr ? tensor->producer() : nullptr;
}

// Everything that the roots depend on, back edges and limits of loops included.
Layers neededBy(const std::vector<const LayerBase*>& roots) {
  Layers needed;
  std::vector<const LayerBase*> open = roots;
  while (!open.empty()) {
    const LayerBase* layer = open.back();
    open.pop_back();
    if (layer == nullptr || !needed.insert(layer).second) continue;
    for (size_t i = 0; i < layer->inputs().size(); ++i) open.push_back(producerOf(*layer, i));
    if (layer->construct() == nullptr) continue;
    for (const LayerBase* other : layer->construct()->layers()) {
      if (other->role() == BoundaryRole::kLimit) open.push_back(other);
    }
  }
  return needed;
}

// What must stand before a layer: whole loops and conditionals before their first output.
std::vector<const LayerBase*> dependencies(const LayerBase& layer, const Layers& needed) {
  std::vector<const LayerBase*> result;
  const auto addInputs = [&](const LayerBase& of, bool backEdges) {
    for (size_t i = 0; i < of.inputs().size(); ++i) {
      const bool counts = backEdges || !of.isBackEdge(static_cast<int>(i));
      if (const LayerBase* producer = producerOf(of, i); producer != nullptr && counts) result.push_back(producer);
    }
  };
  addInputs(layer, false);
  if (layer.construct() == nullptr || layer.role() != BoundaryRole::kSink) return result;
  for (const LayerBase* other : layer.construct()->layers()) {
    if (needed.count(other) == 0 || other == &layer) continue;
    if (other->role() != BoundaryRole::kSink) result.push_back(other);
    addInputs(*other, true);
  }
  return result;
}

}  // namespace

std::vector<const LayerBase*> Network::liveLayers() const {
  std::vector<const LayerBase*> roots;
  for (const Tensor* output : outputs_) roots.push_back(output->producer());
  for (const auto& layer : layers_) {
    if (layer->getType() == nv::LayerType::kASSERTION) roots.push_back(layer.get());
    const auto& outputs = layer->outputs();
    if (std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) { return isDebugTensor(*output); }))
      roots.push_back(layer.get());
  }
  const Layers needed = neededBy(roots);

  enum class Mark : uint8_t { kOpen, kDone };
  std::unordered_map<const LayerBase*, Mark> marks;
  std::vector<const LayerBase*> order;
  std::vector<const LayerBase*> stack;
  for (const LayerBase* root : roots) {
    stack.push_back(root);
    while (!stack.empty()) {
      const LayerBase* layer = stack.back();
      const auto [mark, fresh] = marks.try_emplace(layer, Mark::kOpen);
      if (!fresh) {
        if (mark->second == Mark::kOpen) {
          mark->second = Mark::kDone;
          order.push_back(layer);
        }
        stack.pop_back();
        continue;
      }
      const auto before = dependencies(*layer, needed);
      for (auto next = before.rbegin(); next != before.rend(); ++next) {
        const auto found = marks.find(*next);
        if (found == marks.end()) {
          stack.push_back(*next);
        } else if (found->second == Mark::kOpen) {
          throw UserError("layer '{}' depends on its own output through layer '{}'; only a recurrence of a loop may",
                          layer->name(), (*next)->name());
        }
      }
    }
  }
  return order;
}

}  // namespace tenon::api
