// Loops of few iterations, whose number is known, are written out: then their operators are fused over iterations, find
// formats of their own, and are measured.
#include "passes/common/pass.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "ops/op/concat.h"
#include "ops/op/loop.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/within.h"
#include "passes/common/fuse.h"
#include "passes/device.h"

namespace tenon::passes {
namespace {

// A loop costs about a microsecond for each iteration; a node costs a build its measurements, and each shape that is
// bound its preparation.
constexpr int64_t kMostIterations = 16;
constexpr int64_t kMostNodes = 256;      // of all iterations; of one iteration alone there may be any number
constexpr int64_t kMostZeros = 1 << 16;  // elements of what no iteration gives

int64_t nodesOf(const ops::Loop& loop) {
  int64_t nodes = 0;
  ops::forEachWithin(loop, [&](const ops::RegionNode&) { ++nodes; });
  return nodes;
}

std::optional<int64_t> knownCount(const graph::Value& count) {
  if (count.constant != nullptr) return count.constant->view().loadInt(0);
  const auto& contents = count.type.contents;
  if (contents && contents->size() == 1 && contents->front().isConstant()) return contents->front().constant();
  return std::nullopt;
}

class Unroll {
 public:
  Unroll(Graph& graph, NodeId id, const ops::Loop& loop, const Options& options)
      : graph_(graph), id_(id), loop_(loop), patch_(graph), device_(factsOf(options.device)) {
    const auto& inputs = graph.node(id).inputs;
    operands_.assign(inputs.begin() + (loop.counted ? 1 : 0), inputs.end());
  }

  bool run() {
    if (!loop_.counted || loop_.tested() || !isWorthIt() || !isSafe() || !readsInPlace()) return false;
    try {
      write();
    } catch (const UserError&) {  // an iteration is impossible: the loop says so when it runs
      patch_.discard();
      return false;
    }
    patch_.commit();
    return true;
  }

 private:
  size_t stateCount() const { return static_cast<size_t>(loop_.states); }
  const ops::TensorType& typeOf(ValueId value) const { return graph_.value(value).type; }

  // A loop within several iterations stays within: written out round by round, nested loops would multiply.
  bool isWorthIt() {
    const auto count = knownCount(graph_.value(graph_.node(id_).inputs[0]));
    if (!count) return false;
    iterations_ = std::max<int64_t>(*count, 0);
    return iterations_ <= 1 || (iterations_ <= kMostIterations && iterations_ * nodesOf(loop_) <= kMostNodes &&
                                !ops::holds<ops::Loop>(loop_));
  }

  // Numbers that are drawn keep their order within a loop, and sizes that a body computes concern it alone. What a loop
  // would refuse when it runs, it still does.
  bool isSafe() const {
    const auto facts = loop_.next.facts();
    if (!facts.deterministic || facts.sideEffects || !loop_.next.ownSymbols().empty()) return false;
    for (size_t i = 0; i < loop_.slices.size(); ++i) {
      const auto& extent = typeOf(operands_[stateCount() + i]).shape[static_cast<size_t>(loop_.slices[i].axis)];
      if (!extent.isConstant() || extent.constant() < iterations_) return false;
    }
    for (size_t i = 0; i < loop_.stacks.size(); ++i) {
      const auto& shape = typeOf(graph_.node(id_).outputs[stateCount() + i]).shape;
      const auto& length = loop_.stacks[i].length;
      if (!length.isConstant() || length.constant() < iterations_) return false;
      if (length.constant() == iterations_ && iterations_ > 0) continue;
      if (!isConstant(shape) || evaluate(shape, SymbolValues{}).count() > kMostZeros) return false;
    }
    return keepsShapes();
  }

  // A loop sets all slices apart by one launch, where each would need a launch of its own.
  bool readsInPlace() const {
    if (!device_.launchesAreDear || iterations_ <= 1) return true;
    for (size_t i = 0; i < loop_.slices.size(); ++i) {
      const auto& type = typeOf(operands_[stateCount() + i]);
      const Shape inner(type.shape.begin() + loop_.slices[i].axis + 1, type.shape.end());
      const bool isFirst = std::all_of(type.shape.begin(), type.shape.begin() + loop_.slices[i].axis,
                                       [](const Extent& extent) { return extent.isConstant(1); });
      if (!isFirst || !isConstant(inner)) return false;
      const size_t bytes = bytesOf(type.dtype, evaluate(inner, SymbolValues{}).count());
      if (bytes % static_cast<size_t>(device_.viewAlignment) != 0) return false;
    }
    return true;
  }

  // Whether each state has in all iterations the very shape with which it begins, without a check.
  bool keepsShapes() const {
    auto inputs = graph_.inputTypes(operands_);
    for (size_t i = 0; i < stateCount() + loop_.slices.size(); ++i) {
      inputs[i].contents.reset();
      if (i >= stateCount()) inputs[i].shape.erase(inputs[i].shape.begin() + loop_.slices[i - stateCount()].axis);
    }
    const auto values = loop_.next.infer(inputs);
    for (size_t i = 0; i < stateCount(); ++i) {
      if (values[static_cast<size_t>(loop_.next->outputs[i])].shape != inputs[i].shape) return false;
    }
    return true;
  }

  void write() {
    std::vector<ValueId> states(operands_.begin(), operands_.begin() + loop_.states);
    std::vector<std::vector<ValueId>> parts(loop_.stacks.size());
    for (int64_t k = 0; k < iterations_; ++k) {
      const auto results = iteration(k, states);
      states.assign(results.begin(), results.begin() + loop_.states);
      for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(results[stateCount() + i]);
    }
    for (size_t i = 0; i < states.size(); ++i) give(i, states[i]);
    for (size_t i = 0; i < parts.size(); ++i) give(stateCount() + i, stacked(i, std::move(parts[i])));
  }

  // The results of the body in one iteration.
  std::vector<ValueId> iteration(int64_t k, const std::vector<ValueId>& states) {
    const NodeId from[] = {id_};
    std::vector<ValueId> values = states;
    for (size_t i = 0; i < loop_.slices.size(); ++i) values.push_back(sliceOf(i, k));
    values.insert(values.end(), operands_.begin() + static_cast<ptrdiff_t>(values.size()), operands_.end());
    for (const auto& node : loop_.next->nodes) {
      std::vector<ValueId> inputs;
      for (const int32_t input : node.inputs) inputs.push_back(values[static_cast<size_t>(input)]);
      const NodeId added = patch_.addNode(node.op, nameOf(node.name, k), std::move(inputs), from);
      const auto& outputs = graph_.node(added).outputs;
      values.insert(values.end(), outputs.begin(), outputs.end());
    }
    std::vector<ValueId> results;
    for (const int32_t output : loop_.next->outputs) results.push_back(values[static_cast<size_t>(output)]);
    return results;
  }

  std::string nameOf(std::string_view name, int64_t k) const {
    return iterations_ == 1 ? std::string(name) : fmt::format("{}/{}", name, k);
  }

  ValueId sliceOf(size_t i, int64_t k) {
    const NodeId from[] = {id_};
    const auto& [axis, reverse, length] = loop_.slices[i];
    const ValueId whole = operands_[stateCount() + i];
    Shape shape = typeOf(whole).shape;
    ops::Slice slice;
    slice.start.assign(shape.size(), 0);
    slice.stride.assign(shape.size(), 1);
    const int64_t extent = shape[static_cast<size_t>(axis)].constant();
    slice.start[static_cast<size_t>(axis)] = reverse ? extent - 1 - k : k;
    slice.size = shape;
    slice.size[static_cast<size_t>(axis)] = 1;
    const auto name = nameOf(graph_.node(id_).name, k);
    const ValueId part = patch_.add(slice, name, {whole}, from);
    shape.erase(shape.begin() + axis);
    return patch_.add(ops::Reshape{shape}, name, {part}, from);
  }

  ValueId zeros(DataType type, const Shape& shape) {
    HostTensor tensor(type, evaluate(shape, SymbolValues{}));
    std::fill_n(static_cast<char*>(tensor.view().data), tensor.view().bytes(), char{0});
    return patch_.addConstant(Constant::own(std::move(tensor)));
  }

  // The parts side by side, and zeros for those that no iteration gives.
  ValueId stacked(size_t i, std::vector<ValueId> parts) {
    const NodeId from[] = {id_};
    const auto& stack = loop_.stacks[i];
    const auto axis = static_cast<size_t>(stack.axis);
    const auto type = typeOf(graph_.node(id_).outputs[stateCount() + i]);
    const auto& name = graph_.node(id_).name;
    for (ValueId& part : parts) {
      Shape shape = typeOf(part).shape;
      shape.insert(shape.begin() + stack.axis, Extent(1));
      part = patch_.add(ops::Reshape{std::move(shape)}, name, {part}, from);
    }
    if (stack.reverse) std::reverse(parts.begin(), parts.end());
    if (parts.empty()) return zeros(type.dtype, type.shape);
    if (const int64_t left = stack.length.constant() - iterations_; left > 0) {
      Shape shape = type.shape;
      shape[axis] = left;
      parts.push_back(zeros(type.dtype, shape));
    }
    return parts.size() == 1 ? parts[0] : patch_.add(ops::Concat{stack.axis}, name, std::move(parts), from);
  }

  // An output of the network is a tensor of its own.
  void give(size_t output, ValueId value) {
    const ValueId old = graph_.node(id_).outputs[output];
    const bool isTaken = std::find(given_.begin(), given_.end(), value) != given_.end();
    if (graph_.isOutput(old) && (isTaken || !mayStandFor(graph_, value, old))) {
      const NodeId from[] = {id_};
      value = patch_.add(ops::Pointwise{ScalarExpr::of(ScalarOp::k_identity)}, graph_.node(id_).name, {value}, from);
    }
    if (graph_.isOutput(old)) given_.push_back(value);
    patch_.replace(old, value);
  }

  Graph& graph_;
  const NodeId id_;
  const ops::Loop loop_;
  graph::Patch patch_;
  std::vector<ValueId> operands_;  // of the loop, without the number of iterations
  std::vector<ValueId> given_;     // what became an output of the network
  const DeviceFacts device_;
  int64_t iterations_ = 0;
};

}  // namespace

int pass_unroll_loops(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) {
    const ops::Operator op = graph.node(id).op;
    const auto* loop = op.as<ops::Loop>();
    return loop != nullptr && Unroll(graph, id, *loop, options).run();
  });
}

}  // namespace tenon::passes
