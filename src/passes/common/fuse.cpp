// Limits of fused expressions, and the edit that fuses.
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

constexpr size_t kMaxInputs = 8;    // operands that a generated kernel takes
constexpr size_t kMaxBuffers = 40;  // inputs, literals and results, of the 48 that a block of the CPU's kernel holds

}  // namespace

bool mayStandFor(const Graph& graph, ValueId input, ValueId output) {
  const auto& value = graph.value(input);
  if (graph.isOutput(output) && (value.isInput || value.constant != nullptr || graph.isOutput(input))) return false;
  return !graph.value(output).constraints.debug;
}

bool hasRoom(const ScalarExpr& expr, size_t inputs) {
  size_t buffers = inputs;
  for (const auto& instruction : expr.instructions) {
    ++buffers;
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      buffers += instruction.arguments[static_cast<size_t>(i)].kind == ScalarArgument::Kind::kLiteral ? 1 : 0;
    }
  }
  return inputs <= kMaxInputs && buffers <= kMaxBuffers;
}

bool replaceByFused(Graph& graph, const ops::Operator& fused, std::vector<ValueId> inputs, std::span<const NodeId> from,
                    NodeId last, const Options& options) {
  if (options.computes && !options.computes(fused, graph.inputTypes(inputs))) return false;
  const auto outputs = graph.node(last).outputs;
  graph::Patch patch(graph);
  const NodeId added = patch.addNode(fused, "", std::move(inputs), from);
  auto& node = graph.node(added);
  node.name = fmt::format("{}", fmt::join(node.origins, " + "));
  for (size_t i = 0; i < outputs.size(); ++i) patch.replace(outputs[i], graph.node(added).outputs[i]);
  patch.commit();
  return true;
}

}  // namespace tenon::passes
