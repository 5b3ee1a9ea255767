// Loops as nodes: what enters and leaves their bodies, and how often they run.
#include <algorithm>
#include <set>

#include "api/network/assembly.h"
#include "api/network/lower_context.h"
#include "api/network/region_values.h"
#include "graph/region.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"

namespace tenon::api {

using graph::ValueId;

namespace {

Extent countOf(graph::Graph& graph, ValueId value, const Construct& construct) {
  const auto& elements = graph.shapeElements(value);
  checkUser(elements.size() == 1, "the trip count of loop '{}' has {} elements; expected 1", construct.name(),
            elements.size());
  return elements[0];
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

// What decides how often a loop runs: the states on which its condition depends, with how they begin and go on.
struct Deciding {
  std::vector<ValueId> states, initials, nexts;
};

Deciding decidingStates(const graph::Graph& body, const std::vector<ValueId>& tests, const Deciding& all) {
  std::vector<ValueId> wanted = tests;
  std::vector<bool> taken(all.states.size(), false);
  for (bool grows = true; grows;) {
    grows = false;
    const auto needed = graph::neededValues(body, wanted);
    for (size_t i = 0; i < taken.size(); ++i) {
      if (taken[i] || !needed[all.states[i]]) continue;
      taken[i] = grows = true;
      wanted.push_back(all.nexts[i]);
    }
  }
  Deciding result;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) continue;
    result.states.push_back(all.states[i]);
    result.initials.push_back(all.initials[i]);
    result.nexts.push_back(all.nexts[i]);
  }
  return result;
}

// What leaves a loop or conditional must not depend on what only its inside knows.
void checkLeaves(const graph::Graph& body, ValueId value, const LayerBase& sink, const Construct& construct) {
  const auto inside = sizesOf(body);
  if (inside.empty()) return;
  const auto& shape = body.value(value).type.shape;
  for (const auto& extent : shape) {
    std::set<std::string> names;
    extent.collectSymbols(names);
    for (const auto& name : names) {
      checkUser(
          !inside.contains(name),
          "output '{}' of '{}' has the shape {}, which depends on a size that is computed within; give it an extent "
          "that is known outside, say by a slice or a padding to one size",
          sink.name(), construct.name(), text(shape));
    }
  }
}

bool canBeOneShape(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis].isConstant() && b[axis].isConstant() && a[axis] != b[axis]) return false;
  }
  return true;
}

}  // namespace

// A loop that does nothing but run as often as the given one, and counts.
Assembly::Trips Assembly::countTrips(Scope& scope, const Construct& construct, const LoopParts& parts) {
  graph::Graph& body = parts.body.graph;
  const auto deciding = decidingStates(body, parts.tests, {parts.states, parts.initials, parts.nexts});
  ops::Loop loop;
  loop.counted = !parts.counts.empty();
  loop.slices = parts.axes;
  loop.states = static_cast<int32_t>(deciding.states.size()) + 1;
  const ValueId number = addOperand(body, {DataType::kI64, {}, std::nullopt});
  const ValueId next =
      body.add(ops::Pointwise{ops::ScalarExpr::of(ops::ScalarOp::k_add,
                                                  {ops::ScalarArgument::input(0), ops::ScalarArgument::constant(1)})},
               construct.name(), {number}, {construct.name()});
  auto states = deciding.states;
  states.push_back(number);
  auto nexts = deciding.nexts;
  nexts.push_back(next);
  HostTensor zero(DataType::kI64, Dims{});
  zero.view().storeInt(0, 0);
  auto initials = deciding.initials;
  initials.push_back(scope.graph.addConstant(graph::Constant::own(std::move(zero))));
  const auto constants = graph::neededConstants(body, join({nexts, parts.tests}));
  auto outer = parts.outer;
  for (const ValueId id : constants)
    outer.push_back(scope.graph.addConstant(body.value(id).constant, body.value(id).name));
  const auto inputs = join({states, parts.slices, parts.inner, constants});
  loop.next = graph::closeRegion(body, inputs, nexts);
  loop.test = graph::closeRegion(body, inputs, parts.tests);
  if (!loop.next.facts().deterministic || !loop.test.facts().deterministic) {
    throw Unsupported(
        "the number of iterations of loop '{}' depends on random numbers and is the length of a result; set "
        "the length (input 1 of the loop's output)",
        construct.name());
  }
  const auto node = scope.graph.addNode(loop, construct.name(), join({parts.counts, initials, parts.sliced, outer}),
                                        originsOf(construct));
  const ValueId trips = scope.graph.node(node).outputs.back();
  return {trips, scope.graph.shapeElements(trips).at(0)};
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
  settleSizes(body);

  // What leaves.
  std::vector<ValueId> nexts, parts, tests, counts;
  bool wantsTrips = false;  // as the length of a result
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
    checkLeaves(body.graph, parts.back(), *sink, construct);
    const auto [axis, reverse] = stacksOf(*sink);
    const int64_t rank = body.graph.value(parts.back()).type.rank();
    checkUser(axis >= 0 && axis <= rank, "output '{}' of loop '{}': axis {} is outside [0, {}] of the result",
              sink->name(), construct.name(), axis, rank);
    const bool isGiven = sink->inputs().size() > 1 && sink->inputs()[1] != nullptr;
    wantsTrips = wantsTrips || !isGiven;
    loop.stacks.push_back(
        {axis, reverse,
         isGiven ? lengthOf(scope.graph, valueOf(scope, *sink, sink->inputs()[1]), *sink, construct) : Extent(-1)});
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
  if (wantsTrips) {
    Extent trips;
    if (tests.empty()) {
      trips = max(countOf(scope.graph, counts[0], construct), 0);
    } else {
      // A loop of its own counts them; then their number is known in front of the loop itself.
      const auto counted = countTrips(
          scope, construct, {body, states, initials, nexts, slices, sliced, loop.slices, inner, outer, tests, counts});
      counts = {counted.number};
      tests.clear();
      loop.counted = true;
      trips = counted.trips;
    }
    for (auto& stack : loop.stacks) {
      if (stack.length.isConstant(-1)) stack.length = trips;
    }
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

}  // namespace tenon::api
