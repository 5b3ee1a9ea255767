// Conditionals as nodes: the layers of each branch, and the extents about which branches do not agree.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "api/network/assembly.h"
#include "api/network/lower_context.h"
#include "api/network/region_values.h"
#include "graph/region.h"
#include "ops/op/if.h"
#include "ops/op/pointwise.h"
#include "ops/op/shape.h"

namespace tenon::api {

using graph::ValueId;

namespace {

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

}  // namespace

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
