// Construction and queries of graphs.
#include "graph/graph.h"

#include <algorithm>

#include "core/error.h"
#include "core/extent_length.h"

namespace tenon::graph {

// Expressions grow with each layer that they pass. Beyond this many characters nothing follows them.
constexpr size_t kLongExtent = 2048;

std::vector<ops::TensorType> inferFollowed(const ops::Operator& op, std::string_view node,
                                           std::vector<ops::TensorType> inputs) {
  std::vector<ops::TensorType> types;
  try {
    types = op.infer(node, inputs);
  } catch (const ExtentTooLong&) {  // of the elements; shapes may follow without them
    for (auto& input : inputs) input.contents.reset();
    types = op.infer(node, inputs);
  }
  for (auto& type : types) {
    if (!type.contents) continue;
    const bool isLong = std::any_of(type.contents->begin(), type.contents->end(), [](const Extent& extent) {
      return !extent.isConstant() && extent.text().size() > kLongExtent;
    });
    if (isLong) type.contents.reset();
  }
  return types;
}

namespace {

struct Earlier {
  const NodeOrder& order;
  bool operator()(const Use& a, const Use& b) const {
    return a.node == b.node ? a.input < b.input : order.isBefore(a.node, b.node);
  }
};

}  // namespace

std::string Graph::uniqueName(std::string_view wanted) {
  std::string name = wanted.empty() ? fmt::format("v{}", values_.size()) : std::string(wanted);
  if (!names_.contains(name)) return name;
  int& suffix = suffixes_[name];
  std::string suffixed;
  do {
    suffixed = fmt::format("{}_{}", name, ++suffix);
  } while (names_.contains(suffixed));
  return suffixed;
}

ValueId Graph::addValue(Value value) {
  const auto id = static_cast<ValueId>(values_.size());
  names_.emplace(value.name, id);
  values_.push_back(std::move(value));
  uses_.emplace_back();
  isOutput_.push_back(false);
  return id;
}

ValueId Graph::addInput(std::string_view name, ops::TensorType type) {
  checkUser(!names_.contains(std::string(name)), "graph input '{}': another value has this name", name);
  Value value;
  value.name = uniqueName(name);
  value.type = std::move(type);
  value.isInput = true;
  inputs_.push_back(addValue(std::move(value)));
  return inputs_.back();
}

ValueId Graph::addConstant(ConstantPtr constant, std::string_view name) {
  Value value;
  value.name = uniqueName(name.empty() ? std::string_view(constant->weights()) : name);
  value.type = constant->type();
  value.constant = std::move(constant);
  return addValue(std::move(value));
}

std::vector<ops::TensorType> Graph::inputTypes(const std::vector<ValueId>& inputs) const {
  std::vector<ops::TensorType> types;
  for (const ValueId input : inputs) types.push_back(value(input).type);
  return types;
}

NodeId Graph::addNode(ops::Operator op, std::string_view name, std::vector<ValueId> inputs,
                      std::vector<std::string> origins, std::vector<std::string> outputNames) {
  auto types = inferFollowed(op, name, inputTypes(inputs));
  const auto id = static_cast<NodeId>(nodes_.size());
  Node node{std::move(op), std::string(name), std::move(origins), std::move(inputs), {}, {}};
  for (size_t i = 0; i < types.size(); ++i) {
    Value value;
    value.name = uniqueName(i < outputNames.size() ? outputNames[i] : std::string());
    value.type = std::move(types[i]);
    value.producer = id;
    value.producerOutput = static_cast<int>(i);
    node.outputs.push_back(addValue(std::move(value)));
  }
  const size_t inputCount = node.inputs.size();
  nodes_.push_back(std::move(node));
  order_.append(id);
  for (size_t i = 0; i < inputCount; ++i) addUse({id, static_cast<int>(i)});
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
  isOutput_[value] = true;
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

void Graph::addUse(Use use) {
  auto& uses = uses_[nodes_[use.node].inputs[static_cast<size_t>(use.input)]];
  uses.insert(std::upper_bound(uses.begin(), uses.end(), use, Earlier{order_}), use);
}

void Graph::removeUse(Use use) {
  auto& uses = uses_[nodes_[use.node].inputs[static_cast<size_t>(use.input)]];
  uses.erase(std::lower_bound(uses.begin(), uses.end(), use, Earlier{order_}));
}

void Graph::setInput(Use use, ValueId value) {
  removeUse(use);
  nodes_[use.node].inputs[static_cast<size_t>(use.input)] = value;
  addUse(use);
}

void Graph::moveBefore(NodeId place, NodeId id) {
  const auto count = static_cast<int>(nodes_[id].inputs.size());
  for (int i = 0; i < count; ++i) removeUse({id, i});
  order_.erase(id);
  order_.insertBefore(place, id);
  for (int i = 0; i < count; ++i) addUse({id, i});
}

void Graph::reorder(std::vector<NodeId> order) {
  checkInternal(order.size() == order_.nodes().size() &&
                    std::all_of(order.begin(), order.end(), [&](NodeId id) { return order_.contains(id); }),
                "graph '{}': another order has {} nodes of {}", name_, order.size(), order_.nodes().size());
  order_.assign(std::move(order));
  for (auto& uses : uses_) std::sort(uses.begin(), uses.end(), Earlier{order_});
}

int Graph::removeUnused(std::vector<NodeId> candidates) {
  int removed = 0;
  while (!candidates.empty()) {
    const NodeId id = candidates.back();
    candidates.pop_back();
    if (id == kNone || !order_.contains(id)) continue;
    const auto& node = nodes_[id];
    const bool isUsed = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId output) { return !uses_[output].empty() || isOutput_[output]; });
    if (isUsed || node.op.facts().sideEffects) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      removeUse({id, static_cast<int>(i)});
      candidates.push_back(values_[node.inputs[i]].producer);
    }
    for (const ValueId output : node.outputs) names_.erase(values_[output].name);
    order_.erase(id);
    ++removed;
  }
  return removed;
}

std::optional<ValueId> Graph::findValue(std::string_view name) const {
  const auto found = names_.find(name);
  if (found == names_.end()) return std::nullopt;
  return found->second;
}

int removeDeadNodes(Graph& graph) { return graph.removeUnused(graph.order()); }

}  // namespace tenon::graph
