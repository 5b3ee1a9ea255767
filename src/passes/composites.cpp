// Composites: found by their structure, made where the device has a kernel for them that pays.
#include "passes/composites.h"

#include <algorithm>

#include "ops/op/composite.h"
#include "ops/op/convolution.h"
#include "passes/match.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Nodes that stand side by side, in order, as one operator over what they read.
struct Joint {
  ops::Composite op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

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
  }
  return joint;
}

bool replace(Graph& graph, const std::vector<NodeId>& nodes, const Pays& pays) {
  const auto joint = join(graph, nodes);
  const auto device = graph.node(nodes[0]).device;
  if (!pays(graph, {joint.op, "composite", {}, joint.inputs, joint.outputs, device}, nodes)) return false;
  std::vector<std::string> names;
  for (const auto id : nodes) names.push_back(graph.node(id).name);
  graph::Patch patch(graph);
  const NodeId made = patch.addNode(joint.op, fmt::format("{}", fmt::join(names, " + ")), joint.inputs, nodes);
  auto& node = graph.node(made);
  node.device = device;
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

const Dims& windowOf(const Graph& graph, NodeId id) {
  return graph.value(graph.node(id).inputs[1]).constant->dims();
}

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
    if (nodes.size() < 2 || nodes[0] != id || !replace(graph, nodes, pays)) continue;
    for (const auto node : nodes) gone[node] = true;
    ++edits;
  }
  return edits;
}

void runJoins(Graph& graph, const Options& options, const Pays& pays) {
  if (isDisabled("join_branches")) return;
  const int edits = joinBranches(graph, pays);
  if (edits == 0) return;
  graph::verify(graph);
  dump(graph, "after_join_branches");
  if (options.log != nullptr) options.log->verbose("join_branches: {} edits, {} nodes", edits, graph.order().size());
}

}  // namespace tenon::passes
