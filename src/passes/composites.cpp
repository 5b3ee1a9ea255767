// Composites: found by their structure, made where the device has a kernel for them that pays.
#include "passes/composites.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/pointwise.h"
#include "passes/common/joint.h"
#include "passes/common/match.h"
#include "passes/device.h"

namespace tenon::passes {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kImageChannels = 4;

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
    if (nodes.size() < 2 || nodes[0] != id || !replaceByJoint(graph, nodes, sideBySide(graph, nodes), pays)) continue;
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
    const NodeId nodes[] = {first, id};
    if (replaceByJoint(graph, nodes, chainOf(graph, first, id), pays)) ++edits;
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
    {"join_rows", &joinRows, DeviceKind::kGpu},
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
