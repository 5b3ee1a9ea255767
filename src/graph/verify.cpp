// The verifier: what holds for every graph between two passes.
#include <set>

#include "core/error.h"
#include "graph/graph.h"

namespace tenon::graph {
namespace {

void verifyNode(const Graph& graph, NodeId id, const std::set<ValueId>& known) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs) {
    checkInternal(known.contains(input), "verify: node '{}' ({}) reads '{}' before it is computed", node.name,
                  node.op.name(), input < graph.valueCount() ? graph.value(input).name : "?");
  }
  std::vector<ops::TensorType> types;
  try {
    types = node.op.infer(node.name, graph.inputTypes(node.inputs));
  } catch (const Error& error) {
    throw InternalError("verify: node '{}' ({}): {}", node.name, node.op.text(), error.what());
  }
  checkInternal(types.size() == node.outputs.size(), "verify: node '{}' has {} outputs, its operator gives {}", node.name,
                node.outputs.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Value& value = graph.value(node.outputs[i]);
    checkInternal(value.producer == id && value.producerOutput == static_cast<int>(i),
                  "verify: '{}' does not know its producer '{}'", value.name, node.name);
    const bool sameRank = value.type.shape.size() == types[i].shape.size();
    checkInternal(value.type.dtype == types[i].dtype && sameRank, "verify: '{}' is {} {}, node '{}' gives {} {}", value.name,
                  tenon::name(value.type.dtype), text(value.type.shape), node.name, tenon::name(types[i].dtype),
                  text(types[i].shape));
    for (size_t axis = 0; axis < types[i].shape.size(); ++axis) {
      const Extent& have = value.type.shape[axis];
      const Extent& want = types[i].shape[axis];
      checkInternal(have == want || !have.isConstant() || !want.isConstant(), "verify: '{}' is {}, node '{}' gives {}",
                    value.name, text(value.type.shape), node.name, text(types[i].shape));
    }
  }
}

}  // namespace

void verify(const Graph& graph) {
  std::set<ValueId> known;
  for (ValueId id = 0; id < graph.valueCount(); ++id) {
    const Value& value = graph.value(id);
    if (value.isInput || value.constant != nullptr) known.insert(id);
  }
  std::set<std::string> names;
  for (const NodeId id : graph.order()) {
    verifyNode(graph, id, known);
    for (const ValueId output : graph.node(id).outputs) {
      checkInternal(known.insert(output).second, "verify: '{}' is computed twice", graph.value(output).name);
      checkInternal(names.insert(graph.value(output).name).second, "verify: the name '{}' stands twice", graph.value(output).name);
    }
  }
  for (const ValueId output : graph.outputs()) {
    checkInternal(known.contains(output), "verify: output '{}' is not computed", graph.value(output).name);
  }
}

}  // namespace tenon::graph
