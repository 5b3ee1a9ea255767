// Weights and biases by recipes of concatenation.
#include "passes/common/packed_products.h"

#include <algorithm>

#include "ops/op/concat.h"
#include "ops/op/matmul.h"
#include "passes/common/affine.h"
#include "passes/common/match.h"

namespace tenon::passes {

bool isPackable(const graph::Graph& graph, graph::NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  if (op == nullptr || op->transposeA) return false;
  const auto& weights = graph.value(node.inputs[1]).constant;
  if (weights == nullptr) return false;
  const auto& dims = weights->dims();
  if (dims.rank < 2 || weights->count() != dims[dims.rank - 1] * dims[dims.rank - 2]) return false;
  const auto& type = graph.value(node.outputs[0]).type;
  if (!type.shape.back().isConstant()) return false;
  return std::all_of(node.inputs.begin() + 2, node.inputs.end(), [&](graph::ValueId extra) {
    const auto& constant = graph.value(extra).constant;
    return constant != nullptr && variesAlong(constant->dims(), type.shape, type.rank() - 1);
  });
}

bool packTogether(const graph::Graph& graph, graph::NodeId a, graph::NodeId b) {
  const auto& left = graph.node(a);
  const auto& right = graph.node(b);
  const auto& v = *graph.value(left.inputs[1]).constant;
  const auto& w = *graph.value(right.inputs[1]).constant;
  return left.op == right.op && left.device == right.device && left.inputs[0] == right.inputs[0] &&
         left.inputs.size() == right.inputs.size() && v.dims().rank == w.dims().rank && v.dtype() == w.dtype();
}

std::vector<graph::ValueId> packOperands(const graph::Graph& graph, graph::Patch& patch,
                                         std::span<const graph::NodeId> products) {
  const auto first = graph.node(products[0]);
  const bool areRows = first.op.as<ops::MatMul>()->transposeB;
  std::vector<graph::ValueId> operands{first.inputs[0]};
  for (size_t i = 1; i < first.inputs.size(); ++i) {
    std::vector<graph::ConstantPtr> constants;
    for (const auto product : products) {
      const auto& node = graph.node(product);
      const auto constant = graph.value(node.inputs[i]).constant;
      const int64_t columns = graph.value(node.outputs[0]).type.shape.back().constant();
      constants.push_back(i == 1 ? constant : stretchedTo(asVector(constant), columns, constant->dtype()));
    }
    const ops::Concat sideBySide{constants[0]->dims().rank - (i == 1 && areRows ? 2 : 1)};
    auto packed = graph::Constant::recipe(sideBySide, std::move(constants));
    operands.push_back(patch.addConstant(std::move(packed), graph.value(first.inputs[i]).name + "_packed"));
  }
  return operands;
}

}  // namespace tenon::passes
