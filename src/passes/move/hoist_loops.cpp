// What is the same in every iteration of a loop is computed once in front of it, and products of the slices of a
// sequence with such values become one product of the whole sequence.
#include "passes/common/pass.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ops/op/loop.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

// A loop that may run no iteration computes nothing then, so what may refuse its operands' values stays inside: what
// takes indices refuses those beyond the axis.
bool mayMove(const ops::Operator& op) {
  const auto facts = op.facts();
  return facts.deterministic && !facts.sideEffects && !facts.indices;
}

// One loop that is written anew. Values of its body keep their numbers while this goes on; those that come in from
// outside in place of results are inputs in the end.
class Hoist {
 public:
  Hoist(Graph& graph, NodeId id, const ops::Loop& loop) : graph_(graph), id_(id), loop_(loop), patch_(graph) {
    const auto& node = graph.node(id);
    first_ = loop.counted ? 1 : 0;
    operands_.assign(node.inputs.begin() + static_cast<ptrdiff_t>(first_), node.inputs.end());
    types_ = loop.next.infer(inputTypes());
    origins_.resize(types_.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (i < states()) {
        if (loop.next->outputs[i] == static_cast<int32_t>(i)) origins_[i].outside = operands_[i];
      } else if (i < states() + loop.slices.size()) {
        const auto& cut = loop.slices[i - states()];
        origins_[i].sequence = Sequence{operands_[i], cut.axis, cut.reverse, false};
      } else {
        origins_[i].outside = operands_[i];
      }
    }
  }

  bool run() {
    const auto& nodes = loop_.next->nodes;
    auto result = static_cast<size_t>(loop_.next->inputs);
    bool moves = std::any_of(origins_.begin(), origins_.begin() + static_cast<ptrdiff_t>(states()),
                             [](const Origin& origin) { return origin.outside.has_value(); });
    const auto sizes = loop_.next.ownSymbols();
    moved_.assign(nodes.size(), false);
    for (size_t i = 0; i < nodes.size(); ++i) {
      moved_[i] = mayMove(nodes[i].op) && !ops::needsAny(nodes[i].op, sizes) &&
                  (moveOut(nodes[i], result) || moveProduct(nodes[i], result) || moveBehindProduct(nodes[i], result));
      moves = moves || moved_[i];
      result += static_cast<size_t>(nodes[i].outputs);
    }
    if (!moves) return false;
    write();
    return true;
  }

 private:
  struct Sequence {
    ValueId tensor;
    int64_t axis;
    bool reverse;
    bool isProduct;  // of this pass
  };
  // Where a value of the body comes from: outside, the same in every iteration, or a slice of a tensor outside.
  struct Origin {
    std::optional<ValueId> outside;
    std::optional<Sequence> sequence;
  };

  size_t states() const { return static_cast<size_t>(loop_.states); }
  Origin& originOf(int32_t value) { return origins_[static_cast<size_t>(value)]; }
  int64_t rankOf(int32_t value) const { return types_[static_cast<size_t>(value)].rank(); }

  std::vector<ops::TensorType> inputTypes() const {
    std::vector<ops::TensorType> types;
    for (size_t i = 0; i < operands_.size(); ++i) {
      auto type = graph_.value(operands_[i]).type;
      if (i >= states() && i < states() + loop_.slices.size())
        type.shape.erase(type.shape.begin() + loop_.slices[i - states()].axis);
      if (i < states() + loop_.slices.size()) type.contents.reset();
      types.push_back(std::move(type));
    }
    return types;
  }

  bool isOutside(const ops::RegionNode& node, size_t from) {
    return std::all_of(node.inputs.begin() + static_cast<ptrdiff_t>(from), node.inputs.end(),
                       [&](int32_t input) { return originOf(input).outside.has_value(); });
  }

  bool moveOut(const ops::RegionNode& node, size_t result) {
    if (!isOutside(node, 0)) return false;
    std::vector<ValueId> inputs;
    for (const int32_t input : node.inputs) inputs.push_back(*originOf(input).outside);
    const NodeId from[] = {id_};
    const NodeId added = patch_.addNode(node.op, node.name, std::move(inputs), from);
    for (int32_t i = 0; i < node.outputs; ++i)
      origins_[result + static_cast<size_t>(i)].outside = graph_.node(added).outputs[static_cast<size_t>(i)];
    return true;
  }

  // x W for every slice x: (X W), where the sliced axis comes first.
  bool moveProduct(const ops::RegionNode& node, size_t result) {
    const auto* product = node.op.as<ops::MatMul>();
    if (product == nullptr || product->transposeA || !isOutside(node, 1)) return false;
    const auto sequence = originOf(node.inputs[0]).sequence;
    const int64_t rank = rankOf(node.inputs[0]);
    if (!sequence || rankOf(node.inputs[1]) > rank) return false;
    moveSequence(node, result, *sequence, 0);
    return true;
  }

  // Scalar work on such a product and on what is the same in every iteration becomes its epilogue.
  bool moveBehindProduct(const ops::RegionNode& node, size_t result) {
    if (node.op.as<ops::Pointwise>() == nullptr || node.outputs != 1) return false;
    std::optional<size_t> place;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto& origin = originOf(node.inputs[i]);
      if (origin.outside) {
        if (rankOf(node.inputs[i]) > types_[result].rank()) return false;
        continue;
      }
      if (place || !origin.sequence || !origin.sequence->isProduct) return false;
      place = i;
    }
    if (!place || types_[result].shape != types_[static_cast<size_t>(node.inputs[*place])].shape) return false;
    moveSequence(node, result, *originOf(node.inputs[*place]).sequence, *place);
    return true;
  }

  // The node over the whole sequence, its slices along the first axis.
  void moveSequence(const ops::RegionNode& node, size_t result, const Sequence& sequence, size_t place) {
    const NodeId from[] = {id_};
    ValueId whole = sequence.tensor;
    if (sequence.axis != 0) {
      ops::Transpose order;
      for (int64_t axis = 0; axis < graph_.value(whole).type.rank(); ++axis) order.permutation.push_back(axis);
      std::rotate(order.permutation.begin(), order.permutation.begin() + sequence.axis,
                  order.permutation.begin() + sequence.axis + 1);
      whole = patch_.add(order, node.name, {whole}, from);
    }
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      inputs.push_back(i == place ? whole : *originOf(node.inputs[i]).outside);
    const ValueId added = patch_.add(node.op, node.name, std::move(inputs), from);
    origins_[result].sequence = Sequence{added, 0, sequence.reverse, true};
  }

  // Values that nodes which stay read, and results.
  std::set<int32_t> needed() const {
    std::set<int32_t> values(loop_.next->outputs.begin(), loop_.next->outputs.end());
    for (size_t i = 0; i < moved_.size(); ++i) {
      if (!moved_[i]) values.insert(loop_.next->nodes[i].inputs.begin(), loop_.next->nodes[i].inputs.end());
    }
    for (const auto& node : loop_.test->nodes) {
      for (const int32_t input : node.inputs) {
        if (input < loop_.test->inputs) values.insert(input);
      }
    }
    for (const int32_t output : loop_.test->outputs) {
      if (output < loop_.test->inputs) values.insert(output);
    }
    return values;
  }

  // The loop with its new inputs: states that change, slices and values that are needed.
  void write() {
    const auto used = needed();
    ops::Loop changed = loop_;
    changed.states = 0;
    changed.slices.clear();
    std::vector<int32_t> inputs;  // of the body, by the numbers of the old one
    std::vector<ValueId> operands;
    const auto add = [&](int32_t value, ValueId operand) {
      inputs.push_back(value);
      operands.push_back(operand);
    };
    for (size_t i = 0; i < states(); ++i) {
      if (origins_[i].outside) continue;
      add(static_cast<int32_t>(i), operands_[i]);
      ++changed.states;
    }
    for (const int32_t value : used) {
      const auto& sequence = originOf(value).sequence;
      if (!sequence) continue;
      add(value, sequence->tensor);
      changed.slices.push_back({sequence->axis, sequence->reverse, Extent(-1)});
    }
    for (const int32_t value : used) {
      if (originOf(value).outside) add(value, *originOf(value).outside);
    }
    changed.next = renumbered(loop_.next, inputs, &moved_);
    if (loop_.tested()) changed.test = renumbered(loop_.test, inputs, nullptr);
    replaceNode(changed, operands);
  }

  ops::Region renumbered(const ops::Region& region, const std::vector<int32_t>& inputs,
                         const std::vector<bool>* moved) const {
    auto values = std::max(types_.size(), static_cast<size_t>(region->inputs));
    for (const auto& node : region->nodes) values += static_cast<size_t>(node.outputs);
    std::vector<int32_t> number(values, -1);
    ops::RegionBody body;
    for (const int32_t value : inputs) {
      const bool isKnown = moved != nullptr || value < region->inputs;
      if (isKnown) number[static_cast<size_t>(value)] = body.inputs;
      ++body.inputs;
    }
    int32_t next = body.inputs;
    auto result = static_cast<size_t>(region->inputs);
    for (size_t i = 0; i < region->nodes.size(); ++i) {
      const auto& node = region->nodes[i];
      const auto count = static_cast<size_t>(node.outputs);
      if (moved == nullptr || !(*moved)[i]) {
        ops::RegionNode kept = node;
        for (int32_t& input : kept.inputs) input = number.at(static_cast<size_t>(input));
        for (size_t k = 0; k < count; ++k) number.at(result + k) = next++;
        body.nodes.push_back(std::move(kept));
      }
      result += count;
    }
    const bool dropsStates = moved != nullptr;
    for (size_t i = 0; i < region->outputs.size(); ++i) {
      if (dropsStates && i < states() && origins_[i].outside) continue;
      body.outputs.push_back(number.at(static_cast<size_t>(region->outputs[i])));
    }
    return ops::Region(std::move(body));
  }

  void replaceNode(const ops::Loop& changed, const std::vector<ValueId>& operands) {
    std::vector<ValueId> inputs(graph_.node(id_).inputs.begin(),
                                graph_.node(id_).inputs.begin() + static_cast<ptrdiff_t>(first_));
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    std::vector<ValueId> results;
    if (changed.states > 0 || !changed.stacks.empty() || changed.facts().sideEffects) {
      const std::string name = graph_.node(id_).name;
      const NodeId from[] = {id_};
      results = graph_.node(patch_.addNode(changed, name, std::move(inputs), from)).outputs;
    }
    size_t next = 0;
    for (size_t i = 0; i < graph_.node(id_).outputs.size(); ++i) {
      const bool isUnchanged = i < states() && origins_[i].outside.has_value();
      patch_.replace(graph_.node(id_).outputs[i], isUnchanged ? *origins_[i].outside : results.at(next));
      next += isUnchanged ? 0 : 1;
    }
    patch_.commit();
  }

  Graph& graph_;
  NodeId id_;
  const ops::Loop loop_;
  graph::Patch patch_;
  size_t first_ = 0;
  std::vector<ValueId> operands_;       // of the loop, without the number of iterations
  std::vector<ops::TensorType> types_;  // of the body's values
  std::vector<Origin> origins_;         // likewise
  std::vector<bool> moved_;             // by node of the body
};

}  // namespace

int pass_hoist_loops(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) {
    const ops::Operator op = graph.node(id).op;
    const auto* loop = op.as<ops::Loop>();
    return loop != nullptr && Hoist(graph, id, *loop).run();
  });
}

}  // namespace tenon::passes
