// attention(q, k, v, m) => attention{causal}(q, k, v) where m is constant and leaves out exactly the keys behind each
// row's own number: 0 up to it, and behind it minus infinity, or the lowest number of its type, whose weights are 0 as
// well.
#include "passes/common/pass.h"

#include <limits>

#include "ops/op/attention.h"

namespace tenon::passes {
namespace {

// The lowest finite number of the type, or what lies below it.
double mostOfHidden(DataType type) {
  if (type == DataType::kF16) return -65504;
  return type == DataType::kBF16 ? -3.3895313892515355e38 : -static_cast<double>(std::numeric_limits<float>::max());
}

bool isCausal(const TensorView& mask) {
  const int64_t keys = mask.dims[mask.dims.rank - 1], rows = mask.dims[mask.dims.rank - 2];
  const double hidden = mostOfHidden(mask.dtype);
  for (int64_t i = 0; i < mask.count(); ++i) {
    const double value = mask.loadDouble(i);
    if (i % keys <= i / keys % rows ? value != 0 : !(value <= hidden)) return false;
  }
  return true;
}

bool find(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  const auto* attention = node.op.as<ops::Attention>();
  if (attention == nullptr || !attention->hasMask || attention->causal) return false;
  const auto constant = graph.value(node.inputs[attention->maskInput()]).constant;
  if (constant == nullptr || (options.refittable && !constant->weights().empty())) return false;
  const auto& q = graph.value(node.inputs[0]).type.shape;
  const auto& k = graph.value(node.inputs[attention->packed ? 0 : 1]).type.shape;
  const auto& dims = constant->dims();
  // A row of the mask for each row of q, and a column for each key.
  if (dims.rank < 2 || dims.count() == 0 || !q[q.size() - 2].isConstant(dims[dims.rank - 2]) ||
      !k[k.size() - 2].isConstant(dims[dims.rank - 1]))
    return false;
  auto op = *attention;
  op.hasMask = false;
  op.causal = true;
  auto inputs = node.inputs;
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(attention->maskInput()));
  if (options.computes && !options.computes(op, graph.inputTypes(inputs))) return false;
  if (!isCausal(constant->view())) return false;
  const auto name = node.name;
  const auto output = node.outputs[0];
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  patch.replace(output, patch.add(op, name, std::move(inputs), self));
  patch.commit();
  return true;
}

}  // namespace

int pass_find_causal(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return find(graph, id, options); });
}

}  // namespace tenon::passes
