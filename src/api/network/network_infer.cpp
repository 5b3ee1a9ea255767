// Inference of tensor types one layer at a time, and which tensors are shape tensors.
#include <algorithm>
#include <map>
#include <new>
#include <set>

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
    values[i] = context.cast(values[i], layer.outputs()[i]->storedType(context.type(values[i]).dtype));
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

namespace {

// Layers through which the elements of a tensor are computed, producers first. A layer that reads extents only stands
// for itself.
std::vector<const LayerBase*> shapeLayers(const Tensor& tensor) {
  std::vector<const LayerBase*> order;
  std::set<const LayerBase*> done;
  std::vector<std::pair<const LayerBase*, bool>> open{{tensor.producer(), false}};
  while (!open.empty()) {
    const auto [layer, entered] = open.back();
    open.pop_back();
    if (entered) order.push_back(layer);
    if (entered || layer == nullptr) continue;
    const bool readsExtents = layer->getType() == nv::LayerType::kSHAPE;
    if ((!readsExtents && !layer->carriesShapes()) || !done.insert(layer).second) continue;
    open.emplace_back(layer, true);
    if (readsExtents) continue;
    for (const Tensor* input : layer->inputs()) {
      if (input == nullptr) continue;
      const auto& type = input->type();
      if (!type || !type->contents || isFloating(type->dtype)) open.emplace_back(input->producer(), false);
    }
  }
  return order;
}

// A graph for the inference of one layer.
class Scratch {
 public:
  explicit Scratch(const std::string& name) : graph_(name) {}

  graph::Graph& graph() { return graph_; }

  graph::ValueId value(const Tensor& tensor) {
    const auto found = values_.find(&tensor);
    if (found != values_.end()) return found->second;
    const auto id = graph_.addInput(fmt::format("input {}", values_.size()), *tensor.type());
    graph_.renameValue(id, tensor.name());
    return values_[&tensor] = id;
  }

  // With what computes its elements, for a layer that asks for them.
  graph::ValueId computed(const Tensor& tensor) {
    if (tensor.type()->contents || isFloating(tensor.type()->dtype)) return value(tensor);
    for (const LayerBase* layer : shapeLayers(tensor)) {
      std::vector<graph::ValueId> inputs;
      for (const Tensor* input : layer->inputs()) inputs.push_back(input == nullptr ? graph::kNone : value(*input));
      const auto results = lowerLayer(*layer, graph_, std::move(inputs));
      for (size_t i = 0; i < results.size(); ++i) values_[layer->outputs()[i].get()] = results[i];
    }
    return value(tensor);
  }

 private:
  graph::Graph graph_;
  std::map<const Tensor*, graph::ValueId> values_;
};

}  // namespace

// Lowers the layer alone into a graph whose inputs have the types of the layer's inputs. Elements that it asks for are
// kept with the types of the tensors that hold them.
void Network::inferOne(LayerBase& layer) {
  for (const auto& output : layer.outputs()) output->setInferred(std::nullopt);
  guarded(reporter_, "INetworkDefinition: shape inference", [&] {
    Scratch scratch(layer.name());
    std::vector<graph::ValueId> values;
    for (size_t i = 0; i < layer.inputs().size(); ++i) {
      const Tensor* input = layer.inputs()[i];
      if (input == nullptr || layer.isBackEdge(static_cast<int>(i))) {
        values.push_back(graph::kNone);
        continue;
      }
      const LayerBase* producer = input->producer();
      if (producer != nullptr && producer->state != State::kClean) {
        throw UserError("layer '{}' depends on its own output through tensor '{}'", layer.name(), input->name());
      }
      const auto& type = input->type();
      if (!type) return;  // what is wrong there has been reported
      const bool asked = layer.isShapeInput(static_cast<int>(i));
      values.push_back(asked ? scratch.computed(*input) : scratch.value(*input));
    }
    const auto results = lowerLayer(layer, scratch.graph(), values);
    const bool variesByIteration =
        layer.construct() != nullptr && layer.construct()->isLoop() && layer.role() == BoundaryRole::kSource;
    for (size_t i = 0; i < results.size(); ++i) {
      ops::TensorType type = scratch.graph().value(results[i]).type;
      if (variesByIteration) type.contents.reset();
      layer.outputs()[i]->setInferred(std::move(type));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] == graph::kNone || layer.inputs()[i]->type()->contents) continue;
      layer.inputs()[i]->setInferred(scratch.graph().value(values[i]).type);
    }
  });
}

// An input whose elements no host value can be is data of the device, whatever reads it.
bool Network::isShapeTensor(const Tensor& tensor) const {
  if (tensor.producer() == nullptr && !tensor.inputType().contents) return false;
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
