// Random graphs: loops and conditionals whose bodies are random graphs themselves, nested, with sizes that they
// compute.
#include "graph/region.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "random_generator.h"
#include "random_graph.h"

namespace tenon::passes {
namespace {

constexpr int kMostNested = 2;
constexpr int64_t kMostElements = 400;  // of what enters a body

std::vector<ValueId> join(std::initializer_list<std::vector<ValueId>> lists) {
  std::vector<ValueId> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

HostTensor wholeNumber(DataType type, int64_t value) {
  HostTensor number(type, {});
  number.view().storeInt(0, value);
  return number;
}

}  // namespace

graph::Graph Generator::makeRegions() {
  addInputs();
  for (int64_t i = pick(3); i > 0; --i) step(pickFrom(pool_));
  for (int64_t i = 1 + pick(3); i > 0; --i) {
    bodies(pickFrom(pool_));
    if (pick(2) == 0) step(pool_.back());
  }
  graph_.addOutput(pool_.back());
  for (const ValueId value : pool_) {
    if (pick(4) == 0 && !graph_.isOutput(value) && !graph_.value(value).isInput) graph_.addOutput(value);
  }
  return std::move(graph_);
}

void Generator::bodies(ValueId x) {
  if (elements(x) > kMostElements) return unary(x);
  if (pick(3) == 0) return randomConditional(x);
  randomLoop(x);
}

// A generator for the inside: what it reads from here is an input there.
Generator Generator::inside() {
  Generator inner(random_());
  inner.prefix_ = fmt::format("{}body{}.", prefix_, count_++);
  inner.depth_ = depth_ + 1;
  return inner;
}

ValueId Generator::enter(Generator& inner, ValueId value, std::optional<size_t> slicedAxis, bool varies) {
  ops::TensorType type = graph_.value(value).type;
  type.contents.reset();
  if (slicedAxis) type.shape.erase(type.shape.begin() + static_cast<std::ptrdiff_t>(*slicedAxis));
  const auto id = inner.graph_.addInput(fmt::format("operand{}", inner.graph_.inputs().size()), type);
  if (!varies && isExact(value)) inner.exact_.insert(id);
  if (type.dtype == DataType::kF32) inner.pool_.push_back(id);
  return id;
}

// A few steps, a loop or conditional within, a size that the body computes.
void Generator::fillBody() {
  for (int64_t i = 1 + pick(3); i > 0; --i) step(pickFrom(pool_));
  if (pick(4) == 0) selection(pickFrom(pool_));
  if (depth_ < kMostNested && pick(3) == 0) bodies(pickFrom(pool_));
}

// A value of the shape and type of another one, and bounded.
ValueId Generator::like(ValueId wanted) {
  std::vector<ValueId> candidates;
  for (const ValueId value : pool_) {
    if (shape(value) == shape(wanted) && !graph_.value(value).isInput) candidates.push_back(value);
  }
  const ValueId from = candidates.empty() ? wanted : pickFrom(candidates);
  return unaryOf(pick(2) == 0 ? "clip(x0,-2,2)" : "tanh(x0)", from);
}

// Operands: values from here, and constants from within.
std::vector<ValueId> Generator::constantsOf(const Generator& inner, const std::vector<ValueId>& constants) {
  std::vector<ValueId> result;
  for (const ValueId id : constants) result.push_back(graph_.addConstant(inner.graph_.value(id).constant));
  return result;
}

void Generator::randomConditional(ValueId x) {
  std::vector<ValueId> operands{x};
  for (int64_t i = pick(3); i > 0; --i) operands.push_back(pickFrom(pool_));
  Generator branches[] = {inside(), inside()};
  std::vector<ValueId> inputs[2], results[2];
  for (int b = 0; b < 2; ++b) {
    for (const ValueId operand : operands) inputs[b].push_back(enter(branches[b], operand, {}, false));
    branches[b].fillBody();
    results[b] = {branches[b].like(inputs[b][0])};
  }
  for (int b = 0; b < 2; ++b) {
    const auto constants = graph::neededConstants(branches[b].graph_, results[b]);
    const auto outside = constantsOf(branches[b], constants);
    for (size_t i = 0; i < constants.size(); ++i) {
      inputs[b].push_back(constants[i]);
      inputs[1 - b].push_back(
          branches[1 - b].graph_.addInput(fmt::format("unused{}", i), graph_.value(outside[i]).type));
      operands.push_back(outside[i]);
    }
  }
  ops::If choice;
  choice.then = graph::closeRegion(branches[0].graph_, inputs[0], results[0]);
  choice.otherwise = graph::closeRegion(branches[1].graph_, inputs[1], results[1]);
  const ValueId first = graph_.inputs()[0];  // exact wherever it stands
  ValueId condition;
  if (depth_ == 0 && pick(2) == 0) {
    std::vector<int64_t> axes(shape(first).size());
    for (size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = static_cast<int64_t>(axis);
    const auto most = plain("most", ops::Reduce{ops::ReduceOp::kMax, axes, false}, {first});
    condition = plain("condition", ops::Pointwise{ops::parseScalarExpr("greater(x0,0.9)")}, {most});
  } else {
    condition = graph_.addConstant(graph::Constant::own(wholeNumber(DataType::kBool, pick(2))));
  }
  operands.insert(operands.begin(), condition);
  put(choice, std::move(operands));
}

// Counted, or as long as a counter of its own is small, or both.
void Generator::randomLoop(ValueId x) {
  Generator body = inside();
  ops::Loop loop;
  const int64_t trips = pick(4);
  loop.counted = pick(3) != 0;
  const bool isTested = !loop.counted || pick(2) == 0;
  std::vector<ValueId> initials{x}, sliced, captured;
  if (pick(3) == 0) initials.push_back(pickFrom(pool_));
  if (elements(initials.back()) > kMostElements) initials.pop_back();
  std::vector<ValueId> states, slices, inner;
  for (const ValueId value : initials) states.push_back(enter(body, value, {}, true));
  for (const ValueId value : pool_) {
    if (pick(4) != 0 || shape(value).empty() || sliced.size() == 2 || elements(value) > 4 * kMostElements) continue;
    const auto axis = static_cast<size_t>(pick(static_cast<int64_t>(shape(value).size())));
    const Extent& extent = shape(value)[axis];
    if (!extent.isConstant() || extent.constant() < trips + (isTested ? 1 : 0)) continue;
    loop.slices.push_back({static_cast<int64_t>(axis), pick(2) == 0, Extent(-1)});
    sliced.push_back(value);
    slices.push_back(enter(body, value, axis, true));
  }
  for (int64_t i = pick(3); i > 0; --i) {
    captured.push_back(pickFrom(pool_));
    inner.push_back(enter(body, captured.back(), {}, false));
  }
  body.fillBody();
  std::vector<ValueId> nexts, parts, tests;
  for (const ValueId state : states) nexts.push_back(body.like(state));
  const auto scalar = [&](const char* name, const char* expr, std::vector<ValueId> of) {
    return body.plain(name, ops::Pointwise{ops::parseScalarExpr(expr)}, std::move(of));
  };
  if (isTested) {
    const ValueId counter = body.graph_.addInput("counter", {DataType::kI64, {}, std::nullopt});
    nexts.push_back(scalar("next", "add(x0,1)", {counter}));
    tests.push_back(
        scalar("test", "less(x0,x1)",
               {counter, body.graph_.addConstant(graph::Constant::own(wholeNumber(DataType::kI64, trips)))}));
    states.push_back(counter);
    initials.push_back(graph_.addConstant(graph::Constant::own(wholeNumber(DataType::kI64, 0))));
  }
  loop.states = static_cast<int32_t>(states.size());
  for (const ValueId value : body.pool_) {
    if (pick(4) != 0 || body.elements(value) > kMostElements || parts.size() == 2) continue;
    const int64_t axis = pick(static_cast<int64_t>(body.shape(value).size()) + 1);
    loop.stacks.push_back({axis, pick(2) == 0, Extent(trips + pick(2))});
    parts.push_back(value);
  }
  const auto results = join({nexts, parts});
  const auto constants = graph::neededConstants(body.graph_, join({results, tests}));
  const auto inputs = join({states, slices, inner, constants});
  loop.next = graph::closeRegion(body.graph_, inputs, results);
  if (isTested) loop.test = graph::closeRegion(body.graph_, inputs, tests);
  std::vector<ValueId> counts;
  if (loop.counted)
    counts.push_back(
        graph_.addConstant(graph::Constant::own(wholeNumber(pick(2) == 0 ? DataType::kI32 : DataType::kI64, trips))));
  put(loop, join({counts, initials, sliced, captured, constantsOf(body, constants)}));
}

graph::Graph randomRegions(uint64_t seed) { return Generator(seed).makeRegions(); }

}  // namespace tenon::passes
