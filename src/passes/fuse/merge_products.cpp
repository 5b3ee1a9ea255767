// matmul(x, w1), matmul(x, w2), ... => slices of matmul(x, [w1 w2 ...]) where x is one row: the slices are then runs of
// memory, which cost nothing, and one product replaces several whose time is mostly their start.
#include "passes/common/pass.h"

#include <algorithm>

#include "core/storage.h"
#include "ops/op/matmul.h"
#include "ops/op/slice.h"
#include "passes/common/packed_products.h"

namespace tenon::passes {
namespace {

// Results that the user holds would have to be copied to where he wants them.
bool isFreeRow(const Graph& graph, ValueId id) {
  const auto& value = graph.value(id);
  const auto& shape = value.type.shape;
  return !graph.isOutput(id) && value.constraints == graph::Constraints{} && bits(value.type.dtype) >= 8 &&
         std::all_of(shape.begin(), shape.end() - 1, [](const Extent& extent) { return extent.isConstant(1); });
}

bool isCandidate(const Graph& graph, NodeId id) {
  return isPackable(graph, id) && isFreeRow(graph, graph.node(id).outputs[0]);
}

// The products that read the same row as `id`, which is the first one.
std::vector<NodeId> companions(const Graph& graph, NodeId id, const Options& options) {
  std::vector<NodeId> products;
  int64_t bytes = 0;
  for (const auto& use : graph.uses(graph.node(id).inputs[0])) {
    if (use.input != 0 || !isCandidate(graph, use.node) || !packTogether(graph, id, use.node)) continue;
    if (products.empty() && use.node != id) return {};
    if (bytes % factsOf(options.device).viewAlignment != 0) return {};
    const auto& type = graph.value(graph.node(use.node).outputs[0]).type;
    bytes += type.shape.back().constant() * bits(type.dtype) / 8;
    products.push_back(use.node);
  }
  return products;
}

bool merge(Graph& graph, NodeId id, const Options& options) {
  if (graph.node(id).op.as<ops::MatMul>() == nullptr || !isCandidate(graph, id)) return false;
  const auto products = companions(graph, id, options);
  if (products.size() < 2) return false;
  std::vector<std::string> names;
  for (const auto product : products) names.push_back(graph.node(product).name);
  graph::Patch patch(graph);
  const auto op = graph.node(id).op;
  const auto whole = fmt::format("{}", fmt::join(names, " + "));
  const ValueId all = patch.add(op, whole, packOperands(graph, patch, products), products);
  graph.node(graph.value(all).producer).device = graph.node(id).device;
  int64_t at = 0;
  for (const auto product : products) {
    const ValueId old = graph.node(product).outputs[0];
    const auto name = graph.node(product).name;
    ops::Slice part;
    part.size = graph.value(old).type.shape;
    part.start.assign(part.size.size(), Extent(0));
    part.stride.assign(part.size.size(), Extent(1));
    part.start.back() = Extent(at);
    at += part.size.back().constant();
    const NodeId from[] = {product};
    patch.replace(old, patch.add(std::move(part), name + "_columns", {all}, from));
  }
  patch.commit();
  return true;
}

}  // namespace

int pass_merge_products(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editUntilDone(graph, [&](NodeId id) { return merge(graph, id, options); });
}

}  // namespace tenon::passes
