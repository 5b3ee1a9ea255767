// attention(heads(q), heads(k), heads(v)) => heads(attention{heads}(q, k, v)), where heads() is any chain of reshapes,
// transposes and slices that splits columns into heads and moves these to the front; with q, k, v side by side in one
// tensor, attention{packed}. Factors of q and k on the way become the attention's scale.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/attention.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"
#include "passes/common/movement_view.h"
#include "passes/common/terms.h"

namespace tenon::passes {
namespace {

// An operand as some tensor before it, which `scale` multiplies.
struct Source {
  MovementView view;
  double scale = 1;
};

// The factor and the tensor it multiplies, when a value is nothing but that.
std::optional<std::pair<ValueId, double>> scaledValue(const Graph& graph, ValueId id) {
  if (graph.value(id).constraints != graph::Constraints{}) return std::nullopt;
  const Terms terms(graph);
  const Term term = terms.of(id);
  auto product = terms.withLiteral(term, ScalarOp::k_mul);
  if (const auto quotient = terms.pair(term, ScalarOp::k_div);
      quotient && quotient->second.kind == Term::Kind::kLiteral && quotient->second.literal != 0) {
    product = std::pair(quotient->first, 1 / quotient->second.literal);
  }
  const auto value = product ? terms.value(product->first) : std::nullopt;
  if (!value || graph.value(*value).type.shape != graph.value(id).type.shape ||
      graph.value(*value).type.dtype != graph.value(id).type.dtype) {
    return std::nullopt;
  }
  return std::pair(*value, product->second);
}

// From the operand itself to the farthest.
std::vector<Source> sourcesOf(const Graph& graph, ValueId operand, bool takesScale) {
  std::vector<Source> result{{MovementView(graph, operand)}};
  for (Source next = result[0];; result.push_back(next)) {
    if (next.view.stepBack(graph)) continue;
    const auto factor = takesScale ? scaledValue(graph, next.view.source()) : std::nullopt;
    if (!factor) return result;
    next.view.replaceSource(factor->first);
    next.scale *= factor->second;
  }
}

// The factors of an operand that stands as [batch..., rows, heads * width], all in this order.
struct Columns {
  Source source;
  std::vector<std::vector<int>> batches;  // of each leading axis
  std::vector<int> rows, heads, width;

  Shape shape(int64_t parts = 1) const {
    const auto& view = source.view;
    Shape result;
    for (const auto& axis : batches) result.push_back(view.extent(axis));
    result.push_back(view.extent(rows));
    result.push_back(view.extent(heads) * view.extent(width) * Extent(parts));
    return result;
  }
  std::vector<int> batch() const {
    std::vector<int> result;
    for (const auto& axis : batches) result.insert(result.end(), axis.begin(), axis.end());
    return result;
  }
};

std::vector<int> joined(std::initializer_list<std::vector<int>> parts) {
  std::vector<int> result;
  for (const auto& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

// Seen as [batch..., heads, rows, width], or with one axis for batch and heads.
std::optional<Columns> columnsOf(const Source& source) {
  const auto& axes = source.view.axes();
  const auto seen = source.view.seen();
  const size_t rank = axes.size();
  Columns columns{source, {}, axes[rank - 2], {}, axes[rank - 1]};
  if (rank >= 4) {
    columns.batches.assign(axes.begin(), axes.end() - 3);
    columns.heads = axes[rank - 3];
  } else if (rank == 3 && !columns.rows.empty()) {
    const auto first = std::find(seen.begin(), seen.end(), columns.rows[0]) - seen.begin();
    columns.batches.emplace_back(seen.begin(), seen.begin() + first);
    if (columns.batch().size() > axes[0].size()) return std::nullopt;
    columns.heads.assign(axes[0].begin() + first, axes[0].end());
    if (joined({columns.batch(), columns.heads}) != axes[0]) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (columns.heads.empty() || joined({columns.batch(), columns.rows, columns.heads, columns.width}) != seen)
    return std::nullopt;
  return source.view.extent(columns.heads).isConstant() ? std::optional(columns) : std::nullopt;
}

std::optional<Columns> farthestColumns(const std::vector<Source>& sources) {
  for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
    if (auto columns = columnsOf(*source)) return columns;
  }
  return std::nullopt;
}

// Parts 0, 1 and 2 of one tensor [batch..., rows, 3 * heads * width].
bool arePacked(const std::array<Columns, 3>& parts) {
  for (int i = 0; i < 3; ++i) {
    const auto& part = parts[static_cast<size_t>(i)];
    const auto& view = part.source.view;
    const auto line = view.stored();
    const auto at = part.batch().size() + part.rows.size();
    if (view.source() != parts[0].source.view.source() || line.size() != view.seen().size() + 1 ||
        part.shape() != parts[0].shape())
      return false;
    if (line.size() != parts[0].source.view.stored().size()) return false;
    const auto& factor = view.factor(line[at]);
    if (!factor.index || *factor.index != i || !factor.extent.isConstant(3)) return false;
    for (size_t axis = 0; axis < line.size(); ++axis) {
      const auto& first = parts[0].source.view;
      if (!(view.factor(line[axis]).extent == first.factor(first.stored()[axis]).extent)) return false;
    }
  }
  return true;
}

// The mask of scores [batch * heads, rows, keys] for scores [batch, heads, rows, keys]; nothing where that cannot be.
std::optional<Shape> maskShape(const Graph& graph, ValueId mask, int rank, const Columns& q) {
  Shape shape = graph.value(mask).type.shape;
  if (rank >= 4 || shape.size() < 3 || shape[0].isConstant(1)) return shape;
  const Extent batch = q.source.view.extent(q.batch());
  const Extent heads = q.source.view.extent(q.heads);
  if (!(shape[0] == batch * heads)) return std::nullopt;
  return Shape{batch, heads, shape[1], shape[2]};
}

bool byColumns(Graph& graph, NodeId id, const std::array<Columns, 3>& parts, const Options& options) {
  const auto& node = graph.node(id);
  auto op = *node.op.as<ops::Attention>();
  const int rank = graph.value(node.inputs[0]).type.rank();
  const auto& q = parts[0];
  const Extent batch = q.source.view.extent(q.batch());
  const Extent heads = q.source.view.extent(q.heads);
  const Extent keyHeads = parts[1].source.view.extent(parts[1].heads);
  if (!(parts[2].source.view.extent(parts[2].heads) == keyHeads)) return false;
  for (const auto& part : parts) {
    if (part.batches.size() != q.batches.size()) return false;
    for (size_t axis = 0; axis < q.batches.size(); ++axis) {
      if (!(part.source.view.extent(part.batches[axis]) == q.source.view.extent(q.batches[axis]))) return false;
    }
  }
  const bool isShared = !(keyHeads == heads);
  if (isShared && (keyHeads.constant() < 1 || heads.constant() % keyHeads.constant() != 0)) return false;
  op.packed = !isShared && arePacked(parts);
  op.keyHeads = isShared ? keyHeads.constant() : 0;
  if (heads.isConstant(1) && !op.packed) return false;
  op.heads = heads.constant();
  op.scale *= parts[0].source.scale * parts[1].source.scale;
  const auto type = graph.value(node.inputs[0]).type.dtype;
  const Shape packedShape = q.shape(3);
  std::vector<ops::TensorType> types;
  for (size_t i = 0; i < (op.packed ? 1 : 3); ++i)
    types.push_back({type, op.packed ? packedShape : parts[i].shape(), std::nullopt});
  std::optional<Shape> mask;
  if (op.hasMask) {
    mask = maskShape(graph, node.inputs[3], rank, q);
    if (!mask) return false;
    types.push_back({type, *mask, std::nullopt});
  }
  if (options.computes && !options.computes(op, types)) return false;

  const auto inputs = node.inputs;
  const auto output = node.outputs[0];
  const auto name = node.name;
  const Shape rowsFirst{batch, q.source.view.extent(q.rows), heads, parts[2].source.view.extent(parts[2].width)};
  const Shape shape = graph.value(output).type.shape;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  std::vector<ValueId> operands;
  if (op.packed) {
    const ValueId source = q.source.view.source();
    operands.push_back(graph.value(source).type.shape == packedShape
                           ? source
                           : patch.add(ops::Reshape{packedShape}, name + "_packed", {source}, {}));
  } else {
    for (const auto& part : parts) {
      const auto& view = part.source.view;
      operands.push_back(view.build(patch, graph, view.seen(), part.shape(), name + "_columns", {}));
    }
  }
  if (mask) {
    const bool fits = *mask == graph.value(inputs[3]).type.shape;
    operands.push_back(fits ? inputs[3] : patch.add(ops::Reshape{*mask}, name + "_mask", {inputs[3]}, {}));
  }
  const ValueId result = patch.add(op, name, std::move(operands), self);
  const ValueId split = patch.add(ops::Reshape{rowsFirst}, name + "_split", {result}, self);
  const ValueId moved = patch.add(ops::Transpose{{0, 2, 1, 3}}, name + "_heads", {split}, self);
  patch.replace(output, rank == 4 ? moved : patch.add(ops::Reshape{shape}, name + "_joined", {moved}, self));
  patch.commit();
  return true;
}

// q and k without the factors that multiply them.
bool byScale(Graph& graph, NodeId id, const std::vector<Source>& q, const std::vector<Source>& k) {
  const auto& node = graph.node(id);
  auto op = *node.op.as<ops::Attention>();
  const auto farthestScaled = [](const std::vector<Source>& sources) {
    auto best = sources.begin();
    for (auto source = sources.begin(); source != sources.end(); ++source) {
      if (source->scale != best->scale) best = source;
    }
    return best;
  };
  const auto qSource = farthestScaled(q);
  const auto kSource = farthestScaled(k);
  if (qSource == q.begin() && kSource == k.begin()) return false;
  auto inputs = node.inputs;
  const auto output = node.outputs[0];
  const auto name = node.name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  for (const auto& [source, input] : {std::pair(&*qSource, &inputs[0]), std::pair(&*kSource, &inputs[1])}) {
    op.scale *= source->scale;
    const Shape shape = graph.value(*input).type.shape;
    *input = source->view.build(patch, graph, source->view.order(), shape, name + "_rows", {});
  }
  patch.replace(output, patch.add(op, name, std::move(inputs), self));
  patch.commit();
  return true;
}

bool improve(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* attention = node.op.as<ops::Attention>();
  if (attention == nullptr || attention->heads != 0) return false;
  const auto q = sourcesOf(graph, node.inputs[0], true);
  const auto k = sourcesOf(graph, node.inputs[1], true);
  const auto v = sourcesOf(graph, node.inputs[2], false);
  const auto qColumns = farthestColumns(q);
  const auto kColumns = farthestColumns(k);
  const auto vColumns = farthestColumns(v);
  if (qColumns && kColumns && vColumns && byColumns(graph, id, {*qColumns, *kColumns, *vColumns}, options)) return true;
  return byScale(graph, id, q, k);
}

}  // namespace

int pass_attention_heads(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return improve(graph, id, options); });
}

}  // namespace tenon::passes
