// Products whose results, or sums with them, are normalized along their rows.
#include "passes/common/row_sum.h"

#include <algorithm>

#include "ops/op/matmul.h"
#include "ops/op/normalization.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr size_t kRows = 0, kSkipped = 3;  // inputs of the normalization

bool isFree(const Graph& graph, ValueId value) { return graph.value(value).constraints == graph::Constraints{}; }

// The product is input `part`.
std::optional<RowSum> sumOf(const Graph& graph, NodeId id, size_t part, size_t other) {
  const auto& norm = graph.node(id);
  const auto& op = *norm.op.as<ops::Normalization>();
  const ValueId value = norm.inputs[part];
  const NodeId first = graph.value(value).producer;
  if (productWithWeights(graph, first) == nullptr || !isFree(graph, value)) return {};
  const auto& product = graph.node(first);
  if (product.device != norm.device) return {};
  auto changed = *product.op.as<ops::MatMul>();
  RowSum result{first, ops::MatMul{}, product.inputs};
  if (op.skip) {
    if (graph.isOutput(value) || graph.uses(value).size() != 1) return {};
    if (op.keepSum && !isFree(graph, norm.outputs[1])) return {};
    auto& instructions = changed.epilogue.instructions;
    const auto whole = instructions.empty() ? ops::ScalarArgument::input(0)
                                            : ops::ScalarArgument::result(static_cast<int>(instructions.size()) - 1);
    const auto added = ops::ScalarArgument::input(static_cast<int>(result.inputs.size()) - 1);
    instructions.push_back({ops::ScalarOp::k_add, {whole, added}});
    result.inputs.push_back(norm.inputs[other]);
  }
  result.op = std::move(changed);
  const auto made = result.op.infer(product.name, graph.inputTypes(result.inputs));
  const auto& type = graph.value(value).type;
  if (made[0].dtype != type.dtype || made[0].shape != type.shape) return {};
  return result;
}

}  // namespace

const ops::MatMul* productWithWeights(const Graph& graph, NodeId id) {
  if (id == graph::kNone) return nullptr;
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  return op != nullptr && !op->transposeA && graph.value(node.inputs[1]).constant != nullptr ? op : nullptr;
}

bool normalizesRows(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Normalization>();
  if (op == nullptr || op->groups != 1) return false;
  const auto& shape = graph.value(node.outputs[0]).type.shape;
  const bool isLast =
      op->axes.size() == 1 && (op->axes[0] == -1 || op->axes[0] == static_cast<int64_t>(shape.size()) - 1);
  return isLast && std::all_of(node.inputs.begin() + 1, node.inputs.begin() + 3, [&](ValueId input) {
           const auto& constant = graph.value(input).constant;
           return constant != nullptr && shape.back().isConstant(constant->dims().count()) &&
                  constant->dims()[constant->dims().rank - 1] == constant->dims().count();
         });
}

std::optional<RowSum> rowSumOf(const Graph& graph, NodeId normalization) {
  if (auto sum = sumOf(graph, normalization, kRows, kSkipped)) return sum;
  if (!graph.node(normalization).op.as<ops::Normalization>()->skip) return {};
  return sumOf(graph, normalization, kSkipped, kRows);
}

}  // namespace tenon::passes
