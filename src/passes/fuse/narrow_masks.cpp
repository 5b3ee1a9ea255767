// attention(q, k, v, p(m, c)) => attention(q, k, v, p(m, c0)) where all elements of the constant c are c0, and
// attention(q, k, v, p(expand(m))) => attention(q, k, v, p(m)): what only stretched the mask goes, since attention
// broadcasts it.
#include "passes/common/pass.h"

#include <algorithm>
#include <cstring>

#include "ops/op/attention.h"
#include "ops/op/pointwise.h"
#include "ops/op/slice.h"
#include "passes/common/stretch.h"

namespace tenon::passes {
namespace {

bool isUniform(const graph::Constant& constant) {
  const auto view = constant.view();
  const auto count = static_cast<size_t>(view.count());
  if (count < 2 || view.bytes() % count != 0) return false;
  const size_t size = view.bytes() / count;
  const auto* bytes = static_cast<const std::byte*>(view.data);
  return std::memcmp(bytes, bytes + size, view.bytes() - size) == 0;
}

// Attention reads the mask itself.
bool dropStretch(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* attention = node.op.as<ops::Attention>();
  if (attention == nullptr || !attention->hasMask) return false;
  const auto place = static_cast<int>(attention->maskInput());
  const ValueId mask = node.inputs[attention->maskInput()];
  const ValueId source = unstretched(graph, mask);
  if (source == mask) return false;
  graph::Patch patch(graph);
  patch.replaceUse({id, place}, source);
  patch.commit();
  return true;
}

bool isMaskOnly(const Graph& graph, ValueId value) {
  if (graph.isOutput(value) || graph.value(value).constraints != graph::Constraints{}) return false;
  return std::all_of(graph.uses(value).begin(), graph.uses(value).end(), [&](const graph::Use& use) {
    const auto* attention = graph.node(use.node).op.as<ops::Attention>();
    return attention != nullptr && static_cast<size_t>(use.input) == attention->maskInput();
  });
}

bool narrow(Graph& graph, NodeId id, const Options& options) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr || graph.uses(node.outputs[0]).empty() ||
      !isMaskOnly(graph, node.outputs[0]))
    return false;
  auto inputs = node.inputs;
  for (auto& input : inputs) input = unstretched(graph, input);
  auto types = graph.inputTypes(inputs);
  std::vector<bool> uniform;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto& constant = graph.value(inputs[i]).constant;
    uniform.push_back(constant != nullptr && !(options.refittable && !constant->weights().empty()) &&
                      isUniform(*constant));
    if (uniform.back()) types[i].shape.assign(types[i].shape.size(), 1);
  }
  const auto narrowed = node.op.infer(node.name, types);
  if (narrowed[0].shape == graph.value(node.outputs[0]).type.shape) return false;
  const auto readers = graph.uses(node.outputs[0]);
  const auto op = node.op;
  const auto name = node.name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!uniform[i]) continue;
    const auto constant = graph.value(inputs[i]).constant;
    const size_t rank = static_cast<size_t>(constant->dims().rank);
    const ops::Slice first{Shape(rank, 0), Shape(rank, 1), {}, ops::SliceMode::kStrict};
    inputs[i] = patch.addConstant(graph::Constant::recipe(first, {constant}), graph.value(inputs[i]).name + "_one");
  }
  const ValueId result = patch.add(op, name, std::move(inputs), self);
  for (const auto& use : readers) patch.replaceUse(use, result);
  patch.commit();
  return true;
}

}  // namespace

int pass_narrow_masks(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) { return dropStretch(graph, id) || narrow(graph, id, options); });
}

}  // namespace tenon::passes
