// Composites: found by their structure, made where the device has a kernel for them that pays.
#include "passes/composites.h"

#include <algorithm>

#include "ops/op/composite.h"
#include "ops/op/convolution.h"
#include "ops/op/pointwise.h"
#include "passes/common/match.h"
#include "passes/device.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kImageChannels = 4;

// Nodes in order as one operator over what they read.
struct Joint {
  ops::Composite op;
  std::string name;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

// Nodes that stand side by side.
Joint join(const Graph& graph, const std::vector<NodeId>& nodes) {
  Joint joint;
  for (const auto id : nodes) {
    const auto& node = graph.node(id);
    ops::CompositePart part{node.op, {}};
    for (const auto input : node.inputs) {
      const auto known = std::find(joint.inputs.begin(), joint.inputs.end(), input);
      part.inputs.push_back(static_cast<int32_t>(known - joint.inputs.begin()));
      if (known == joint.inputs.end()) joint.inputs.push_back(input);
    }
    joint.op.outputs.push_back(static_cast<int32_t>(joint.op.parts.size()));
    joint.op.parts.push_back(std::move(part));
    joint.outputs.push_back(node.outputs[0]);
    joint.name += (joint.name.empty() ? "" : " + ") + node.name;
  }
  return joint;
}

// A node of one operand, and the one that reads its result as its first operand, and no other does.
Joint chain(const Graph& graph, NodeId first, NodeId second) {
  Joint joint;
  joint.inputs = {graph.node(first).inputs[0]};
  ops::CompositePart part{graph.node(second).op, {-1}};
  const auto& inputs = graph.node(second).inputs;
  for (size_t i = 1; i < inputs.size(); ++i) {
    part.inputs.push_back(static_cast<int32_t>(i));
    joint.inputs.push_back(inputs[i]);
  }
  joint.op = {{{graph.node(first).op, {0}}, std::move(part)}, {1}};
  joint.outputs = graph.node(second).outputs;
  // Casts that the network does not have go without saying.
  if (!graph.node(first).origins.empty()) joint.name = graph.node(first).name + " + ";
  joint.name += graph.node(second).name;
  return joint;
}

bool replace(Graph& graph, const std::vector<NodeId>& nodes, const Joint& joint, const Pays& pays) {
  graph::Patch patch(graph);
  const NodeId made = patch.addNode(joint.op, joint.name, joint.inputs, nodes);
  auto& node = graph.node(made);
  node.device = graph.node(nodes[0]).device;
  if (!pays(graph, {&made, 1}, nodes)) {
    patch.discard();
    return false;
  }
  for (size_t i = 0; i < joint.outputs.size(); ++i) patch.replace(joint.outputs[i], node.outputs[i]);
  patch.commit();
  return true;
}

const ops::Convolution* convolutionOf(const Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Convolution>();
  if (op == nullptr || graph.value(node.inputs[1]).constant == nullptr) return nullptr;
  return graph.value(node.inputs[1]).constant->dims().rank == 4 ? op : nullptr;
}

const Dims& windowOf(const Graph& graph, NodeId id) { return graph.value(graph.node(id).inputs[1]).constant->dims(); }

// Whether the epilogue reads constants alone, so that nothing computed behind one part is needed by another.
bool readsConstants(const Graph& graph, NodeId id) {
  const auto& inputs = graph.node(id).inputs;
  return std::all_of(inputs.begin() + 1, inputs.end(),
                     [&](ValueId input) { return graph.value(input).constant != nullptr; });
}

bool areAlike(const Graph& graph, NodeId a, NodeId b) {
  const auto* left = convolutionOf(graph, a);
  const auto* right = convolutionOf(graph, b);
  if (left == nullptr || right == nullptr || graph.node(a).inputs[0] != graph.node(b).inputs[0]) return false;
  const auto& wa = windowOf(graph, a);
  const auto& wb = windowOf(graph, b);
  return left->strides == right->strides && left->dilations == right->dilations &&
         left->prePadding == right->prePadding && left->postPadding == right->postPadding && left->groups == 1 &&
         right->groups == 1 && wa[2] == wb[2] && wa[3] == wb[3] && graph.node(a).device == graph.node(b).device;
}

}  // namespace

int joinBranches(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  std::vector<bool> gone(graph.nodeCount(), false);
  for (const auto id : order) {
    if (gone[id] || convolutionOf(graph, id) == nullptr || !readsConstants(graph, id)) continue;
    std::vector<NodeId> nodes;
    for (const auto& use : graph.uses(graph.node(id).inputs[0])) {
      if (use.input == 0 && areAlike(graph, id, use.node) && readsConstants(graph, use.node)) nodes.push_back(use.node);
    }
    // The first of them asks for all, so that what did not pay is not asked again.
    if (nodes.size() < 2 || nodes[0] != id || !replace(graph, nodes, join(graph, nodes), pays)) continue;
    for (const auto node : nodes) gone[node] = true;
    ++edits;
  }
  return edits;
}

int joinCast(Graph& graph, const Pays& pays) {
  int edits = 0;
  const auto order = graph.order();
  for (const auto id : order) {
    const auto* op = convolutionOf(graph, id);
    if (op == nullptr || op->groups != 1 || windowOf(graph, id)[1] > kImageChannels) continue;
    const ValueId image = graph.node(id).inputs[0];
    const auto& value = graph.value(image);
    if (value.producer == graph::kNone || graph.isOutput(image) || graph.uses(image).size() != 1) continue;
    if (value.constraints != graph::Constraints{}) continue;
    const auto& cast = graph.node(value.producer);
    const bool isCast = cast.op.as<ops::Pointwise>() != nullptr && cast.inputs.size() == 1;
    if (!isCast || cast.device != graph.node(id).device) continue;
    if (graph.value(cast.inputs[0]).type.shape != value.type.shape) continue;
    const NodeId first = value.producer;
    if (replace(graph, {first, id}, chain(graph, first, id), pays)) ++edits;
  }
  return edits;
}

namespace {

struct Join {
  std::string_view name;
  int (*run)(Graph& graph, const Pays& pays);
  DeviceKind device;  // that has kernels for it
};
constexpr Join kJoins[] = {
    {"join_branches", &joinBranches, DeviceKind::kCpu},
    {"join_reductions", &joinReductions, DeviceKind::kCpu},
    {"join_cast", &joinCast, DeviceKind::kGpu},
    {"join_pooling", &joinPooling, DeviceKind::kGpu},
    {"join_excitation", &joinExcitation, DeviceKind::kGpu},
    {"join_normalization", &joinNormalization, DeviceKind::kGpu},
    {"join_projection", &joinProjection, DeviceKind::kGpu},
    {"join_expansion", &joinExpansion, DeviceKind::kGpu},
};

}  // namespace

std::vector<std::string_view> joinNames() {
  std::vector<std::string_view> names;
  for (const auto& join : kJoins) names.push_back(join.name);
  return names;
}

void runJoins(Graph& graph, const Options& options, const Pays& pays) {
  for (const auto& join : kJoins) {
    if (join.device != factsOf(options.device).kind || isDisabled(join.name)) continue;
    const int edits = join.run(graph, pays);
    if (edits == 0) continue;
    graph::verify(graph);
    dump(graph, fmt::format("after_{}", join.name));
    if (options.log != nullptr) options.log->verbose("{}: {} edits, {} nodes", join.name, edits, graph.order().size());
  }
}

}  // namespace tenon::passes
