// attention(x wq + bq, x wk + bk, x wv + bv) => attention{packed}(x [wq wk wv] + [bq bk bv]): the weights side by side.
#include "passes/pack_attention.h"

#include <algorithm>

#include "ops/op/attention.h"
#include "ops/op/concat.h"
#include "ops/op/matmul.h"
#include "passes/affine.h"
#include "passes/match.h"

namespace tenon::passes {
namespace {

using graph::Constant;
using graph::ConstantPtr;
using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Uses = std::vector<std::vector<graph::Use>>;

// A product with a constant matrix whose epilogue reads constants along the columns, and that only this attention reads.
bool isProjection(const Graph& graph, ValueId value, const Uses& uses) {
  const auto* op = producerOp<ops::MatMul>(graph, value);
  if (op == nullptr || op->transposeA || !onlyUse(graph, uses, value)) return false;
  const auto& node = graph.node(graph.value(value).producer);
  const auto& weights = graph.value(node.inputs[1]).constant;
  if (weights == nullptr || weights->count() != weights->dims()[weights->dims().rank - 1] * weights->dims()[weights->dims().rank - 2]) return false;
  const auto& type = graph.value(value).type;
  return std::all_of(node.inputs.begin() + 2, node.inputs.end(), [&](ValueId extra) {
    const auto& constant = graph.value(extra).constant;
    return constant != nullptr && variesAlong(constant->dims(), type.shape, type.rank() - 1);
  });
}

ConstantPtr sideBySide(const std::vector<ConstantPtr>& parts, int64_t axis) { return Constant::recipe(ops::Concat{axis}, parts); }

bool pack(Graph& graph, NodeId id, const Uses& uses, const Options& options) {
  const auto& node = graph.node(id);
  const auto* attention = node.op.as<ops::Attention>();
  if (attention == nullptr || attention->packed || attention->heads < 1) return false;
  const std::vector<ValueId> parts(node.inputs.begin(), node.inputs.begin() + 3);
  if (!std::all_of(parts.begin(), parts.end(), [&](ValueId part) { return isProjection(graph, part, uses); })) return false;
  std::vector<NodeId> products;
  for (const auto part : parts) products.push_back(graph.value(part).producer);
  const auto first = graph.node(products[0]);
  const auto& type = graph.value(parts[0]).type;
  for (size_t i = 1; i < 3; ++i) {
    const auto& other = graph.node(products[i]);
    const bool alike = other.op == first.op && other.inputs[0] == first.inputs[0] && other.inputs.size() == first.inputs.size() &&
                       graph.value(other.inputs[1]).constant->dims() == graph.value(first.inputs[1]).constant->dims() && graph.value(parts[i]).type == type;
    if (!alike) return false;
  }
  const Extent& columns = type.shape.back();
  if (!columns.isConstant()) return false;
  ops::Attention packed = *attention;
  packed.packed = true;
  auto packedType = type;
  packedType.shape.back() = Extent(3 * columns.constant());
  std::vector<ops::TensorType> types{packedType};
  std::vector<ValueId> inputs(node.inputs.begin() + 3, node.inputs.end());
  for (const auto input : inputs) types.push_back(graph.value(input).type);
  if (options.computes && !options.computes(packed, types)) return false;

  const auto& product = *first.op.as<ops::MatMul>();
  const auto output = node.outputs[0];
  const auto name = node.name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  std::vector<ValueId> operands{first.inputs[0]};
  for (size_t i = 1; i < first.inputs.size(); ++i) {
    std::vector<ConstantPtr> constants;
    for (const auto p : products) {
      const auto constant = graph.value(graph.node(p).inputs[i]).constant;
      constants.push_back(i == 1 ? constant : stretchedTo(asVector(constant), columns.constant(), constant->dtype()));
    }
    const int rank = constants[0]->dims().rank;
    operands.push_back(patch.addConstant(sideBySide(constants, i == 1 && product.transposeB ? rank - 2 : rank - 1), graph.value(first.inputs[i]).name + "_packed"));
  }
  const ValueId all = patch.add(product, "", std::move(operands), products);
  auto& made = graph.node(graph.value(all).producer);
  made.name = fmt::format("{}", fmt::join(made.origins, " + "));
  inputs.insert(inputs.begin(), all);
  patch.replace(output, patch.add(packed, name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int packAttention(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editUntilDone(graph, [&](NodeId id, const Uses& uses) { return pack(graph, id, uses, options); });
}

}  // namespace tenon::passes
