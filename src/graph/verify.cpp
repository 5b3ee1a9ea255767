// The verifier: what holds for every graph between two passes. It runs after each of them, so messages are made only
// where something is wrong.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/error.h"
#include "graph/graph.h"

namespace tenon::graph {
namespace {

// Extents may differ where one is symbolic.
bool fits(const ops::TensorType& have, const ops::TensorType& want) {
  const auto agree = [](const Extent& a, const Extent& b) { return a == b || !a.isConstant() || !b.isConstant(); };
  return have.dtype == want.dtype &&
         std::equal(have.shape.begin(), have.shape.end(), want.shape.begin(), want.shape.end(), agree);
}

void verifyNode(const Graph& graph, NodeId id, const std::vector<bool>& known) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs) {
    checkInternal(input < known.size() && known[input], "verify: node '{}' ({}) reads '{}' before it is computed",
                  node.name, node.op.name(), input < graph.valueCount() ? graph.value(input).name : "?");
  }
  std::vector<ops::TensorType> types;
  try {
    types = inferFollowed(node.op, node.name, graph.inputTypes(node.inputs));
  } catch (const Error& error) {
    throw InternalError("verify: node '{}' ({}): {}", node.name, node.op.text(), error.what());
  }
  checkInternal(types.size() == node.outputs.size(), "verify: node '{}' has {} outputs, its operator gives {}",
                node.name, node.outputs.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& value = graph.value(node.outputs[i]);
    checkInternal(value.producer == id && value.producerOutput == static_cast<int>(i),
                  "verify: '{}' does not know its producer '{}'", value.name, node.name);
    if (fits(value.type, types[i])) continue;
    throw InternalError("verify: '{}' is {} {}, node '{}' gives {} {}", value.name, tenon::name(value.type.dtype),
                        text(value.type.shape), node.name, tenon::name(types[i].dtype), text(types[i].shape));
  }
}

// The uses that the graph keeps are those that its nodes make.
void verifyUses(const Graph& graph) {
  std::vector<size_t> seen(graph.valueCount(), 0);
  for (const NodeId id : graph.order()) {
    const auto& inputs = graph.node(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto& uses = graph.uses(inputs[i]);
      const size_t at = seen[inputs[i]]++;
      checkInternal(at < uses.size() && uses[at].node == id && uses[at].input == static_cast<int>(i),
                    "verify: '{}' does not know that node '{}' reads it", graph.value(inputs[i]).name,
                    graph.node(id).name);
    }
  }
  for (ValueId id = 0; id < graph.valueCount(); ++id) {
    checkInternal(seen[id] == graph.uses(id).size(), "verify: '{}' has {} uses, {} are noted", graph.value(id).name,
                  seen[id], graph.uses(id).size());
  }
}

}  // namespace

void verify(const Graph& graph) {
  std::vector<bool> known(graph.valueCount(), false);
  for (ValueId id = 0; id < graph.valueCount(); ++id) {
    const Value& value = graph.value(id);
    known[id] = value.isInput || value.constant != nullptr;
  }
  std::unordered_set<std::string_view> names;
  for (const NodeId id : graph.order()) {
    verifyNode(graph, id, known);
    for (const ValueId output : graph.node(id).outputs) {
      const Value& value = graph.value(output);
      checkInternal(!known[output], "verify: '{}' is computed twice", value.name);
      checkInternal(names.insert(value.name).second, "verify: two values are called '{}'", value.name);
      known[output] = true;
    }
  }
  verifyUses(graph);
  for (const ValueId output : graph.outputs()) {
    checkInternal(output < known.size() && known[output], "verify: output '{}' is not computed",
                  graph.value(output).name);
  }
}

}  // namespace tenon::graph
