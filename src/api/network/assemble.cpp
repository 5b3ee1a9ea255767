// The network as one graph for the build: live layers only, in topological order, with the user's names and marks.
#include <algorithm>
#include <unordered_set>

#include "api/network/assembly.h"
#include "api/network/lower_context.h"
#include "ops/op/tap.h"

namespace tenon::api {
namespace {

void checkLayout(const graph::Value& value) {
  const Layout layout = value.constraints.layout();
  checkUser(!value.constraints.hostShape || layout == Layout::kLinear,
            "shape tensor '{}' is allowed layout {} only; expected kLINEAR among the allowed formats", value.name,
            tenon::name(layout));
}

// A node that shows the tensor to the debug listener, right behind what computes it.
void addTap(const Tensor& tensor, graph::Graph& graph, graph::ValueId value) {
  std::vector<std::string> origins;
  if (tensor.producer() != nullptr) origins.push_back(tensor.producer()->name());
  const auto shown = graph.add(ops::Tap{}, tensor.name(), {value}, std::move(origins));
  graph.value(shown).constraints.debug = true;
}

// An output needs a value of its own that a node computes.
graph::ValueId ownValue(graph::Graph& graph, graph::ValueId value, const Tensor& tensor) {
  const auto& current = graph.value(value);
  if (current.producer != graph::kNone && !graph.isOutput(value)) return value;
  return graph.add(ops::Pointwise{}, tensor.name(), {value}, {tensor.producer()->name()});
}

void checkNames(const Network& network) {
  checkUser(!network.outputs().empty(), "the network has no outputs; mark at least one tensor with markOutput()");
  std::unordered_set<std::string> names;
  const auto check = [&](const Tensor& tensor) {
    checkUser(!tensor.name().empty(), "a network input or output has an empty name");
    checkUser(names.insert(tensor.name()).second, "two inputs or outputs of the network are called '{}'",
              tensor.name());
  };
  for (const auto& input : network.inputs()) check(*input);
  for (const Tensor* output : network.outputs()) check(*output);
}

// A conditional that gives nothing is a mistake of who wrote it, as in TensorRT; a loop without outputs is left out.
void checkConditionals(const Network& network) {
  for (const auto& layer : network.layers()) {
    const Construct* construct = layer->construct();
    if (construct == nullptr || construct->isLoop()) continue;
    const auto& parts = construct->layers();
    checkUser(std::any_of(parts.begin(), parts.end(), [](const auto* x) { return x->role() == BoundaryRole::kSink; }),
              "conditional '{}' has no outputs; call addOutput()", construct->name());
  }
}

}  // namespace

Assembly::Assembly(const Network& network, const FixedSymbols& fixed)
    : network_(network), fixed_(fixed), order_(network.liveLayers()), membership_(order_) {}

void Assembly::addInputs(Scope& scope) const {
  graph::Graph& graph = scope.graph;
  for (const auto& input : network_.inputs()) {
    ops::TensorType type = input->inputType();
    for (Extent& extent : type.shape) extent = extent.substitute(fixed_);
    if (type.contents) {
      for (Extent& value : *type.contents) value = value.substitute(fixed_);
    }
    const bool shapeTensor = network_.isShapeTensor(*input);
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
    scope.values[input.get()] = value;
    if (network_.isDebugTensor(*input)) addTap(*input, graph, value);
  }
}

graph::ValueId Assembly::valueOf(Scope& scope, const LayerBase& reader, const Tensor* tensor) {
  if (tensor == nullptr) return graph::kNone;
  const auto found = scope.values.find(tensor);
  if (found != scope.values.end()) return found->second;
  const Construct* home = tensor->producer() != nullptr ? membership_.innermost(*tensor->producer()) : nullptr;
  checkUser(home == nullptr || home != scope.construct, "layer '{}' reads tensor '{}' before '{}' computes it",
            reader.name(), tensor->name(), home != nullptr ? home->name() : "");
  checkUser(scope.outer != nullptr || home == nullptr,
            "layer '{}' reads tensor '{}', which is computed within '{}'; take it out by an output of that",
            reader.name(), tensor->name(), home != nullptr ? home->name() : "");
  checkUser(scope.outer != nullptr, "layer '{}' reads tensor '{}', which was removed from the network", reader.name(),
            tensor->name());
  const graph::ValueId outside = valueOf(*scope.outer, reader, tensor);
  if (network_.isShapeTensor(*tensor)) {
    try {
      scope.outer->graph.shapeElements(outside);
    } catch (const UserError&) {  // whoever asks for them says what is missing
    }
  }
  const auto& value = scope.outer->graph.value(outside);
  if (value.constant != nullptr) return scope.values[tensor] = scope.graph.addConstant(value.constant, value.name);
  const graph::ValueId inside = addOperand(scope.graph, value.type);
  scope.captured.emplace_back(inside, outside);
  return scope.values[tensor] = inside;
}

void Assembly::place(Scope& scope, const LayerBase& layer, const std::vector<graph::ValueId>& results) {
  graph::Graph& graph = scope.graph;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& tensor = *layer.outputs()[i];
    const bool isOutput = network_.isOutput(tensor);
    graph::ValueId value = isOutput ? ownValue(graph, results[i], tensor) : results[i];
    // Names of inputs and outputs are the user's; other tensors give way.
    const bool free = isOutput || !graph.findValue(tensor.name()).has_value();
    if (free && !graph.value(value).isInput && !graph.isOutput(value)) graph.renameValue(value, tensor.name());
    auto& constraints = graph.value(value).constraints;
    const auto wanted = tensor.constraints(graph.value(value).type);
    if (!wanted.layouts.empty()) constraints.layouts = wanted.layouts;
    if (wanted.dynamicRange) constraints.dynamicRange = wanted.dynamicRange;
    if (network_.isShapeOutput(tensor)) constraints.hostShape = true;
    checkLayout(graph.value(value));
    scope.values[&tensor] = value;
    if (network_.isDebugTensor(tensor)) addTap(tensor, graph, value);
  }
}

void Assembly::lowerLayers(Scope& scope, const std::unordered_set<const LayerBase*>* wanted) {
  std::unordered_set<const Construct*> done;
  for (const LayerBase* layer : order_) {
    if (membership_.innermost(*layer) != scope.construct || (wanted != nullptr && wanted->count(layer) == 0)) continue;
    if (const Construct* construct = layer->construct()) {
      // A loop or conditional is one node: its first output in the order brings all of it.
      const bool isNew =
          layer->role() == BoundaryRole::kSink && construct != scope.construct && done.insert(construct).second;
      if (isNew) lowerConstruct(scope, *construct);
      continue;
    }
    std::vector<graph::ValueId> inputs;
    for (const Tensor* input : layer->inputs()) inputs.push_back(valueOf(scope, *layer, input));
    place(scope, *layer, lowerLayer(*layer, scope.graph, std::move(inputs)));
  }
}

// What cannot stand within a loop or conditional: marks, which would show what runs more than once or perhaps not at
// all, and assertions, which are about shapes.
void Assembly::checkWithin() const {
  for (const LayerBase* layer : order_) {
    const Construct* inside = membership_.innermost(*layer);
    if (inside == nullptr) continue;
    if (layer->getType() == nv::LayerType::kASSERTION) {
      throw Unsupported("assertion layer '{}' is within '{}'; assert what is known of shapes outside of it",
                        layer->name(), inside->name());
    }
    for (const auto& tensor : layer->outputs()) {
      checkUser(!network_.isOutput(*tensor),
                "network output '{}' is computed within '{}'; mark an output of that instead (ILoop::addLoopOutput, "
                "IIfConditional::addOutput)",
                tensor->name(), inside->name());
      checkUser(!network_.isDebugTensor(*tensor),
                "debug tensor '{}' is computed within '{}', where tensors cannot be watched; mark an output of that",
                tensor->name(), inside->name());
    }
  }
}

graph::Graph Assembly::run() {
  checkNames(network_);
  checkConditionals(network_);
  checkWithin();
  Scope scope{graph::Graph(network_.name()), nullptr, nullptr, {}, {}};
  addInputs(scope);
  lowerLayers(scope);
  for (const Tensor* output : network_.outputs()) scope.graph.addOutput(scope.values.at(output), output->name());
  return std::move(scope.graph);
}

graph::Graph Network::assemble(const FixedSymbols& fixed) const { return Assembly(*this, fixed).run(); }

}  // namespace tenon::api
