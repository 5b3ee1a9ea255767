// Inference of tensor types one layer at a time, and which tensors are shape tensors.
#include <algorithm>
#include <new>

#include "api/network/construct.h"
#include "api/network/lower_context.h"
#include "api/network/network.h"

namespace tenon::api {

using State = LayerBase::State;

std::vector<graph::ValueId> lowerLayer(const LayerBase& layer, graph::Graph& graph,
                                       std::vector<graph::ValueId> inputs) {
  LowerContext context(layer, graph, std::move(inputs));
  auto values = layer.lower(context);
  checkInternal(values.size() == layer.outputs().size(), "layer '{}' has {} outputs and gave {} values", layer.name(),
                layer.outputs().size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (const auto wanted = layer.outputs()[i]->wantedType()) values[i] = context.cast(values[i], *wanted);
  }
  return values;
}

// A layer that is marked already has marked everything behind it before.
void Network::invalidate(LayerBase& layer) {
  try {
    std::vector<LayerBase*> work{&layer};
    while (!work.empty()) {
      LayerBase* next = work.back();
      work.pop_back();
      if (next->state == State::kDirty) continue;
      next->state = State::kDirty;
      for (const auto& output : next->outputs()) {
        work.insert(work.end(), output->consumers().begin(), output->consumers().end());
      }
    }
  } catch (const std::bad_alloc&) {
    // More than needed, but without memory; setters that have no result to fail with come here.
    layer.state = State::kDirty;
    for (const auto& other : layers_) other->state = State::kDirty;
  }
}

// Depth first with a stack of our own: networks are deeper than the machine's stack.
void Network::infer(LayerBase& target) {
  std::vector<LayerBase*> stack{&target};
  struct NotBusy {  // whatever happens
    ~NotBusy() {
      for (LayerBase* layer : stack) {
        if (layer->state == State::kBusy) layer->state = State::kDirty;
      }
    }
    std::vector<LayerBase*>& stack;
  } const notBusy{stack};
  while (!stack.empty()) {
    LayerBase* layer = stack.back();
    if (layer->state == State::kClean) {
      stack.pop_back();
      continue;
    }
    if (layer->state == State::kDirty) {
      layer->state = State::kBusy;
      const size_t before = stack.size();
      for (size_t i = 0; i < layer->inputs().size(); ++i) {
        const Tensor* input = layer->inputs()[i];
        LayerBase* producer = input != nullptr ? input->producer() : nullptr;
        const bool isNeeded = producer != nullptr && !layer->isBackEdge(static_cast<int>(i));
        if (isNeeded && producer->state == State::kDirty) stack.push_back(producer);
      }
      if (stack.size() != before) continue;
    }
    inferOne(*layer);
    layer->state = State::kClean;
    stack.pop_back();
  }
}

// Lowers the layer alone into a graph whose inputs have the types of the layer's inputs.
void Network::inferOne(LayerBase& layer) {
  for (const auto& output : layer.outputs()) output->setInferred(std::nullopt);
  guarded(reporter_, "INetworkDefinition: shape inference", [&] {
    graph::Graph scratch(layer.name());
    std::vector<graph::ValueId> values;
    for (const Tensor* input : layer.inputs()) {
      if (input == nullptr || layer.isBackEdge(static_cast<int>(values.size()))) {
        values.push_back(graph::kNone);
        continue;
      }
      const LayerBase* producer = input->producer();
      if (producer != nullptr && producer->state != State::kClean) {
        throw UserError("layer '{}' depends on its own output through tensor '{}'", layer.name(), input->name());
      }
      const auto& type = input->type();
      if (!type) return;  // what is wrong there has been reported
      values.push_back(scratch.addInput(fmt::format("input {}", values.size()), *type));
    }
    const auto results = lowerLayer(layer, scratch, std::move(values));
    const bool variesByIteration =
        layer.construct() != nullptr && layer.construct()->isLoop() && layer.role() == BoundaryRole::kSource;
    for (size_t i = 0; i < results.size(); ++i) {
      ops::TensorType type = scratch.value(results[i]).type;
      if (variesByIteration) type.contents.reset();
      layer.outputs()[i]->setInferred(std::move(type));
    }
  });
}

bool Network::isShapeTensor(const Tensor& tensor) const {
  TensorFacts known;
  return feedsShapes(tensor, known);
}

bool Network::isExecutionTensor(const Tensor& tensor) const {
  TensorFacts known;
  return feedsExecution(tensor, known);
}

// Both walk with a stack of their own, as networks are deeper than the machine's; `known` holds what was looked at.
bool Network::feedsShapes(const Tensor& tensor, TensorFacts& known) const {
  std::vector<const Tensor*> open{&tensor};
  while (!open.empty()) {
    const Tensor& next = *open.back();
    open.pop_back();
    if (!known.emplace(&next, false).second) continue;
    const auto& type = next.type();
    if (!type || type->rank() > 1) continue;
    if (isShapeOutput(next)) return true;
    for (const LayerBase* layer : next.consumers()) {
      for (size_t i = 0; i < layer->inputs().size(); ++i) {
        if (layer->inputs()[i] != &next) continue;
        if (layer->isShapeInput(static_cast<int>(i))) return true;
        if (!layer->carriesShapes()) continue;
        for (const auto& output : layer->outputs()) open.push_back(output.get());
      }
    }
  }
  return false;
}

bool Network::feedsExecution(const Tensor& tensor, TensorFacts& known) const {
  std::vector<const Tensor*> open{&tensor};
  while (!open.empty()) {
    const Tensor& next = *open.back();
    open.pop_back();
    if (!known.emplace(&next, false).second) continue;
    if (!isShapeTensor(next) || (isOutput(next) && !isShapeOutput(next))) return true;
    for (const LayerBase* layer : next.consumers()) {
      if (layer->getType() == nv::LayerType::kSHAPE) continue;  // reads extents only
      for (size_t i = 0; i < layer->inputs().size(); ++i) {
        if (layer->inputs()[i] != &next || layer->isShapeInput(static_cast<int>(i))) continue;
        if (!layer->carriesShapes()) return true;
        for (const auto& output : layer->outputs()) open.push_back(output.get());
      }
    }
  }
  return false;
}

}  // namespace tenon::api
