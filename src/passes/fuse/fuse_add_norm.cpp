// normalization(h + r, s, t) => normalization{skip}(h, s, t, r), with the sum as second output where others read it: on
// GPUs a product that adds r in its epilogue is slower by more than the normalization is by reading r.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"

namespace tenon::passes {
namespace {

constexpr size_t kEpilogueOperand = 1;  // operand i of a product's epilogue is input 1 + i; 0 is the product
constexpr int64_t kMostRows =
    2048;  // whose sums leave a product: measured on an H200, 384 rows gain by it, 4096 lose 1.4 %
constexpr int64_t kLongestRow = 16384;  // elements that one block keeps in registers; longer rows would be read again

// Statistics over all of the innermost axes, whose extents are known.
bool isOfRows(const ops::Normalization& op, const Shape& shape) {
  if (op.groups != 1) return false;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto first = rank - static_cast<int64_t>(op.axes.size());  // axes are distinct
  int64_t elements = 1;
  for (const int64_t axis : op.axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    const Extent& extent = shape[static_cast<size_t>(at)];
    if (at < first || !extent.isConstant()) return false;
    elements *= extent.constant();
    if (elements > kLongestRow) return false;
  }
  return true;
}

// Whether there are known to be more rows than that; the statistics are over `inner` axes.
bool hasManyRows(const Shape& shape, size_t inner) {
  int64_t rows = 1;
  for (size_t axis = 0; axis + inner < shape.size(); ++axis) {
    if (!shape[axis].isConstant()) return false;
    rows *= shape[axis].constant();
  }
  return rows > kMostRows;
}

// An expression that is rest + x<added>; an empty rest is x<kept>.
struct Split {
  int kept = 0;
  int added = 0;
  ops::ScalarExpr rest;
};

bool reads(const ops::ScalarExpr& expr, int input) {
  return std::any_of(expr.instructions.begin(), expr.instructions.end(), [&](const auto& instruction) {
    const auto end = instruction.arguments.begin() + row(instruction.op).arity;
    return std::find(instruction.arguments.begin(), end, ScalarArgument::input(input)) != end;
  });
}

// `fits` says of an input whether it has the type and shape of the sum; inputs before `first` are not left out.
template <typename Fits>
std::optional<Split> splitSum(const ops::ScalarExpr& expr, int first, Fits fits) {
  if (expr.empty() || expr.instructions.back().op != ops::ScalarOp::k_add) return std::nullopt;
  const auto& last = expr.instructions.back();
  Split split;
  split.rest.instructions.assign(expr.instructions.begin(), expr.instructions.end() - 1);
  const auto whole = ScalarArgument::result(static_cast<int>(split.rest.instructions.size()) - 1);
  for (const size_t i : {1, 0}) {
    const auto& added = last.arguments[i];
    const auto& other = last.arguments[1 - i];
    const bool isWhole = added.kind == ScalarArgument::Kind::kInput && added.index >= first && fits(added.index);
    if (!isWhole || reads(split.rest, added.index)) continue;
    split.added = added.index;
    split.kept = other.index;
    if (!split.rest.empty() && other == whole) return split;
    const bool isInput = other.kind == ScalarArgument::Kind::kInput && other.index != added.index;
    if (split.rest.empty() && isInput && fits(other.index)) return split;
  }
  return std::nullopt;
}

class Join {
 public:
  Join(Graph& graph, const Options& options) : graph_(graph), options_(options) {}

  bool run(NodeId id) {
    const auto& node = graph_.node(id);
    const auto* op = node.op.as<ops::Normalization>();
    if (op == nullptr || op->skip) return false;
    const ValueId sum = node.inputs[0];
    const auto& value = graph_.value(sum);
    if (value.producer == graph::kNone || value.constraints != graph::Constraints{}) return false;
    if (!isOfRows(*op, value.type.shape)) return false;
    if (hasManyRows(value.type.shape, op->axes.size()) && isOfProduct(value.producer)) return false;
    if (graph_.node(value.producer).device != node.device || !areThere(node)) return false;
    auto joined = *op;
    joined.skip = true;
    joined.keepSum = graph_.isOutput(sum) || graph_.uses(sum).size() > 1;
    auto types = graph_.inputTypes(node.inputs);
    types.push_back(value.type);
    if (options_.computes && !options_.computes(joined, types)) return false;
    return joinPointwise(id, joined) || joinProduct(id, joined);
  }

 private:
  // A scale that is computed might be computed from the sum.
  bool areThere(const graph::Node& node) const {
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId input) {
      return graph_.value(input).constant != nullptr || graph_.value(input).isInput;
    });
  }

  // Whether a product computes the sum, or will when it becomes its epilogue.
  bool isOfProduct(NodeId id) const {
    const auto& node = graph_.node(id);
    return node.op.facts().contraction || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
             const NodeId producer = graph_.value(input).producer;
             return producer != graph::kNone && graph_.node(producer).op.facts().contraction;
           });
  }

  bool isLike(ValueId sum, ValueId operand) const { return graph_.value(operand).type == graph_.value(sum).type; }

  bool joinPointwise(NodeId id, const ops::Normalization& joined) {
    const ValueId sum = graph_.node(id).inputs[0];
    const auto producer = graph_.node(graph_.value(sum).producer);
    const auto* pointwise = producer.op.as<ops::Pointwise>();
    if (pointwise == nullptr) return false;
    const auto operand = [&](int input) { return producer.inputs[static_cast<size_t>(input)]; };
    const auto split = splitSum(pointwise->expr, 0, [&](int input) { return isLike(sum, operand(input)); });
    if (!split) return false;
    if (!split->rest.empty()) return replaceRest(id, joined, *split, 0);
    graph::Patch patch(graph_);
    return commit(patch, id, joined, operand(split->kept), operand(split->added), {graph_.value(sum).producer, id});
  }

  // Sums that an earlier round left to the epilogue.
  bool joinProduct(NodeId id, const ops::Normalization& joined) {
    const ValueId sum = graph_.node(id).inputs[0];
    const auto& producer = graph_.node(graph_.value(sum).producer);
    const auto* product = producer.op.as<ops::MatMul>();
    if (product == nullptr) return false;
    const auto split = splitSum(product->epilogue, 1, [&](int input) {
      return input == 0 || isLike(sum, producer.inputs[kEpilogueOperand + static_cast<size_t>(input)]);
    });
    return split && replaceRest(id, joined, *split, kEpilogueOperand);
  }

  // The producer of the sum goes on without its last addition. x<i> of its expression is input `offset` + i.
  bool replaceRest(NodeId id, const ops::Normalization& joined, const Split& split, size_t offset) {
    const ValueId sum = graph_.node(id).inputs[0];
    const NodeId from[] = {graph_.value(sum).producer};
    const auto producer = graph_.node(from[0]);
    const size_t left = offset + static_cast<size_t>(split.added);
    std::vector<int> map(producer.inputs.size() - offset);
    for (int i = 0; i < static_cast<int>(map.size()); ++i) map[static_cast<size_t>(i)] = i > split.added ? i - 1 : i;
    const auto expr = split.rest.withInputs(map);
    auto inputs = producer.inputs;
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(left));
    ops::Operator rest = ops::Pointwise{expr};
    if (const auto* product = producer.op.as<ops::MatMul>()) {
      auto changed = *product;
      changed.epilogue = expr;
      rest = std::move(changed);
    }
    const auto made = rest.infer(producer.name, graph_.inputTypes(inputs));
    if (made[0].dtype != graph_.value(sum).type.dtype || made[0].shape != graph_.value(sum).type.shape) return false;
    graph::Patch patch(graph_);
    const ValueId kept = patch.add(std::move(rest), producer.name, std::move(inputs), from);
    graph_.node(graph_.value(kept).producer).device = producer.device;
    return commit(patch, id, joined, kept, producer.inputs[left], {id});
  }

  bool commit(graph::Patch& patch, NodeId id, const ops::Normalization& joined, ValueId x, ValueId skip,
              const std::vector<NodeId>& from) {
    const auto node = graph_.node(id);
    const NodeId made = patch.addNode(joined, "", {x, node.inputs[1], node.inputs[2], skip}, from);
    auto& result = graph_.node(made);
    result.name = fmt::format("{}", fmt::join(result.origins, " + "));
    result.device = node.device;
    patch.replace(node.outputs[0], result.outputs[0]);
    if (joined.keepSum) patch.replace(node.inputs[0], result.outputs[1]);
    patch.commit();
    return true;
  }

  Graph& graph_;
  const Options& options_;
};

}  // namespace

int pass_fuse_add_norm(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return Join(graph, options).run(id); });
}

}  // namespace tenon::passes
