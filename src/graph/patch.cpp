// Edits of a graph: applied to a copy of the edges first, so that a refused edit leaves no trace.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/error.h"
#include "graph/graph.h"

namespace tenon::graph {
namespace {

std::vector<std::string> mergedOrigins(const Graph& graph, std::span<const NodeId> from) {
  std::vector<std::string> origins;
  for (const NodeId id : from) {
    for (const auto& origin : graph.node(id).origins) {
      if (std::find(origins.begin(), origins.end(), origin) == origins.end()) origins.push_back(origin);
    }
  }
  return origins;
}

Constraints mergeConstraints(const Constraints& old, Constraints fresh) {
  if (!fresh.dtype) fresh.dtype = old.dtype;
  if (fresh.layouts.empty()) fresh.layouts = old.layouts;
  fresh.hostShape = fresh.hostShape || old.hostShape;
  fresh.debug = fresh.debug || old.debug;
  if (!fresh.dynamicRange) fresh.dynamicRange = old.dynamicRange;
  return fresh;
}

// Whether an extent may take the place of another: equal, or one of them only known at run time.
bool compatible(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Extent& x, const Extent& y) { return x == y || !x.isConstant() || !y.isConstant(); });
}

// Nodes without a use, those whose only users they were, and so on; side effects stay.
std::vector<bool> findDead(const Graph& graph) {
  std::vector<uint32_t> uses(graph.valueCount(), 0);
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) ++uses[input];
  }
  for (const ValueId output : graph.outputs()) ++uses[output];
  std::vector<bool> dead(graph.nodeCount(), false);
  std::vector<NodeId> stack;
  const auto visit = [&](NodeId id) {
    const auto& node = graph.node(id);
    const bool used =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return uses[output] != 0; });
    if (used || dead[id] || node.op.facts().sideEffects) return;
    dead[id] = true;
    stack.push_back(id);
  };
  for (const NodeId root : graph.order()) {
    visit(root);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      for (const ValueId input : graph.node(id).inputs) {
        const NodeId producer = graph.value(input).producer;
        if (--uses[input] == 0 && producer != kNone) visit(producer);
      }
    }
  }
  return dead;
}

}  // namespace

// The output keeps its name for the user; the value takes it too where it has no name of the user's already.
void Graph::takeOutput(ValueId old, ValueId replacement) {
  values_[replacement].constraints = mergeConstraints(values_[old].constraints, values_[replacement].constraints);
  const bool named = values_[replacement].isInput || isOutput(replacement);
  std::replace(outputs_.begin(), outputs_.end(), old, replacement);
  if (!named) renameValue(replacement, std::string(values_[old].name));
}

void Graph::replaceOutput(ValueId old, ValueId replacement) {
  takeOutput(old, replacement);
  Patch(*this).commit();
}

ValueId Patch::addConstant(ConstantPtr constant, std::string_view name) {
  return graph_.addConstant(std::move(constant), name);
}

NodeId Patch::addNode(ops::Operator op, std::string_view name, std::vector<ValueId> inputs,
                      std::span<const NodeId> from) {
  const NodeId id = graph_.addNode(std::move(op), name, std::move(inputs), mergedOrigins(graph_, from));
  added_.push_back(id);
  return id;
}

ValueId Patch::add(ops::Operator op, std::string_view name, std::vector<ValueId> inputs, std::span<const NodeId> from) {
  return graph_.node(addNode(std::move(op), name, std::move(inputs), from)).outputs.at(0);
}

void Patch::replace(ValueId old, ValueId replacement) { replacements_.emplace_back(old, replacement); }

void Patch::replaceUse(Use use, ValueId replacement) { useReplacements_.emplace_back(use, replacement); }

void Patch::commit() {
  auto& g = graph_;
  for (const auto& [old, replacement] : replacements_) {
    const auto& a = g.value(old);
    const auto& b = g.value(replacement);
    if (a.type.dtype == b.type.dtype && compatible(a.type.shape, b.type.shape)) continue;
    std::erase_if(g.order_, [&](NodeId id) { return std::find(added_.begin(), added_.end(), id) != added_.end(); });
    throw InternalError("patch: '{}' of {} {} cannot replace '{}' of {} {}", b.name, tenon::name(b.type.dtype),
                        tenon::text(b.type.shape), a.name, tenon::name(a.type.dtype), tenon::text(a.type.shape));
  }
  const std::set<NodeId> added(added_.begin(), added_.end());
  // What takes a value's place in the end: replacements follow one another, the first of a value counts.
  std::unordered_map<ValueId, ValueId> last;
  for (auto r = replacements_.rbegin(); r != replacements_.rend(); ++r) {
    const auto next = last.find(r->second);
    last[r->first] = next != last.end() ? next->second : r->second;
  }
  for (const NodeId id : g.order_) {
    if (last.empty() || added.contains(id)) continue;  // a node of the patch reads `old` on the way to the replacement
    for (auto& input : g.nodes_[id].inputs) {
      if (const auto found = last.find(input); found != last.end()) input = found->second;
    }
  }
  for (const auto& [old, replacement] : replacements_) {
    if (g.isOutput(old)) {
      g.takeOutput(old, replacement);
    } else {
      g.values_[replacement].constraints =
          mergeConstraints(g.values_[old].constraints, g.values_[replacement].constraints);
    }
  }
  for (const auto& [use, replacement] : useReplacements_) {
    g.nodes_[use.node].inputs.at(static_cast<size_t>(use.input)) = replacement;
  }
  reorder();
  replacements_.clear();
  useReplacements_.clear();
  added_.clear();
}

// Dead nodes go; then a stable topological order: old nodes keep their relative places, new ones come as early as their
// users need them. What reads what it read before is in its place; only nodes of the patch and readers of its values
// are looked at.
void Patch::reorder() {
  auto& g = graph_;
  const auto dead = findDead(g);
  std::vector<bool> fresh(g.values_.size(), false);
  for (const auto& [old, replacement] : replacements_) fresh[replacement] = true;
  std::vector<bool> changed(g.nodes_.size(), false);
  for (const auto& [use, replacement] : useReplacements_) changed[use.node] = true;
  for (const NodeId id : added_) changed[id] = true;
  for (const NodeId id : g.order_) {
    const auto& inputs = g.nodes_[id].inputs;
    if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return fresh[input]; })) changed[id] = true;
  }
  std::vector<NodeId> order, path;
  order.reserve(g.order_.size());
  std::vector<uint8_t> state(g.nodes_.size(), 0);  // 0 new, 1 entered, 2 placed
  for (const NodeId root : g.order_) {
    if (dead[root] || state[root] == 2) continue;
    if (!changed[root]) {
      state[root] = 2;
      order.push_back(root);
      continue;
    }
    path.assign(1, root);
    while (!path.empty()) {
      const NodeId id = path.back();
      if (state[id] == 2) {
        path.pop_back();
        continue;
      }
      state[id] = 1;
      bool ready = true;
      for (const ValueId input : g.nodes_[id].inputs) {
        const NodeId producer = g.values_[input].producer;
        if (producer == kNone || state[producer] == 2) continue;
        checkInternal(state[producer] == 0, "patch: node '{}' would depend on itself", g.nodes_[id].name);
        path.push_back(producer);
        ready = false;
      }
      if (ready) {
        state[id] = 2;
        order.push_back(id);
        path.pop_back();
      }
    }
  }
  for (const NodeId id : g.order_) {
    if (!dead[id]) continue;
    for (const ValueId output : g.nodes_[id].outputs) g.names_.erase(g.values_[output].name);
  }
  g.order_ = std::move(order);
}

}  // namespace tenon::graph
