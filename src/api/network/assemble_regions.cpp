// Loops and conditionals as nodes: what runs within them is lowered into a graph of its own, which becomes a region.
#include <algorithm>

#include "api/network/assembly.h"
#include "api/network/lower_context.h"
#include "graph/region.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"

namespace tenon::api {

using graph::ValueId;

namespace {

std::vector<ValueId> join(std::initializer_list<std::vector<ValueId>> lists) {
  std::vector<ValueId> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::string describe(const ops::TensorType& type) {
  return fmt::format("{} {}", tenon::name(type.dtype), text(type.shape));
}

Extent lengthOf(graph::Graph& graph, ValueId value, const LayerBase& sink, const Construct& construct) {
  try {
    const auto& elements = graph.shapeElements(value);
    checkUser(elements.size() == 1, "it has {} elements", elements.size());
    return elements[0];
  } catch (const UserError& error) {
    throw UserError(
        "the length of output '{}' of loop '{}' must be one integer computed from constants, shapes and shape tensors: {}",
        sink.name(), construct.name(), error.what());
  }
}

// Extents within a region are those that its network knows.
void checkExtents(const graph::Graph& graph, const Construct& construct) {
  checkUser(graph.shapes().steps.empty(),
            "within '{}' an extent is computed by '{}', which only the network itself can follow; compute it outside",
            construct.name(), graph.shapes().steps.empty() ? "" : graph.shapes().steps[0].op);
}

bool canBeOneShape(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis].isConstant() && b[axis].isConstant() && a[axis] != b[axis]) return false;
  }
  return true;
}

}  // namespace

std::vector<const LayerBase*> Assembly::boundary(const Construct& construct, BoundaryRole role) const {
  std::vector<const LayerBase*> result;
  for (const LayerBase* layer : construct.layers()) {
    const bool isLive = std::find(order_.begin(), order_.end(), layer) != order_.end();
    if (layer->role() == role && isLive) result.push_back(layer);
  }
  return result;
}

std::vector<std::string> Assembly::originsOf(const Construct& construct) const {
  std::vector<std::string> origins;
  for (const LayerBase* layer : order_) {
    if (layer->construct() == &construct || membership_.contains(construct, *layer)) origins.push_back(layer->name());
  }
  return origins;
}

void Assembly::lowerConstruct(Scope& scope, const Construct& construct) {
  construct.isLoop() ? lowerLoop(scope, construct) : lowerConditional(scope, construct);
}

void Assembly::lowerLoop(Scope& scope, const Construct& construct) {
  Scope body{graph::Graph(construct.name()), &construct, &scope, {}, {}};
  ops::Loop loop;

  // What enters: the first values of the states and the sliced tensors, each with a value inside that varies.
  std::vector<const LayerBase*> recurrences;
  std::vector<ValueId> initials, states, sliced, slices;
  for (const LayerBase* source : boundary(construct, BoundaryRole::kSource)) {
    const ValueId outside = valueOf(scope, *source, source->inputs()[0]);
    ops::TensorType type = scope.graph.value(outside).type;
    type.contents.reset();
    const bool isState = source->getType() == nv::LayerType::kRECURRENCE;
    if (isState) {
      checkUser(source->inputs().size() > 1 && source->inputs()[1] != nullptr,
                "recurrence '{}' of loop '{}' has no next value; call setInput(1, ...)", source->name(),
                construct.name());
      recurrences.push_back(source);
      initials.push_back(outside);
    } else {
      const auto [axis, reverse] = slicesOf(*source);
      checkUser(axis >= 0 && axis < type.rank(), "iterator '{}' of loop '{}': axis {} is outside [0, {}) of {}",
                source->name(), construct.name(), axis, type.rank(), describe(type));
      type.shape.erase(type.shape.begin() + axis);
      loop.slices.push_back({axis, reverse, Extent(-1)});
      sliced.push_back(outside);
    }
    const ValueId inside = addOperand(body.graph, std::move(type));
    (isState ? states : slices).push_back(inside);
    place(body, *source, {inside});
  }
  loop.states = static_cast<int32_t>(states.size());
  lowerLayers(body);
  checkExtents(body.graph, construct);

  // What leaves.
  std::vector<ValueId> nexts, parts, tests, counts;
  for (size_t i = 0; i < recurrences.size(); ++i) {
    const LayerBase& recurrence = *recurrences[i];
    nexts.push_back(valueOf(body, recurrence, recurrence.inputs()[1]));
    const auto& begins = body.graph.value(states[i]).type;
    const auto& goesOn = body.graph.value(nexts.back()).type;
    checkUser(begins.dtype == goesOn.dtype && canBeOneShape(begins.shape, goesOn.shape),
              "recurrence '{}' of loop '{}' begins as {} and goes on as {}; expected the same type and shape in all "
              "iterations",
              recurrence.name(), construct.name(), describe(begins), describe(goesOn));
  }
  const auto sinks = boundary(construct, BoundaryRole::kSink);
  for (const LayerBase* sink : sinks) {
    if (givesLastValue(*sink)) continue;
    parts.push_back(valueOf(body, *sink, sink->inputs()[0]));
    checkUser(sink->inputs().size() > 1 && sink->inputs()[1] != nullptr,
              "output '{}' of loop '{}' has no length; call setInput(1, ...)", sink->name(), construct.name());
    const Extent length = lengthOf(scope.graph, valueOf(scope, *sink, sink->inputs()[1]), *sink, construct);
    const auto [axis, reverse] = stacksOf(*sink);
    loop.stacks.push_back({axis, reverse, length});
  }
  for (const LayerBase* limit : boundary(construct, BoundaryRole::kLimit)) {
    if (countsIterations(*limit)) {
      loop.counted = true;
      counts.push_back(valueOf(scope, *limit, limit->inputs()[0]));
    } else {
      tests.push_back(valueOf(body, *limit, limit->inputs()[0]));
    }
  }
  checkUser(loop.counted || !tests.empty(), "loop '{}' has no trip limit; call addTripLimit()", construct.name());

  std::vector<ValueId> inner, outer;
  for (const auto& [inside, outside] : body.captured) {
    inner.push_back(inside);
    outer.push_back(outside);
  }
  const auto results = join({nexts, parts});
  const auto constants = graph::neededConstants(body.graph, join({results, tests}));
  const auto inputs = join({states, slices, inner, constants});
  loop.next = graph::closeRegion(body.graph, inputs, results);
  if (!tests.empty()) loop.test = graph::closeRegion(body.graph, inputs, tests);
  for (const ValueId id : constants) {
    const auto& value = body.graph.value(id);
    outer.push_back(scope.graph.addConstant(value.constant, value.name));
  }
  const auto node =
      scope.graph.addNode(loop, construct.name(), join({counts, initials, sliced, outer}), originsOf(construct));
  const auto& outputs = scope.graph.node(node).outputs;
  size_t nextPart = states.size();
  for (const LayerBase* sink : sinks) {
    if (!givesLastValue(*sink)) {
      place(scope, *sink, {outputs[nextPart++]});
      continue;
    }
    const LayerBase* producer = sink->inputs()[0]->producer();
    const auto state = std::find(recurrences.begin(), recurrences.end(), producer);
    checkUser(state != recurrences.end(),
              "output '{}' of loop '{}' takes the last value of '{}', which is no recurrence of the loop", sink->name(),
              construct.name(), sink->inputs()[0]->name());
    place(scope, *sink, {outputs[static_cast<size_t>(state - recurrences.begin())]});
  }
}

// The layers of a conditional that the tensors need, within it.
void Assembly::lowerBranch(Scope& branch, int input, std::vector<ValueId>& results) {
  const Construct& construct = *branch.construct;
  for (const LayerBase* source : boundary(construct, BoundaryRole::kSource))
    branch.values[source->outputs()[0].get()] = valueOf(branch, *source, source->inputs()[0]);
  std::unordered_set<const LayerBase*> wanted;
  std::vector<const LayerBase*> open;
  const auto sinks = boundary(construct, BoundaryRole::kSink);
  const auto want = [&](const Tensor* tensor) {
    if (tensor != nullptr && tensor->producer() != nullptr) open.push_back(tensor->producer());
  };
  for (const LayerBase* sink : sinks) want(sink->inputs()[static_cast<size_t>(input)]);
  while (!open.empty()) {
    const LayerBase* layer = open.back();
    open.pop_back();
    if (!membership_.contains(construct, *layer) || !wanted.insert(layer).second) continue;
    for (const Tensor* tensor : layer->inputs()) want(tensor);
    if (const Construct* other = layer->construct(); other != nullptr && other != &construct) {
      for (const LayerBase* boundary : other->layers()) open.push_back(boundary);
    }
  }
  lowerLayers(branch, &wanted);
  checkExtents(branch.graph, construct);
  for (const LayerBase* sink : sinks)
    results.push_back(valueOf(branch, *sink, sink->inputs()[static_cast<size_t>(input)]));
}

void Assembly::lowerConditional(Scope& scope, const Construct& construct) {
  const auto conditions = boundary(construct, BoundaryRole::kLimit);
  checkUser(!conditions.empty(), "conditional '{}' has no condition; call setCondition()", construct.name());
  Scope branches[] = {{graph::Graph(construct.name() + " true"), &construct, &scope, {}, {}},
                      {graph::Graph(construct.name() + " false"), &construct, &scope, {}, {}}};
  std::vector<ValueId> results[2];
  for (int i = 0; i < 2; ++i) lowerBranch(branches[i], i, results[i]);
  const auto sinks = boundary(construct, BoundaryRole::kSink);
  for (size_t i = 0; i < sinks.size(); ++i) {
    const auto& a = branches[0].graph.value(results[0][i]).type;
    const auto& b = branches[1].graph.value(results[1][i]).type;
    checkUser(
        a.dtype == b.dtype && canBeOneShape(a.shape, b.shape),
        "output '{}' of conditional '{}' is {} for true and {} for false; expected the same type and shape: a shape "
        "that depends on the condition is not supported",
        sinks[i]->name(), construct.name(), describe(a), describe(b));
  }
  // Both regions have the operands of both.
  std::vector<ValueId> operands{valueOf(scope, *conditions[0], conditions[0]->inputs()[0])};
  std::vector<ValueId> inputs[2];
  for (int i = 0; i < 2; ++i) {
    Scope& branch = branches[i];
    Scope& other = branches[1 - i];
    for (const auto& [inside, outside] : branch.captured) {
      const auto& value = scope.graph.value(outside);
      inputs[i].push_back(inside);
      inputs[1 - i].push_back(addOperand(other.graph, value.type));
      operands.push_back(outside);
    }
    for (const ValueId id : graph::neededConstants(branch.graph, results[i])) {
      const auto& value = branch.graph.value(id);
      inputs[i].push_back(id);
      inputs[1 - i].push_back(addOperand(other.graph, value.type));
      operands.push_back(scope.graph.addConstant(value.constant, value.name));
    }
  }
  ops::If choice;
  choice.then = graph::closeRegion(branches[0].graph, inputs[0], results[0]);
  choice.otherwise = graph::closeRegion(branches[1].graph, inputs[1], results[1]);
  const auto node = scope.graph.addNode(choice, construct.name(), operands, originsOf(construct));
  const auto& outputs = scope.graph.node(node).outputs;
  for (size_t i = 0; i < sinks.size(); ++i) place(scope, *sinks[i], {outputs[i]});
}

}  // namespace tenon::api
