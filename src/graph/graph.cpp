// Construction and queries of graphs.
#include "graph/graph.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::graph {

std::string Graph::uniqueName(std::string_view wanted) {
  std::string name(wanted.empty() ? fmt::format("v{}", values_.size()) : std::string(wanted));
  for (int suffix = 1; names_.contains(name); ++suffix) {
    name = fmt::format("{}_{}", wanted.empty() ? fmt::format("v{}", values_.size()) : std::string(wanted), suffix);
  }
  return name;
}

ValueId Graph::addInput(std::string_view name, ops::TensorType type) {
  checkUser(!names_.contains(std::string(name)), "graph input '{}': another value has this name", name);
  const auto id = static_cast<ValueId>(values_.size());
  Value value;
  value.name = uniqueName(name);
  value.type = std::move(type);
  value.isInput = true;
  names_.emplace(value.name, id);
  values_.push_back(std::move(value));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::addConstant(ConstantPtr constant, std::string_view name) {
  const auto id = static_cast<ValueId>(values_.size());
  Value value;
  value.name = uniqueName(name.empty() ? std::string_view(constant->weights()) : name);
  value.type = constant->type();
  value.constant = std::move(constant);
  names_.emplace(value.name, id);
  values_.push_back(std::move(value));
  return id;
}

std::vector<ops::TensorType> Graph::inputTypes(const std::vector<ValueId>& inputs) const {
  std::vector<ops::TensorType> types;
  for (const ValueId input : inputs) types.push_back(value(input).type);
  return types;
}

NodeId Graph::addNode(ops::Operator op, std::string_view name, std::vector<ValueId> inputs,
                      std::vector<std::string> origins, std::vector<std::string> outputNames) {
  auto types = op.infer(name, inputTypes(inputs));
  const auto id = static_cast<NodeId>(nodes_.size());
  Node node{std::move(op), std::string(name), std::move(origins), std::move(inputs), {}, {}};
  for (size_t i = 0; i < types.size(); ++i) {
    const auto valueId = static_cast<ValueId>(values_.size());
    Value value;
    value.name = uniqueName(i < outputNames.size() ? outputNames[i] : std::string());
    value.type = std::move(types[i]);
    value.producer = id;
    value.producerOutput = static_cast<int>(i);
    names_.emplace(value.name, valueId);
    values_.push_back(std::move(value));
    node.outputs.push_back(valueId);
  }
  nodes_.push_back(std::move(node));
  order_.push_back(id);
  return id;
}

ValueId Graph::add(ops::Operator op, std::string_view name, std::vector<ValueId> inputs,
                   std::vector<std::string> origins) {
  const NodeId id = addNode(std::move(op), name, std::move(inputs), std::move(origins));
  return nodes_[id].outputs.at(0);
}

void Graph::addOutput(ValueId value, std::string_view name) {
  checkInternal(value < values_.size(), "graph output {}: no such value", value);
  outputs_.push_back(value);
  outputNames_.emplace_back(name.empty() ? std::string_view(values_[value].name) : name);
}

void Graph::addSymbol(std::string name, SymbolSource source) { symbols_.emplace(std::move(name), std::move(source)); }

void Graph::renameValue(ValueId id, std::string_view name) {
  auto& value = values_.at(id);
  if (value.name == name) return;
  names_.erase(value.name);
  if (const auto taken = names_.find(name); taken != names_.end()) {
    const ValueId other = taken->second;
    names_.erase(taken);
    names_.emplace(std::string(name), id);
    values_[other].name = uniqueName(name);
    names_.emplace(values_[other].name, other);
  } else {
    names_.emplace(std::string(name), id);
  }
  value.name = name;
}

bool Graph::isOutput(ValueId id) const { return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end(); }

std::vector<Use> Graph::uses(ValueId id) const {
  std::vector<Use> result;
  for (const NodeId nodeId : order_) {
    const auto& inputs = nodes_[nodeId].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == id) result.push_back({nodeId, static_cast<int>(i)});
    }
  }
  return result;
}

std::vector<std::vector<Use>> Graph::allUses() const {
  std::vector<std::vector<Use>> result(values_.size());
  for (const NodeId nodeId : order_) {
    const auto& inputs = nodes_[nodeId].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) result[inputs[i]].push_back({nodeId, static_cast<int>(i)});
  }
  return result;
}

std::optional<ValueId> Graph::findValue(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

int removeDeadNodes(Graph& graph) {
  const size_t before = graph.order().size();
  Patch(graph).commit();
  return static_cast<int>(before - graph.order().size());
}

}  // namespace tenon::graph
