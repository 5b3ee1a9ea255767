// y = p(x, ...), z = q(y, ...) where y is read elsewhere too, and y = p(x, ...), z = q(x, ...) => (y, z) = {p, q}(x,
// ...): a tensor is read once less, and a step less is waited for.
#include "passes/common/pass.h"

#include <algorithm>
#include <unordered_set>

#include "ops/op/multi_pointwise.h"
#include "ops/op/pointwise.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

constexpr size_t kMaxOutputs = 4;
constexpr std::ptrdiff_t kMaxTried = 32;  // readers of one tensor beside a node: all pairs of thousands would be many

// The expression of a pointwise node of either kind, and which instructions are its outputs.
std::optional<ops::MultiPointwise> scalarWork(const graph::Node& node) {
  if (const auto* several = node.op.as<ops::MultiPointwise>()) return *several;
  const auto* one = node.op.as<ops::Pointwise>();
  if (one == nullptr) return std::nullopt;
  const auto expr = one->expr.empty() ? ops::ScalarExpr::of(ops::ScalarOp::k_identity) : one->expr;
  return ops::MultiPointwise{expr, {static_cast<int64_t>(expr.instructions.size()) - 1}};
}

// Instructions of two nodes over one list of inputs; equal ones are computed once.
struct Joined {
  ops::ScalarExpr expr;
  std::vector<ValueId> inputs;

  ScalarArgument inputOf(ValueId id) {
    const auto at = std::find(inputs.begin(), inputs.end(), id) - inputs.begin();
    if (at == static_cast<std::ptrdiff_t>(inputs.size())) inputs.push_back(id);
    return ScalarArgument::input(static_cast<int>(at));
  }
  int64_t place(const ScalarInstruction& instruction) {
    auto& all = expr.instructions;
    const auto found = std::find(all.begin(), all.end(), instruction);
    if (found != all.end()) return found - all.begin();
    all.push_back(instruction);
    return static_cast<int64_t>(all.size()) - 1;
  }
  // Appends a node's instructions with `operands` in place of its inputs; where its results stand then.
  std::vector<int64_t> append(const ops::MultiPointwise& work, const std::vector<ScalarArgument>& operands) {
    std::vector<int64_t> at;
    for (auto instruction : work.expr.instructions) {
      for (int i = 0; i < row(instruction.op).arity; ++i) {
        auto& argument = instruction.arguments[static_cast<size_t>(i)];
        const auto index = static_cast<size_t>(argument.index);
        if (argument.kind == ScalarArgument::Kind::kInput) {
          argument = operands[index];
        } else if (argument.kind == ScalarArgument::Kind::kResult) {
          argument.index = static_cast<int>(at[index]);
        }
      }
      at.push_back(place(instruction));
    }
    std::vector<int64_t> results;
    for (const int64_t result : work.results) results.push_back(at[static_cast<size_t>(result)]);
    return results;
  }
};

// Whether a node can be reached from another one by a way that is not a single step. Only what stands between them can
// be on such a way.
bool isReachedAround(const Graph& graph, NodeId from, NodeId to) {
  if (graph.isBefore(to, from)) return false;
  std::unordered_set<NodeId> seen;
  std::vector<NodeId> stack{from};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    for (const ValueId output : graph.node(id).outputs) {
      for (const auto& use : graph.uses(output)) {
        if (use.node == to && id != from) return true;
        if (use.node == to || !graph.isBefore(use.node, to)) break;  // uses are in order
        if (seen.insert(use.node).second) stack.push_back(use.node);
      }
    }
  }
  return false;
}

bool reads(const graph::Node& node, ValueId value) {
  return std::find(node.inputs.begin(), node.inputs.end(), value) != node.inputs.end();
}

// Whether a tensor as large as the outputs is read once less by both together.
bool sharesTensor(const Graph& graph, const graph::Node& first, const graph::Node& second) {
  const Shape& shape = graph.value(first.outputs[0]).type.shape;
  const auto isWhole = [&](ValueId id) { return graph.value(id).type.shape == shape && reads(second, id); };
  return std::any_of(first.outputs.begin(), first.outputs.end(), isWhole) ||
         std::any_of(first.inputs.begin(), first.inputs.end(), isWhole);
}

// Outputs may be what they like; what the user demands something of stays alone, and shapes are computed on the host.
bool isFree(const Graph& graph, const graph::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    const auto& value = graph.value(id);
    return value.constraints == graph::Constraints{} && !value.type.contents;
  });
}

// Where dead code stays (TENON_DISABLE=dead_code), a dead node would be joined again and again.
bool isDead(const Graph& graph, const graph::Node& node) {
  return std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId id) { return !graph.uses(id).empty() || graph.isOutput(id); });
}

bool fuse(Graph& graph, NodeId id, NodeId next, const Options& options) {
  const auto& a = graph.node(id);
  const auto& b = graph.node(next);
  if (isDead(graph, a) || isDead(graph, b)) return false;
  const auto first = scalarWork(a);
  const auto second = scalarWork(b);
  if (!first || !second || id == next || a.device != b.device || !isFree(graph, a) || !isFree(graph, b)) return false;
  if (graph.value(a.outputs[0]).type.shape != graph.value(b.outputs[0]).type.shape || !sharesTensor(graph, a, b))
    return false;
  if (std::any_of(b.outputs.begin(), b.outputs.end(), [&](ValueId value) { return reads(a, value); })) return false;
  if (isReachedAround(graph, id, next) || isReachedAround(graph, next, id)) return false;
  Joined joined;
  std::vector<ScalarArgument> operands;
  for (const ValueId input : a.inputs) operands.push_back(joined.inputOf(input));
  const auto firstResults = joined.append(*first, operands);
  operands.clear();
  for (const ValueId input : b.inputs) {
    const auto computed = static_cast<size_t>(std::find(a.outputs.begin(), a.outputs.end(), input) - a.outputs.begin());
    const bool isResult = computed < a.outputs.size();
    operands.push_back(isResult ? ScalarArgument::result(static_cast<int>(firstResults[computed]))
                                : joined.inputOf(input));
  }
  const auto secondResults = joined.append(*second, operands);
  ops::MultiPointwise merged{joined.expr, {}};
  std::vector<ValueId> replaced;
  const auto keep = [&](ValueId output, int64_t result) {
    if (graph.uses(output).empty() && !graph.isOutput(output)) return true;
    if (std::find(merged.results.begin(), merged.results.end(), result) != merged.results.end()) return false;
    merged.results.push_back(result);
    replaced.push_back(output);
    return true;
  };
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const auto& readers = graph.uses(a.outputs[i]);
    const bool onlyNext = !readers.empty() && std::all_of(readers.begin(), readers.end(),
                                                          [&](const graph::Use& use) { return use.node == next; });
    if (onlyNext && !graph.isOutput(a.outputs[i])) continue;
    if (!keep(a.outputs[i], firstResults[i])) return false;
  }
  for (size_t i = 0; i < b.outputs.size(); ++i) {
    if (!keep(b.outputs[i], secondResults[i])) return false;
  }
  if (replaced.size() < 2 || replaced.size() > kMaxOutputs || !hasRoom(joined.expr, joined.inputs.size())) return false;
  const auto types = graph.inputTypes(joined.inputs);
  if (options.computes && !options.computes(merged, types)) return false;
  const NodeId from[] = {id, next};
  graph::Patch patch(graph);
  const NodeId fused = patch.addNode(std::move(merged), "", joined.inputs, from);
  auto& node = graph.node(fused);
  node.name = fmt::format("fusedPointwiseNode({})", fmt::join(node.origins, ", "));
  for (size_t i = 0; i < replaced.size(); ++i) patch.replace(replaced[i], node.outputs[i]);
  patch.commit();
  return true;
}

// The first readers of a value behind a node; a pair of readers is looked at from the earlier one.
std::span<const graph::Use> readersBehind(const Graph& graph, ValueId value, NodeId id) {
  const auto& uses = graph.uses(value);
  const auto first = std::upper_bound(
      uses.begin(), uses.end(), id, [&](NodeId node, const graph::Use& use) { return graph.isBefore(node, use.node); });
  return {first, first + std::min(kMaxTried, uses.end() - first)};
}

bool isScalarWork(const graph::Node& node) {
  return node.op.as<ops::Pointwise>() != nullptr || node.op.as<ops::MultiPointwise>() != nullptr;
}

}  // namespace

int pass_fuse_outputs(Graph& graph, const Options& options) {
  return editUntilDone(graph, [&](NodeId id) {
    const auto& node = graph.node(id);
    if (!isScalarWork(node)) return false;
    // What reads a result first: then a tensor is neither read nor waited for. Then what reads the same tensor.
    for (const auto* values : {&node.outputs, &node.inputs}) {
      for (const ValueId value : *values) {
        if (graph.value(value).type.shape != graph.value(node.outputs[0]).type.shape) continue;
        for (const auto& use : readersBehind(graph, value, id)) {
          if (fuse(graph, id, use.node, options)) return true;
        }
      }
    }
    return false;
  });
}

}  // namespace tenon::passes
