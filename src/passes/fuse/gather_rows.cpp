// transpose(reshape(slice{wrap}(x))) and the like, where rows along the last axis stay whole => gather(x, where each
// row comes from).
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/gather.h"
#include "ops/op/reshape.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

constexpr int64_t kMostRows = 1 << 20;  // of a table

// The operator on the first element of each row, where it moves whole rows of a tensor of known shape; nothing where it
// does not.
std::optional<ops::Operator> onRows(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (node.inputs.size() != 1 || node.outputs.size() != 1) return std::nullopt;
  const Shape& before = graph.value(node.inputs[0]).type.shape;
  const Shape& after = graph.value(node.outputs[0]).type.shape;
  if (!isConstant(before) || !isConstant(after) || before.size() < 2 || after.size() < 2 ||
      !(before.back() == after.back()))
    return std::nullopt;
  if (node.op.as<ops::Reshape>() != nullptr) {
    Shape shape = after;
    shape.back() = 1;
    return ops::Reshape{shape};
  }
  if (const auto* transpose = node.op.as<ops::Transpose>()) {
    return transpose->permutation.back() + 1 == static_cast<int64_t>(before.size())
               ? std::optional<ops::Operator>(*transpose)
               : std::nullopt;
  }
  const auto* slice = node.op.as<ops::Slice>();
  const bool copies =
      slice != nullptr && (slice->mode == ops::SliceMode::kStrict || slice->mode == ops::SliceMode::kWrap);
  if (!copies || !slice->start.back().isConstant(0) || (!slice->stride.empty() && !slice->stride.back().isConstant(1)))
    return std::nullopt;
  auto rows = *slice;
  rows.size.back() = 1;
  return rows;
}

// The nodes up to one that no node of the kind follows, the first first.
std::vector<NodeId> chainTo(const Graph& graph, NodeId last) {
  if (!onRows(graph, last)) return {};
  const auto next = onlyUse(graph, graph.node(last).outputs[0]);
  if (next && onRows(graph, next->node)) return {};
  std::vector<NodeId> chain{last};
  for (;;) {
    const ValueId input = graph.node(chain.back()).inputs[0];
    const NodeId producer = graph.value(input).producer;
    if (producer == graph::kNone || !onRows(graph, producer) || !onlyUse(graph, input)) break;
    chain.push_back(producer);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

// Which row of the source each row of the result is.
std::vector<int64_t> rowsOf(const Graph& graph, const std::vector<NodeId>& chain) {
  const Shape& source = graph.value(graph.node(chain[0]).inputs[0]).type.shape;
  Dims dims = evaluate(source, {});
  dims[dims.rank - 1] = 1;
  HostTensor numbers(DataType::kI64, dims);
  for (int64_t i = 0; i < dims.count(); ++i) numbers.view().storeInt(i, i);
  auto table = Constant::own(std::move(numbers));
  for (const NodeId id : chain) table = Constant::recipe(*onRows(graph, id), {table});
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < table->view().count(); ++i) rows.push_back(table->view().loadInt(i));
  return rows;
}

// How many rows at the front all others repeat, in steps of as many: those of an element of the batch, or all.
int64_t periodOf(const std::vector<int64_t>& rows, int64_t sourceRows, int64_t batch) {
  const auto all = static_cast<int64_t>(rows.size());
  if (all != sourceRows || batch < 2) return sourceRows;
  const int64_t period = all / batch;
  for (int64_t i = 0; i < all; ++i) {
    const int64_t first = rows[static_cast<size_t>(i % period)];
    if (first >= period || rows[static_cast<size_t>(i)] != first + i / period * period) return sourceRows;
  }
  return period;
}

bool gather(Graph& graph, NodeId id, const Options& options) {
  const auto chain = chainTo(graph, id);
  const auto count = [&](auto wanted) {
    return std::count_if(chain.begin(), chain.end(), [&](NodeId node) { return wanted(graph.node(node).op); });
  };
  const auto rolls = count([](const ops::Operator& op) {
    return op.as<ops::Slice>() != nullptr && op.as<ops::Slice>()->mode == ops::SliceMode::kWrap;
  });
  const auto copies = count([](const ops::Operator& op) { return op.as<ops::Reshape>() == nullptr; });
  if (rolls == 0 || copies < 2) return false;
  const ValueId source = graph.node(chain[0]).inputs[0];
  const auto& type = graph.value(source).type;
  const Dims dims = evaluate(type.shape, {});
  const Shape out = graph.value(graph.node(id).outputs[0]).type.shape;
  const int64_t sourceRows = dims.count(0, dims.rank - 1);
  if (graph.value(source).constant != nullptr || bits(type.dtype) < 8 || dims.count() == 0 ||
      product(out).constant() == 0)
    return false;
  if (sourceRows > kMostRows || product(out, 0, out.size() - 1).constant() > kMostRows) return false;
  const auto rows = rowsOf(graph, chain);
  const int64_t period = periodOf(rows, sourceRows, dims[0]);
  const int64_t picks = period == sourceRows ? static_cast<int64_t>(rows.size()) : period;
  const Shape columns{Extent(sourceRows / period), Extent(period), type.shape.back()};
  const ops::Gather op{ops::GatherMode::kDefault, 1, 0};
  const ops::TensorType types[] = {{type.dtype, columns, std::nullopt},
                                   {DataType::kI32, {Extent(picks)}, std::nullopt}};
  if (options.computes && !options.computes(op, types)) return false;
  HostTensor table(DataType::kI32, {picks});
  for (int64_t i = 0; i < picks; ++i) table.view().storeInt(i, rows[static_cast<size_t>(i)]);
  const auto output = graph.node(id).outputs[0];
  const auto name = graph.node(id).name;
  graph::Patch patch(graph);
  const ValueId flat = patch.add(ops::Reshape{columns}, name + " (rows)", {source}, {});
  const ValueId indices = patch.addConstant(Constant::own(std::move(table)), name + "_rows");
  const ValueId picked = patch.add(op, name, {flat, indices}, chain);
  patch.replace(output, patch.add(ops::Reshape{out}, name + " (shape)", {picked}, {}));
  patch.commit();
  return true;
}

}  // namespace

int pass_gather_rows(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return gather(graph, id, options); });
}

}  // namespace tenon::passes
