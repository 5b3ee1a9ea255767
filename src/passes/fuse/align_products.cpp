// matmul(x, w) => matmul{transposeB}(x, w^T) for constant w whose rows are no multiple of 16 bytes and whose columns
// are, on GPUs: a vocabulary of 50257 words would be read element by element.
#include "passes/common/pass.h"

#include <numeric>

#include "ops/op/matmul.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

constexpr int64_t kPack = 8;  // halves in 16 bytes

bool align(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::MatMul>();
  if (op == nullptr || op->transposeB) return false;
  const auto weights = graph.value(node.inputs[1]).constant;
  if (weights == nullptr || !isFloating(weights->dtype())) return false;
  const Dims& dims = weights->dims();
  if (dims[dims.rank - 1] % kPack == 0 || dims[dims.rank - 2] % kPack != 0 || dims[dims.rank - 1] < kPack) return false;
  ops::Transpose swap;
  swap.permutation.resize(static_cast<size_t>(dims.rank));
  std::iota(swap.permutation.begin(), swap.permutation.end(), 0);
  std::swap(swap.permutation.end()[-1], swap.permutation.end()[-2]);
  auto aligned = *op;
  aligned.transposeB = true;
  auto inputs = node.inputs;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const auto weightsName = graph.value(inputs[1]).name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  inputs[1] = patch.addConstant(graph::Constant::recipe(std::move(swap), {weights}), weightsName + "_rows");
  patch.replace(output, patch.add(std::move(aligned), name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int pass_align_products(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return align(graph, id); });
}

}  // namespace tenon::passes
