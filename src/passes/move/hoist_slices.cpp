// slice(matmul(x, w)) => matmul(slice(x), w), slice(normalization(x)) => normalization(slice(x)), slice(p(x, y)) =>
// p(slice(x), slice(y)) on the way to one of these: rows that nobody reads are not computed, as those of all tokens but
// the class token.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"

namespace tenon::passes {
namespace {

bool isPartial(const ops::Slice& slice, const Shape& shape, size_t axis) {
  const bool steps = slice.stride.empty() || slice.stride[axis].isConstant(1);
  return !(slice.start[axis].isConstant(0) && slice.size[axis] == shape[axis] && steps);
}

// What the slice of a result needs of an operand that broadcasts to it, aligned at the right: nothing where that is all
// of it.
std::optional<ops::Slice> ofOperand(const ops::Slice& slice, const Shape& result, const Shape& operand) {
  ops::Slice part;
  bool whole = true;
  for (size_t i = 0; i < operand.size(); ++i) {
    const size_t axis = result.size() - operand.size() + i;
    const bool broadcasts = operand[i].isConstant(1) && !result[axis].isConstant(1);
    const bool partial = !broadcasts && isPartial(slice, result, axis);
    whole = whole && !partial;
    part.start.push_back(partial ? slice.start[axis] : Extent(0));
    part.size.push_back(partial ? slice.size[axis] : operand[i]);
    part.stride.push_back(partial && !slice.stride.empty() ? slice.stride[axis] : Extent(1));
  }
  return whole ? std::nullopt : std::optional(part);
}

// Elements that are read several times, as by an expansion: behind the slice there is more to compute, not less.
bool repeats(const ops::Slice& slice) {
  return std::any_of(slice.stride.begin(), slice.stride.end(),
                     [](const Extent& stride) { return !stride.isConstant() || stride.isConstant(0); });
}

// Part of a constant may be a constant only where no dimension is dynamic.
bool isFixed(const ops::Slice& slice) {
  const auto constant = [](const Extent& extent) { return extent.isConstant(); };
  return std::all_of(slice.start.begin(), slice.start.end(), constant) &&
         std::all_of(slice.size.begin(), slice.size.end(), constant);
}

bool isMatrix(const graph::Value& value) {
  const Shape& shape = value.type.shape;
  return std::all_of(shape.begin(), shape.end() - 2, [](const Extent& e) { return e.isConstant(1); });
}

// Whether a node computes each of its rows from the same rows of its operands, for the axes that the slice cuts.
bool isRowwise(const Graph& graph, const Node& node, const ops::Slice& slice) {
  const Shape& shape = graph.value(node.outputs[0]).type.shape;
  const auto cuts = [&](size_t axis) { return isPartial(slice, shape, axis); };
  if (const auto* product = node.op.as<ops::MatMul>()) {
    const auto& rows = graph.value(node.inputs[0]).type;
    return !product->transposeA && isMatrix(graph.value(node.inputs[1])) && rows.shape.size() == shape.size() &&
           !cuts(shape.size() - 1);
  }
  const auto* normalization = node.op.as<ops::Normalization>();
  if (normalization == nullptr || normalization->groups != 1) return false;
  for (const int64_t axis : normalization->axes) {
    if (cuts(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis))) return false;
  }
  return true;
}

class Hoist {
 public:
  explicit Hoist(Graph& graph) : graph_(graph) {}

  bool run(NodeId id) {
    const auto* slice = graph_.node(id).op.as<ops::Slice>();
    if (slice == nullptr || slice->mode != ops::SliceMode::kStrict || repeats(*slice)) return false;
    const ValueId input = graph_.node(id).inputs[0];
    if (!leadsToRows(input, *slice)) return false;
    above(graph_.value(input).producer, *slice);
    return true;
  }

 private:
  // All that reads the values of a node is this slice, perhaps written several times.
  bool allSliced(NodeId id, const ops::Slice& slice) const {
    const auto& outputs = graph_.node(id).outputs;
    return std::all_of(outputs.begin(), outputs.end(), [&](ValueId output) { return onlySliced(output, slice); });
  }
  bool onlySliced(ValueId value, const ops::Slice& slice) const {
    if (graph_.isOutput(value) || graph_.value(value).constraints != graph::Constraints{} || graph_.uses(value).empty())
      return false;
    const auto& uses = graph_.uses(value);
    const bool isSliced = std::all_of(uses.begin(), uses.end(), [&](const graph::Use& use) {
      const auto* other = graph_.node(use.node).op.as<ops::Slice>();
      return other != nullptr && ops::Operator(*other) == ops::Operator(slice) &&
             graph_.node(use.node).inputs.size() == 1;
    });
    const auto isOutput = [&](const graph::Use& use) { return graph_.isOutput(graph_.node(use.node).outputs[0]); };
    // Outputs of the network are tensors of their own.
    return isSliced && std::count_if(uses.begin(), uses.end(), isOutput) <= 1;
  }

  // Through scalar work that nobody else reads.
  bool leadsToRows(ValueId value, const ops::Slice& slice) const {
    const NodeId producer = graph_.value(value).producer;
    return producer != graph::kNone && allSliced(producer, slice) && computesRows(value, slice, 8);
  }

  bool computesRows(ValueId value, const ops::Slice& slice, int depth) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == graph::kNone || depth == 0) return false;
    const auto& node = graph_.node(producer);
    if (node.outputs.size() > 1 && !allSliced(producer, slice)) return false;
    if (isRowwise(graph_, node, slice)) return true;
    if (node.op.as<ops::Pointwise>() == nullptr) return false;
    const Shape& shape = graph_.value(value).type.shape;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return graph_.value(input).type.shape == shape && onlyUser(graph_, input) &&
             computesRows(input, slice, depth - 1);
    });
  }

  void above(NodeId id, const ops::Slice& slice) {
    const Node node = graph_.node(id);
    const Shape shape = graph_.value(node.outputs[0]).type.shape;
    std::vector<NodeId> from{id};
    std::vector<std::pair<size_t, ValueId>> sliced;  // of which output
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      for (const auto& use : graph_.uses(node.outputs[k])) {
        from.push_back(use.node);
        sliced.emplace_back(k, graph_.node(use.node).outputs[0]);
      }
    }
    const auto name = graph_.node(from[1]).name;
    const std::span<const NodeId> slices(from.data() + 1, from.size() - 1);
    graph::Patch patch(graph_);
    std::vector<ValueId> inputs = node.inputs;
    const bool isProduct = node.op.as<ops::MatMul>() != nullptr;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (isProduct && i == 1) continue;
      Shape seen = shape;
      if (isProduct && i == 0) seen.back() = graph_.value(inputs[0]).type.shape.back();
      auto wanted = slice;
      if (isProduct && i == 0) wanted.size.back() = seen.back();
      const auto part = ofOperand(wanted, seen, graph_.value(inputs[i]).type.shape);
      if (!part) continue;
      const auto constant = graph_.value(inputs[i]).constant;
      inputs[i] = constant != nullptr && isFixed(*part) ? patch.addConstant(graph::Constant::recipe(*part, {constant}),
                                                                            graph_.value(inputs[i]).name + "_rows")
                                                        : patch.add(*part, name, {inputs[i]}, slices);
    }
    const NodeId self[] = {id};
    const auto results = graph_.node(patch.addNode(node.op, node.name, std::move(inputs), self)).outputs;
    for (const auto& [output, value] : sliced) patch.replace(value, results[output]);
    patch.commit();
  }

  Graph& graph_;
};

}  // namespace

int pass_hoist_slices(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) { return Hoist(graph).run(id); });
}

}  // namespace tenon::passes
