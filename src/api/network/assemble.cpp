// The network as one graph for the build: live layers only, in topological order, with the user's names and marks.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "api/network/lower_context.h"
#include "api/network/network.h"
#include "ops/op/tap.h"

namespace tenon::api {
namespace {

void checkLayout(const graph::Value& value) {
  const Layout layout = value.constraints.layout();
  checkUser(!value.constraints.hostShape || layout == Layout::kLinear,
            "shape tensor '{}' is allowed layout {} only; expected kLINEAR among the allowed formats", value.name,
            tenon::name(layout));
}

using Values = std::unordered_map<const Tensor*, graph::ValueId>;

// A node that shows the tensor to the debug listener, right behind what computes it.
void addTap(const Tensor& tensor, graph::Graph& graph, graph::ValueId value) {
  std::vector<std::string> origins;
  if (tensor.producer() != nullptr) origins.push_back(tensor.producer()->name());
  const auto shown = graph.add(ops::Tap{}, tensor.name(), {value}, std::move(origins));
  graph.value(shown).constraints.debug = true;
}

void addInputs(const Network& network, const FixedSymbols& fixed, graph::Graph& graph, Values& values) {
  for (const auto& input : network.inputs()) {
    ops::TensorType type = input->inputType();
    for (Extent& extent : type.shape) extent = extent.substitute(fixed);
    if (type.contents) {
      for (Extent& value : *type.contents) value = value.substitute(fixed);
    }
    const bool shapeTensor = network.isShapeTensor(*input);
    if (shapeTensor && !type.contents) {
      throw Unsupported(
          "input '{}' is a shape tensor; shape tensors must have an integer type and a fixed shape of at most 64 "
          "elements, got {} {}",
          input->name(), tenon::name(type.dtype), text(type.shape));
    }
    if (!shapeTensor) type.contents.reset();
    const auto dims = type.shape;
    const auto contents = type.contents.value_or(std::vector<Extent>{});
    const graph::ValueId value = graph.addInput(input->name(), std::move(type));
    graph.value(value).constraints = input->constraints(graph.value(value).type);
    graph.value(value).constraints.hostShape = shapeTensor;
    checkLayout(graph.value(value));
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis].isConstant()) continue;
      const int at = static_cast<int>(axis);
      graph.addSymbol(input->axisSymbol(at), {graph::SymbolSource::Kind::kInputExtent, input->name(), at});
    }
    for (size_t i = 0; i < contents.size(); ++i) {
      if (contents[i].isConstant()) continue;
      const int at = static_cast<int>(i);
      graph.addSymbol(input->valueSymbol(at), {graph::SymbolSource::Kind::kInputContents, input->name(), at});
    }
    values[input.get()] = value;
    if (network.isDebugTensor(*input)) addTap(*input, graph, value);
  }
}

// An output needs a value of its own that a node computes.
graph::ValueId ownValue(graph::Graph& graph, graph::ValueId value, const Tensor& tensor) {
  const auto& current = graph.value(value);
  if (current.producer != graph::kNone && !graph.isOutput(value)) return value;
  return graph.add(ops::Pointwise{}, tensor.name(), {value}, {tensor.producer()->name()});
}

}  // namespace

void Network::checkNames() const {
  checkUser(!outputs_.empty(), "the network has no outputs; mark at least one tensor with markOutput()");
  std::unordered_set<std::string> names;
  const auto check = [&](const Tensor& tensor) {
    checkUser(!tensor.name().empty(), "a network input or output has an empty name");
    checkUser(names.insert(tensor.name()).second, "two inputs or outputs of the network are called '{}'",
              tensor.name());
  };
  for (const auto& input : inputs_) check(*input);
  for (const Tensor* output : outputs_) check(*output);
}

// Layers that outputs or debug tensors need, producers first.
std::vector<const LayerBase*> Network::liveLayers() const {
  enum class Mark : uint8_t { kOpen, kDone };
  std::unordered_map<const LayerBase*, Mark> marks;
  std::vector<const LayerBase*> order;
  std::vector<const LayerBase*> stack;
  const auto visit = [&](const LayerBase* root) {
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
      for (auto input = layer->inputs().rbegin(); input != layer->inputs().rend(); ++input) {
        const LayerBase* producer = *input != nullptr ? (*input)->producer() : nullptr;
        if (producer == nullptr) continue;
        const auto found = marks.find(producer);
        if (found == marks.end()) {
          stack.push_back(producer);
        } else if (found->second == Mark::kOpen) {
          throw UserError("layer '{}' depends on its own output through tensor '{}'", layer->name(), (*input)->name());
        }
      }
    }
  };
  for (const Tensor* output : outputs_) visit(output->producer());
  for (const auto& layer : layers_) {
    const auto& outputs = layer->outputs();
    if (std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) { return isDebugTensor(*output); }))
      visit(layer.get());
  }
  return order;
}

graph::Graph Network::assemble(const FixedSymbols& fixed) const {
  checkNames();
  graph::Graph graph(name_);
  Values values;
  addInputs(*this, fixed, graph, values);
  for (const LayerBase* layer : liveLayers()) {
    std::vector<graph::ValueId> inputs;
    for (const Tensor* input : layer->inputs()) {
      const auto found = values.find(input);
      checkUser(input == nullptr || found != values.end(),
                "layer '{}' reads tensor '{}', which was removed from the network", layer->name(),
                input != nullptr ? input->name() : "");
      inputs.push_back(input == nullptr ? graph::kNone : found->second);
    }
    const auto results = lowerLayer(*layer, graph, std::move(inputs));
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor& tensor = *layer->outputs()[i];
      graph::ValueId value = isOutput(tensor) ? ownValue(graph, results[i], tensor) : results[i];
      // Names of inputs and outputs are the user's; other tensors give way.
      const bool free = isOutput(tensor) || !graph.findValue(tensor.name()).has_value();
      if (free && !graph.value(value).isInput && !graph.isOutput(value)) graph.renameValue(value, tensor.name());
      auto& constraints = graph.value(value).constraints;
      const auto wanted = tensor.constraints(graph.value(value).type);
      if (!wanted.layouts.empty()) constraints.layouts = wanted.layouts;
      if (wanted.dynamicRange) constraints.dynamicRange = wanted.dynamicRange;
      if (isShapeOutput(tensor)) constraints.hostShape = true;
      checkLayout(graph.value(value));
      values[&tensor] = value;
      if (isDebugTensor(tensor)) addTap(tensor, graph, value);
    }
  }
  for (const Tensor* output : outputs_) graph.addOutput(values.at(output), output->name());
  return graph;
}

}  // namespace tenon::api
