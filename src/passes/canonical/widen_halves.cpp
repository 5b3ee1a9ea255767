// Products, convolutions, attention, recurrent networks and other operators whose kernels are of f32 alone, of f16 or
// bf16 => cast(the same of f32(casts)): processors compute them in f32, and the casts join the scalar work between.
// Weights become f32 once.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/attention.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/grid_sample.h"
#include "ops/op/lrn.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/recurrent.h"
#include "ops/op/roi_align.h"
#include "ops/op/scatter_reduce.h"

namespace tenon::passes {
namespace {

bool isHalf(DataType type) { return type == DataType::kF16 || type == DataType::kBF16; }

ops::Pointwise castTo(DataType type) { return ops::Pointwise{ops::ScalarExpr::castTo(type)}; }

// What a fused epilogue rounds on its way is not for this pass: it runs before there are any.
bool isComputedWide(const ops::Operator& op) {
  if (const auto* product = op.as<ops::MatMul>()) return product->epilogue.empty();
  if (const auto* convolution = op.as<ops::Convolution>()) return convolution->epilogue.empty();
  if (const auto* deconvolution = op.as<ops::Deconvolution>()) return deconvolution->epilogue.empty();
  return op.as<ops::Attention>() != nullptr || op.as<ops::Recurrent>() != nullptr || op.as<ops::Lrn>() != nullptr ||
         op.as<ops::RoiAlign>() != nullptr || op.as<ops::GridSample>() != nullptr ||
         op.as<ops::ScatterReduce>() != nullptr;
}

bool widen(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  if (!isComputedWide(node.op)) return false;
  const auto type = graph.value(node.outputs[0]).type.dtype;
  const auto isOfType = [&](ValueId input) { return graph.value(input).type.dtype == type; };
  if (!isHalf(type) || std::none_of(node.inputs.begin(), node.inputs.end(), isOfType)) return false;
  const NodeId from[] = {id};
  graph::Patch patch(graph);
  std::vector<ValueId> inputs;
  for (const auto input : node.inputs) {
    const auto& value = graph.value(input);
    if (value.type.dtype != type) {
      inputs.push_back(input);
    } else if (value.constant != nullptr) {
      inputs.push_back(patch.addConstant(Constant::recipe(castTo(DataType::kF32), {value.constant})));
    } else {
      inputs.push_back(patch.add(castTo(DataType::kF32), node.name, {input}, from));
    }
  }
  const auto wide = graph.node(patch.addNode(node.op, node.name, std::move(inputs), from)).outputs;
  for (size_t i = 0; i < wide.size(); ++i)
    patch.replace(node.outputs[i], patch.add(castTo(type), node.name, {wide[i]}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_widen_halves(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return widen(graph, id); });
}

}  // namespace tenon::passes
