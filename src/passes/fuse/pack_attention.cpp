// attention(x wq + bq, x wk + bk, x wv + bv) => attention{packed}(x [wq wk wv] + [bq bk bv]): the weights side by side.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/attention.h"
#include "passes/common/packed_products.h"

namespace tenon::passes {
namespace {

bool isProjection(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  return producer != graph::kNone && isPackable(graph, producer) && onlyUse(graph, value);
}

bool pack(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* attention = node.op.as<ops::Attention>();
  if (attention == nullptr || attention->packed || attention->heads < 1) return false;
  const std::vector<ValueId> parts(node.inputs.begin(), node.inputs.begin() + 3);
  if (!std::all_of(parts.begin(), parts.end(), [&](ValueId part) { return isProjection(graph, part); })) return false;
  std::vector<NodeId> products;
  for (const auto part : parts) products.push_back(graph.value(part).producer);
  const auto& type = graph.value(parts[0]).type;
  for (size_t i = 1; i < 3; ++i) {
    if (!packTogether(graph, products[0], products[i]) || !(graph.value(parts[i]).type == type)) return false;
  }
  const Extent& columns = type.shape.back();
  ops::Attention packed = *attention;
  packed.packed = true;
  auto packedType = type;
  packedType.shape.back() = Extent(3 * columns.constant());
  std::vector<ops::TensorType> types{packedType};
  std::vector<ValueId> inputs(node.inputs.begin() + 3, node.inputs.end());
  for (const auto input : inputs) types.push_back(graph.value(input).type);
  if (options.computes && !options.computes(packed, types)) return false;

  const auto product = graph.node(products[0]).op;
  const auto output = node.outputs[0];
  const auto name = node.name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const ValueId all = patch.add(product, "", packOperands(graph, patch, products), products);
  auto& made = graph.node(graph.value(all).producer);
  made.name = fmt::format("{}", fmt::join(made.origins, " + "));
  inputs.insert(inputs.begin(), all);
  patch.replace(output, patch.add(packed, name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int pass_pack_attention(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editUntilDone(graph, [&](NodeId id) { return pack(graph, id, options); });
}

}  // namespace tenon::passes
