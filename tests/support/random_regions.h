// Networks of random loops and conditionals within one another, from a seed.
#pragma once

#include <random>

#include "graph/graph.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"
#include "support/build_and_run.h"

namespace tenon::test {

// All values are matrices of one shape, sequences of such, truth values or counts. Exact networks hold only operators
// that give the same bits wherever they run; the others have products too, and no conditions that follow from them.
class RandomRegions {
 public:
  RandomRegions(uint64_t seed, bool exact)
      : random_(seed), exact_(exact), rows_(1 + pick(4)), columns_(1 + pick(exact ? 9 : 70)), length_(1 + pick(6)) {}

  // Inputs: two matrices, a sequence along the first axis and one along the second, a truth value and a count.
  graph::Graph make() {
    graph::Graph graph("random regions");
    const auto input = [&](const char* name, DataType type, Shape shape) {
      return graph.addInput(name, {type, std::move(shape), std::nullopt});
    };
    std::vector<graph::ValueId> ids{input("a", DataType::kF32, matrix()),
                                    input("b", DataType::kF32, matrix()),
                                    input("s", DataType::kF32, {length_, rows_, columns_}),
                                    input("t", DataType::kF32, {rows_, length_, columns_}),
                                    input("c", DataType::kBool, {}),
                                    input("n", DataType::kI64, {})};
    HostTensor weights(DataType::kF32, {columns_, columns_});
    for (int64_t i = 0; i < weights.view().count(); ++i)
      weights.view().storeDouble(i, (static_cast<double>(pick(2001)) - 1000) / 1000 / static_cast<double>(columns_));
    HostTensor trips(DataType::kI64, {});
    trips.view().storeInt(0, pick(length_ + 1));
    ids.push_back(graph.addConstant(graph::Constant::own(std::move(weights)), "w"));
    ids.push_back(graph.addConstant(graph::Constant::own(std::move(trips)), "trips"));
    ops::RegionBody body;
    const Scope scope = fill(body, kDepth);
    // The nodes of the outermost region are those of the network.
    for (const auto& node : body.nodes) {
      std::vector<graph::ValueId> operands;
      for (const auto operand : node.inputs) operands.push_back(ids[static_cast<size_t>(operand)]);
      const auto& outputs = graph.node(graph.addNode(node.op, node.name, operands, {})).outputs;
      ids.insert(ids.end(), outputs.begin(), outputs.end());
    }
    const size_t inputs = static_cast<size_t>(body.inputs);
    for (size_t i = 0; i < scope.matrices.size(); ++i) {
      const auto value = static_cast<size_t>(scope.matrices[i]);
      if (value >= inputs) graph.addOutput(ids[value]);
    }
    return graph;
  }

  // The count is at most the length of the sequences.
  static std::vector<HostTensor> inputsOf(const graph::Graph& graph, uint64_t seed) {
    std::vector<HostTensor> inputs;
    for (const auto id : graph.inputs()) {
      const auto& type = graph.value(id).type;
      inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), seed + id));
    }
    const int64_t length = inputs[kS].view().dims[0];
    inputs[kN].view().storeInt(0, static_cast<int64_t>(seed % static_cast<uint64_t>(length + 1)));
    return inputs;
  }

 private:
  static constexpr int kDepth = 3;
  using Values = std::vector<int32_t>;
  // Every region has the same kinds of inputs: a, b, s, t, c, n, w, trips.
  static constexpr int32_t kInputs = 8, kA = 0, kB = 1, kS = 2, kT = 3, kC = 4, kN = 5, kW = 6, kTrips = 7;
  struct Scope {
    Values matrices{kA, kB};
    Values truths{kC};
  };

  int64_t pick(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  int32_t pickFrom(const Values& values) {
    return values[static_cast<size_t>(pick(static_cast<int64_t>(values.size())))];
  }
  Shape matrix() const { return {rows_, columns_}; }

  int32_t add(ops::RegionBody& body, ops::Operator op, Values inputs, int32_t outputs = 1) {
    const int32_t first = next_;
    next_ += outputs;
    body.nodes.push_back({std::move(op), std::move(inputs), outputs, "n"});
    return first;
  }
  int32_t scalar(ops::RegionBody& body, const char* expr, Values inputs) {
    return add(body, ops::Pointwise{ops::parseScalarExpr(expr)}, std::move(inputs));
  }

  void anyMatrix(ops::RegionBody& body, Scope& scope) {
    static const char* const kUnary[] = {"abs(x0)", "neg(x0)", "min(x0,0.5)", "max(x0,-0.25)"};
    static const char* const kBinary[] = {"add(x0,x1);min(t0,2);max(t1,-2)", "sub(x0,x1);min(t0,2);max(t1,-2)",
                                          "max(x0,x1)", "min(x0,x1)"};
    const int32_t x = pickFrom(scope.matrices);
    switch (pick(exact_ ? 4 : 6)) {
      case 0: scope.matrices.push_back(scalar(body, kUnary[pick(4)], {x})); break;
      case 1: scope.matrices.push_back(add(body, ops::Reshape{matrix()}, {x})); break;
      case 2:
      case 3: scope.matrices.push_back(scalar(body, kBinary[pick(4)], {x, pickFrom(scope.matrices)})); break;
      case 4: scope.matrices.push_back(add(body, ops::MatMul{}, {x, kW})); break;
      default: scope.matrices.push_back(scalar(body, "tanh(x0)", {x}));
    }
  }

  // Whether the largest element is above a number.
  int32_t truth(ops::RegionBody& body, int32_t x, const char* expr) {
    ops::Reduce most;
    most.op = ops::ReduceOp::kMax;
    most.axes = {0, 1};
    return scalar(body, expr, {add(body, most, {x})});
  }

  Scope fill(ops::RegionBody& body, int depth) {
    next_ = body.inputs = kInputs;
    Scope scope;
    for (int64_t steps = 1 + pick(4); steps > 0; --steps) {
      const int64_t kind = depth == 0 ? 0 : pick(6);
      if (kind <= 2) anyMatrix(body, scope);
      if (kind == 3 && exact_) scope.truths.push_back(truth(body, pickFrom(scope.matrices), "greater(x0,0.25)"));
      if (kind == 4) anyIf(body, scope, depth - 1);
      if (kind == 5) anyLoop(body, scope, depth - 1);
    }
    return scope;
  }
  ops::Region region(int depth, size_t results) {
    const int32_t before = next_;
    ops::RegionBody body;
    Scope scope = fill(body, depth);
    for (size_t i = 0; i < results; ++i) body.outputs.push_back(pickFrom(scope.matrices));
    next_ = before;
    return ops::Region(std::move(body));
  }
  Values operands(const Scope& scope) {
    return {pickFrom(scope.matrices), pickFrom(scope.matrices), kS, kT, pickFrom(scope.truths), kN, kW, kTrips};
  }

  void anyIf(ops::RegionBody& body, Scope& scope, int depth) {
    const auto results = static_cast<size_t>(1 + pick(2));
    ops::If choice;
    choice.then = region(depth, results);
    choice.otherwise = region(depth, results);
    Values inputs{pickFrom(scope.truths)};
    const auto rest = operands(scope);
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    const int32_t first = add(body, choice, inputs, static_cast<int32_t>(results));
    for (size_t i = 0; i < results; ++i) scope.matrices.push_back(first + static_cast<int32_t>(i));
  }

  // The inputs of the body are, in the order of the operator: states, slices, the rest; they stand for those that every
  // region has, and what is left over of these is among the rest.
  void anyLoop(ops::RegionBody& body, Scope& scope, int depth) {
    ops::Loop loop;
    const auto states = static_cast<int32_t>(pick(3));
    const auto slices = static_cast<int32_t>(pick(3));
    const auto stacks = static_cast<int32_t>(pick(3) + (states == 0 ? 1 : 0));
    loop.states = states;
    loop.counted = true;
    const auto rest = operands(scope);
    // Of the region: what its inputs a and b are, in the places of the states and slices.
    Values inputs{pick(2) == 0 ? kN : kTrips};
    Values places;
    for (int32_t i = 0; i < states; ++i) {
      inputs.push_back(pickFrom(scope.matrices));
      places.push_back(i);
    }
    for (int32_t i = 0; i < slices; ++i) {
      const bool isFirst = pick(2) == 0;
      inputs.push_back(isFirst ? kS : kT);
      loop.slices.push_back({isFirst ? 0 : 1, pick(2) == 0, Extent(-1)});
      places.push_back(states + i);
    }
    inputs.insert(inputs.end(), rest.begin(), rest.end());
    for (int32_t i = 0; i < stacks; ++i) loop.stacks.push_back({pick(3), pick(2) == 0, Extent(length_)});
    const auto inner = region(depth, static_cast<size_t>(states + stacks));
    loop.next = shifted(inner, states + slices, places);
    if (exact_ && states > 0 && pick(3) == 0) loop.test = condition(states + slices);
    const int32_t first = add(body, loop, inputs, states + stacks);
    for (int32_t i = 0; i < states; ++i) scope.matrices.push_back(first + i);
    for (int32_t i = 0; i < stacks; ++i) {
      ops::Reduce most;
      most.op = ops::ReduceOp::kMax;
      most.axes = {loop.stacks[static_cast<size_t>(i)].axis};
      scope.matrices.push_back(add(body, most, {first + states + i}));
    }
  }

  // The region with `more` inputs in front, which stand for its first two matrices.
  ops::Region shifted(const ops::Region& region, int32_t more, const Values& places) {
    ops::RegionBody body = region.body();
    Values stands;
    for (int32_t i = 0; i < kInputs; ++i) {
      const bool isMatrix = i == kA || i == kB;
      stands.push_back(isMatrix && !places.empty() && pick(4) != 0 ? pickFrom(places) : i + more);
    }
    const auto shift = [&](Values& values) {
      for (auto& value : values) value = value < kInputs ? stands[static_cast<size_t>(value)] : value + more;
    };
    body.inputs += more;
    for (auto& node : body.nodes) shift(node.inputs);
    shift(body.outputs);
    return ops::Region(std::move(body));
  }

  // As long as the largest element of the first state is below a number.
  ops::Region condition(int32_t more) {
    const int32_t before = next_;
    ops::RegionBody body;
    next_ = body.inputs = kInputs + more;
    body.outputs = {truth(body, 0, "less(x0,0.9)")};
    next_ = before;
    return ops::Region(std::move(body));
  }

  std::mt19937_64 random_;
  const bool exact_;
  const int64_t rows_, columns_, length_;
  int32_t next_ = 0;
};

}  // namespace tenon::test
