// Edits of a graph, checked before they are applied; what an edit costs depends on what it touches.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "graph/graph.h"

namespace tenon::graph {
namespace {

std::vector<std::string> mergedOrigins(const Graph& graph, std::span<const NodeId> from) {
  std::vector<std::string> origins;
  std::unordered_set<std::string_view> known;
  for (const NodeId id : from) {
    for (const auto& origin : graph.node(id).origins) {
      if (known.insert(origin).second) origins.push_back(origin);
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

}  // namespace

// The output keeps its name for the user; the value takes it too where it has no name of the user's already.
void Graph::takeOutput(ValueId old, ValueId replacement) {
  values_[replacement].constraints = mergeConstraints(values_[old].constraints, values_[replacement].constraints);
  const bool named = values_[replacement].isInput || isOutput(replacement);
  std::replace(outputs_.begin(), outputs_.end(), old, replacement);
  isOutput_[old] = false;
  isOutput_[replacement] = true;
  if (!named) renameValue(replacement, std::string(values_[old].name));
}

void Graph::replaceOutput(ValueId old, ValueId replacement) {
  takeOutput(old, replacement);
  removeUnused({values_[old].producer});
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

void Patch::discard() {
  graph_.removeUnused(added_);
  replacements_.clear();
  useReplacements_.clear();
  added_.clear();
}

void Patch::checkReplacements() {
  for (const auto& [old, replacement] : replacements_) {
    const auto& a = graph_.value(old);
    const auto& b = graph_.value(replacement);
    if (a.type.dtype == b.type.dtype && compatible(a.type.shape, b.type.shape)) continue;
    discard();
    throw InternalError("patch: '{}' of {} {} cannot replace '{}' of {} {}", b.name, tenon::name(b.type.dtype),
                        tenon::text(b.type.shape), a.name, tenon::name(a.type.dtype), tenon::text(a.type.shape));
  }
}

// Which inputs of nodes become what. Replacements follow one another, the first of a value counts. A node of the patch
// reads `old` on the way to the replacement.
std::vector<std::pair<Use, ValueId>> Patch::redirections() const {
  std::unordered_map<ValueId, ValueId> last;
  for (auto r = replacements_.rbegin(); r != replacements_.rend(); ++r) {
    const auto next = last.find(r->second);
    last[r->first] = next != last.end() ? next->second : r->second;
  }
  const std::unordered_set<NodeId> added(added_.begin(), added_.end());
  std::vector<std::pair<Use, ValueId>> result;
  for (const auto& [old, replacement] : last) {
    for (const auto& use : graph_.uses(old)) {
      if (!added.contains(use.node)) result.emplace_back(use, replacement);
    }
  }
  return result;
}

void Patch::moveOutputs() {
  for (const auto& [old, replacement] : replacements_) {
    if (graph_.isOutput(old)) {
      graph_.takeOutput(old, replacement);
    } else {
      auto& value = graph_.values_[replacement];
      value.constraints = mergeConstraints(graph_.values_[old].constraints, value.constraints);
      // What is new takes the name too: it is the tensor that had it.
      const bool isNew = std::find(added_.begin(), added_.end(), value.producer) != added_.end();
      if (isNew && !graph_.isOutput(replacement))
        graph_.renameValue(replacement, std::string(graph_.values_[old].name));
    }
  }
}

void Patch::commit() {
  checkReplacements();
  std::vector<Use> changed;                 // inputs that are something else than before
  std::vector<NodeId> candidates = added_;  // to be removed, where nobody uses them
  for (const NodeId id : added_) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) changed.push_back({id, static_cast<int>(i)});
  }
  const auto redirect = [&](const Use& use, ValueId value) {
    changed.push_back(use);
    candidates.push_back(graph_.value(graph_.node(use.node).inputs.at(static_cast<size_t>(use.input))).producer);
    graph_.setInput(use, value);
  };
  const auto redirected = redirections();  // from the back: what is taken from the end of a list moves nothing else
  for (auto r = redirected.rbegin(); r != redirected.rend(); ++r) redirect(r->first, r->second);
  moveOutputs();
  for (const auto& [use, replacement] : useReplacements_) redirect(use, replacement);
  for (const auto& [old, replacement] : replacements_) candidates.push_back(graph_.value(old).producer);
  graph_.removeUnused(std::move(candidates));
  std::erase_if(changed, [&](const Use& use) { return !graph_.contains(use.node); });
  std::sort(changed.begin(), changed.end(), [&](const Use& a, const Use& b) {
    return a.node == b.node ? a.input < b.input : graph_.isBefore(a.node, b.node);
  });
  for (auto first = changed.begin(); first != changed.end();) {
    const auto last = std::find_if(first, changed.end(), [&](const Use& use) { return use.node != first->node; });
    placeInputs(first->node, {first, last});
    first = last;
  }
  replacements_.clear();
  useReplacements_.clear();
  added_.clear();
}

// What a node reads by these inputs, and what that reads, moves to the place in front of the node unless it stands
// before it: old nodes keep their relative places, new ones come as early as their users need them.
void Patch::placeInputs(NodeId root, std::span<const Use> inputs) {
  std::vector<NodeId> path;
  std::unordered_set<NodeId> entered{root};
  const auto open = [&](NodeId reader, ValueId input) {
    const NodeId producer = graph_.value(input).producer;
    if (producer == kNone) return;
    checkInternal(graph_.contains(producer), "patch: node '{}' would read '{}', whose node is removed",
                  graph_.node(reader).name, graph_.value(input).name);
    if (graph_.isBefore(producer, root)) return;
    checkInternal(!entered.contains(producer), "patch: node '{}' would depend on itself", graph_.node(reader).name);
    path.push_back(producer);
  };
  for (const auto& use : inputs) open(root, graph_.node(root).inputs[static_cast<size_t>(use.input)]);
  while (!path.empty()) {
    const NodeId id = path.back();
    const size_t depth = path.size();
    if (!graph_.isBefore(id, root)) {
      entered.insert(id);
      for (const ValueId input : graph_.node(id).inputs) open(id, input);
      if (path.size() != depth) continue;
      graph_.moveBefore(root, id);
    }
    path.pop_back();
  }
}

}  // namespace tenon::graph
