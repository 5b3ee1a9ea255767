// Loops and conditionals as nodes: what runs within them is lowered into a graph of its own, which becomes a region.
#include <algorithm>
#include <set>

#include "api/network/assembly.h"
#include "api/network/lower_context.h"
#include "graph/region.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"
#include "ops/op/shape.h"
#include "ops/op/size.h"

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

// The symbols of sizes that the body computes.
std::set<std::string> sizesOf(const graph::Graph& body) {
  std::set<std::string> names;
  for (const auto id : body.order()) {
    if (const auto* size = body.node(id).op.as<ops::Size>()) names.insert(size->symbol);
  }
  return names;
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

// Sizes are known by their names within a region as outside: no two may have one.
void Assembly::settleSizes(Scope& region) {
  graph::replaceShapeProgram(region.graph);
  const auto inside = sizesOf(region.graph);
  if (inside.empty()) return;
  for (const Scope* scope = region.outer; scope != nullptr; scope = scope->outer) {
    auto outside = sizesOf(scope->graph);
    for (const auto& symbol : scope->graph.shapes().symbols) outside.insert(symbol.name);
    for (const auto& [symbol, source] : scope->graph.symbols()) outside.insert(symbol);
    for (const auto& name : inside) {
      checkUser(
          !outside.contains(name),
          "'{}' computes an extent under the name '{}', which another layer outside of it has; give layers within "
          "loops and conditionals names of their own",
          region.construct->name(), name);
    }
  }
}

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
  settleSizes(branch);
  for (const LayerBase* sink : sinks) {
    results.push_back(valueOf(branch, *sink, sink->inputs()[static_cast<size_t>(input)]));
  }
}

// How the extents of a result of a conditional follow from its branches.
enum class ExtentOf { kBoth, kChoice, kInside };

// Extents that are equal are those of both, and so are those that may be equal: what runs is held against it. Extents
// that cannot be equal are chosen by the condition; what only the inside knows is asked of it.
ExtentOf extentOf(const Extent& a, const Extent& b, const std::set<std::string>& insideA,
                  const std::set<std::string>& insideB) {
  std::set<std::string> namesA, namesB;
  a.collectSymbols(namesA);
  b.collectSymbols(namesB);
  const auto isInside = [](const std::set<std::string>& names, const std::set<std::string>& inside) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return inside.contains(name); });
  };
  if (isInside(namesA, insideA) || isInside(namesB, insideB)) return ExtentOf::kInside;
  return a == b || namesA != namesB ? ExtentOf::kBoth : ExtentOf::kChoice;
}

// The shapes of those results about which the branches do not agree. `operands` and `inputs` are those of the
// conditional's node and of its regions.
std::vector<ops::ResultExtents> Assembly::resultExtents(Scope& scope, const Construct& construct, Scope (&branches)[2],
                                                        const std::vector<ValueId> (&results)[2],
                                                        const std::vector<ValueId>& operands,
                                                        const std::vector<ValueId> (&inputs)[2]) {
  const std::set<std::string> inside[] = {sizesOf(branches[0].graph), sizesOf(branches[1].graph)};
  std::vector<ops::ResultExtents> all(results[0].size());
  bool isAny = false;
  for (size_t i = 0; i < all.size(); ++i) {
    const Shape a = branches[0].graph.value(results[0][i]).type.shape;
    const Shape b = branches[1].graph.value(results[1][i]).type.shape;
    std::vector<ExtentOf> kinds;
    for (size_t axis = 0; axis < a.size(); ++axis) kinds.push_back(extentOf(a[axis], b[axis], inside[0], inside[1]));
    const auto has = [&](ExtentOf kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
    if (!has(ExtentOf::kChoice) && !has(ExtentOf::kInside)) continue;
    isAny = true;
    Extent holds = 0;
    std::vector<Extent> computed;
    if (has(ExtentOf::kChoice)) {
      const auto number = scope.graph.add(ops::Pointwise{ops::ScalarExpr::castTo(DataType::kI64)},
                                          construct.name() + " condition", {operands[0]}, {construct.name()});
      holds = scope.graph.shapeElements(number).at(0);
    }
    if (has(ExtentOf::kInside)) {
      ops::If sizes;
      std::vector<ValueId> shapes[2];
      for (size_t branch = 0; branch < 2; ++branch)
        shapes[branch].push_back(
            branches[branch].graph.add(ops::ShapeOf{}, construct.name(), {results[branch][i]}, {construct.name()}));
      sizes.then = graph::closeRegion(branches[0].graph, inputs[0], shapes[0]);
      sizes.otherwise = graph::closeRegion(branches[1].graph, inputs[1], shapes[1]);
      if (!sizes.facts().deterministic)
        throw Unsupported("the shape of a result of conditional '{}' depends on random numbers within it",
                          construct.name());
      const auto node = scope.graph.addNode(sizes, fmt::format("{} shape of result {}", construct.name(), i), operands,
                                            originsOf(construct));
      computed = scope.graph.shapeElements(scope.graph.node(node).outputs[0]);
    }
    for (size_t axis = 0; axis < a.size(); ++axis) {
      const auto kind = kinds[axis];
      all[i].extents.push_back(kind == ExtentOf::kInside   ? computed.at(axis)
                               : kind == ExtentOf::kChoice ? b[axis] + holds * (a[axis] - b[axis])
                                                           : a[axis]);
    }
  }
  return isAny ? all : std::vector<ops::ResultExtents>{};
}

// A branch may be impossible at the shapes that a build fixes, as long as the other one is possible: that one stands in
// its place, and says why it cannot be chosen.
std::vector<std::string> Assembly::lowerBranches(Scope (&branches)[2], std::vector<ValueId> (&results)[2]) {
  std::vector<std::string> refusals;
  for (int i = 0; i < 2; ++i) {
    try {
      lowerBranch(branches[i], i, results[i]);
    } catch (const UserError& error) {
      if (fixed_.empty() || !refusals.empty()) throw;
      refusals.resize(2);
      refusals[static_cast<size_t>(i)] = error.what();
      branches[i] = {graph::Graph(branches[i].graph.name()), branches[i].construct, branches[i].outer, {}, {}};
      results[i].clear();
      lowerBranch(branches[i], 1 - i, results[i]);
    }
  }
  return refusals;
}

void Assembly::lowerConditional(Scope& scope, const Construct& construct) {
  const auto conditions = boundary(construct, BoundaryRole::kLimit);
  checkUser(!conditions.empty(), "conditional '{}' has no condition; call setCondition()", construct.name());
  Scope branches[] = {{graph::Graph(construct.name() + " true"), &construct, &scope, {}, {}},
                      {graph::Graph(construct.name() + " false"), &construct, &scope, {}, {}}};
  std::vector<ValueId> results[2];
  const auto refusals = lowerBranches(branches, results);
  const auto sinks = boundary(construct, BoundaryRole::kSink);
  for (size_t i = 0; i < sinks.size(); ++i) {
    const auto& a = branches[0].graph.value(results[0][i]).type;
    const auto& b = branches[1].graph.value(results[1][i]).type;
    checkUser(a.dtype == b.dtype && a.rank() == b.rank(),
              "output '{}' of conditional '{}' is {} for true and {} for false; expected the same type and number of "
              "dimensions",
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
  choice.refusals = refusals;
  choice.results = resultExtents(scope, construct, branches, results, operands, inputs);
  const auto node = scope.graph.addNode(choice, construct.name(), operands, originsOf(construct));
  const auto& outputs = scope.graph.node(node).outputs;
  for (size_t i = 0; i < sinks.size(); ++i) place(scope, *sinks[i], {outputs[i]});
}

}  // namespace tenon::api
