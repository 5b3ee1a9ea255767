// The bodies of loops and the branches of conditionals go through the pipeline as graphs of their own. What they read
// from outside and is constant is constant within; what becomes constant on the way is an operand of the node again.
#include "passes/common/pass.h"

#include <algorithm>

#include "core/error.h"
#include "graph/region.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"

namespace tenon::passes {
namespace {

// A region, or several with the same inputs, as one graph.
class Opened {
 public:
  explicit Opened(const std::string& name) : graph_(name) {}

  // Inputs of the regions in order. What varies has no value outside that could be followed.
  void addVarying(DataType dtype, Shape shape) {
    varying_.push_back(
        graph_.addInput(fmt::format("input {}", inputs_.size()), {dtype, std::move(shape), std::nullopt}));
    inputs_.push_back(varying_.back());
  }
  void addOperand(const Graph& outer, ValueId id) {
    const auto& value = outer.value(id);
    const ValueId inner = value.constant != nullptr
                              ? graph_.addConstant(value.constant, value.name)
                              : graph_.addInput(fmt::format("input {}", inputs_.size()), value.type);
    inputs_.push_back(inner);
    operands_.push_back({inner, id});
  }
  void addRegion(const ops::Region& region) {
    regions_.emplace_back();
    for (const ValueId id : graph::openRegion(graph_, region, inputs_)) {
      const auto& value = graph_.value(id);
      Result result{id, SIZE_MAX};
      if (value.producer != graph::kNone) {
        const auto& outputs = graph_.outputs();
        const auto known = std::find(outputs.begin(), outputs.end(), id);
        result.output = static_cast<size_t>(known - outputs.begin());
        if (known == outputs.end()) graph_.addOutput(id);
      }
      regions_.back().push_back(result);
    }
  }
  void optimize(const Options& options) {
    if (!graph_.outputs().empty()) runWithin(graph_, options);
  }

  // Of operand i of those that were added, and of constants that are no operands yet.
  bool needs(size_t operand) const { return graph::neededValues(graph_, results())[operands_[operand].first]; }
  std::vector<ValueId> newConstants() const {
    auto constants = graph::neededConstants(graph_, results());
    std::erase_if(constants, [&](ValueId id) {
      return std::any_of(operands_.begin(), operands_.end(), [&](const auto& x) { return x.first == id; });
    });
    return constants;
  }
  const graph::Value& value(ValueId id) const { return graph_.value(id); }
  size_t operandCount() const { return operands_.size(); }
  ValueId operand(size_t i) const { return operands_[i].second; }  // outside

  // The inputs of the regions to be: those that vary, then these.
  void begin() { inputs_ = varying_; }
  void keep(size_t operand) { inputs_.push_back(operands_[operand].first); }
  void keepConstant(ValueId id) { inputs_.push_back(id); }
  void addUnused(const ops::TensorType& type) {
    inputs_.push_back(graph_.addInput(fmt::format("unused {}", inputs_.size()), type));
  }
  ops::Region close(size_t region) const { return graph::closeRegion(graph_, inputs_, results(region)); }

 private:
  struct Result {
    ValueId value;
    size_t output;  // of the graph; SIZE_MAX: no node computes it
  };
  std::vector<ValueId> results(size_t region) const {
    std::vector<ValueId> values;
    for (const auto& result : regions_[region])
      values.push_back(result.output == SIZE_MAX ? result.value : graph_.outputs()[result.output]);
    return values;
  }
  std::vector<ValueId> results() const {
    std::vector<ValueId> all;
    for (size_t i = 0; i < regions_.size(); ++i) {
      const auto values = results(i);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  Graph graph_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> varying_;
  std::vector<std::pair<ValueId, ValueId>> operands_;  // within and outside
  std::vector<std::vector<Result>> regions_;
};

// Settles the inputs of all regions, which are the same for all of `parts`; the operands behind the varying ones.
// Constants that are new are added to the patch.
std::vector<ValueId> settle(std::span<Opened> parts, graph::Patch& patch) {
  std::vector<ValueId> operands;
  for (Opened& part : parts) part.begin();
  for (size_t i = 0; i < parts[0].operandCount(); ++i) {
    if (std::none_of(parts.begin(), parts.end(), [&](const Opened& part) { return part.needs(i); })) continue;
    for (Opened& part : parts) part.keep(i);
    operands.push_back(parts[0].operand(i));
  }
  for (Opened& owner : parts) {
    for (const ValueId id : owner.newConstants()) {
      const auto value = owner.value(id);
      operands.push_back(patch.addConstant(value.constant, value.name));
      for (Opened& part : parts) &part == &owner ? part.keepConstant(id) : part.addUnused(value.type);
    }
  }
  return operands;
}

// The node with another operator and other operands behind the first `kept`; false where nothing differs.
bool exchange(Graph& graph, NodeId id, graph::Patch& patch, ops::Operator op, size_t kept,
              const std::vector<ValueId>& operands) {
  const auto& node = graph.node(id);
  std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + static_cast<ptrdiff_t>(kept));
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  if (op == node.op && inputs == node.inputs) {
    patch.discard();
    return false;
  }
  const NodeId from[] = {id};
  const NodeId added = patch.addNode(std::move(op), node.name, std::move(inputs), from);
  for (size_t i = 0; i < graph.node(id).outputs.size(); ++i)
    patch.replace(graph.node(id).outputs[i], graph.node(added).outputs[i]);
  patch.commit();
  return true;
}

bool optimizeLoop(Graph& graph, NodeId id, const ops::Loop& loop, const Options& options) {
  const auto& node = graph.node(id);
  Opened body(node.name);
  const size_t first = loop.counted ? 1 : 0;
  const size_t varying = static_cast<size_t>(loop.states) + loop.slices.size();
  for (size_t i = 0; i < node.inputs.size() - first; ++i) {
    const ValueId operand = node.inputs[first + i];
    if (i >= varying) {
      body.addOperand(graph, operand);
      continue;
    }
    Shape shape = graph.value(operand).type.shape;
    if (i >= static_cast<size_t>(loop.states))
      shape.erase(shape.begin() + loop.slices[i - static_cast<size_t>(loop.states)].axis);
    body.addVarying(graph.value(operand).type.dtype, std::move(shape));
  }
  body.addRegion(loop.next);
  if (loop.tested()) body.addRegion(loop.test);
  body.optimize(options);
  graph::Patch patch(graph);
  const auto operands = settle({&body, 1}, patch);
  ops::Loop changed = loop;
  changed.next = body.close(0);
  if (loop.tested()) changed.test = body.close(1);
  // Known when shapes are bound, without asking the device. Kernels see by themselves what is constant.
  if (loop.counted) {
    const auto& count = graph.value(node.inputs[0]);
    if (count.constant == nullptr && count.type.contents && count.type.contents->size() == 1)
      changed.trips = count.type.contents->front();
  }
  return exchange(graph, id, patch, changed, first + varying, operands);
}

bool optimizeIf(Graph& graph, NodeId id, const ops::If& choice, const Options& options) {
  const auto& node = graph.node(id);
  Opened branches[] = {Opened(node.name), Opened(node.name)};
  for (size_t branch = 0; branch < 2; ++branch) {
    for (size_t i = 1; i < node.inputs.size(); ++i) branches[branch].addOperand(graph, node.inputs[i]);
    try {
      branches[branch].addRegion(branch == 0 ? choice.then : choice.otherwise);
    } catch (const UserError&) {
      return false;  // it is impossible at these shapes, which is an error where it is chosen
    }
    branches[branch].optimize(options);
  }
  graph::Patch patch(graph);
  const auto operands = settle(branches, patch);
  ops::If changed = choice;
  changed.then = branches[0].close(0);
  changed.otherwise = branches[1].close(0);
  return exchange(graph, id, patch, changed, 1, operands);
}

}  // namespace

int pass_optimize_regions(Graph& graph, const Options& options) {
  int edits = 0;
  const auto order = graph.order();
  for (const NodeId id : order) {
    const ops::Operator op = graph.node(id).op;
    const auto* loop = op.as<ops::Loop>();
    const auto* choice = op.as<ops::If>();
    if (loop != nullptr) edits += optimizeLoop(graph, id, *loop, options) ? 1 : 0;
    if (choice != nullptr) edits += optimizeIf(graph, id, *choice, options) ? 1 : 0;
  }
  return edits;
}

}  // namespace tenon::passes
