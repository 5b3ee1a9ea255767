// Pointwise nodes join the contraction that computes their operand.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "passes/common/fuse.h"

namespace tenon::passes {
namespace {

// A product of halves whose sums become f32, by a device that does not round them in between.
bool keepsSums(const Graph& graph, NodeId id, const ops::Pointwise& consumer, const Options& options) {
  const auto& node = graph.node(id);
  const auto* product = node.op.as<ops::MatMul>();
  if (product == nullptr || !product->epilogue.empty() || consumer.expr != ops::ScalarExpr::castTo(DataType::kF32))
    return false;
  auto merged = *product;
  merged.epilogue = consumer.expr;
  return factsOf(options.device).keepsSumsOfHalves && options.computes &&
         options.computes(merged, graph.inputTypes(node.inputs));
}

// Other types than that of the result, as of the mask of a choice or of a cast there and back, may leave no kernel but
// the reference.
bool isLost(const Graph& graph, const ops::Operator& merged, const ops::ScalarExpr& epilogue,
            const std::vector<ValueId>& inputs, size_t ownInputs, DataType type, const Options& options) {
  const auto differs = [&](ValueId input) { return graph.value(input).type.dtype != type; };
  const auto casts = [](const auto& instruction) { return instruction.op == ops::ScalarOp::k_cast; };
  const bool isMixed = std::any_of(inputs.begin() + static_cast<std::ptrdiff_t>(ownInputs), inputs.end(), differs) ||
                       std::any_of(epilogue.instructions.begin(), epilogue.instructions.end(), casts);
  return isMixed && options.computes && !options.computes(merged, graph.inputTypes(inputs));
}

// The contraction's own inputs come first; those of the epilogue follow.
template <typename Op>
bool fuseInto(Graph& graph, NodeId id, const graph::Use& use, size_t ownInputs, const Options& options) {
  const auto& node = graph.node(id);
  const auto* op = node.op.template as<Op>();
  const auto& consumer = graph.node(use.node);
  const auto* pointwise = consumer.op.template as<ops::Pointwise>();
  if (op == nullptr || pointwise == nullptr || node.device != consumer.device) return false;
  const ValueId joined = node.outputs[0];
  const auto& type = graph.value(joined).type;
  const auto& out = graph.value(consumer.outputs[0]).type;
  if (type.shape != out.shape || !isFloating(type.dtype)) return false;
  if (type.dtype != out.dtype && !keepsSums(graph, id, *pointwise, options)) return false;
  // Inputs of the whole: x0 is the contraction's result, which `joined` stands for here.
  std::vector<ValueId> inner{joined};
  inner.insert(inner.end(), node.inputs.begin() + static_cast<std::ptrdiff_t>(ownInputs), node.inputs.end());
  std::vector<ValueId> all = inner;
  std::vector<int> outerMap;
  for (const ValueId input : consumer.inputs) {
    auto found = std::find(all.begin() + 1, all.end(), input);
    if (input == joined) {
      outerMap.push_back(255);
    } else if (found != all.end()) {
      outerMap.push_back(static_cast<int>(found - all.begin()));
    } else {
      outerMap.push_back(static_cast<int>(all.size()));
      all.push_back(input);
    }
  }
  const auto before = op->epilogue.empty() ? ops::ScalarExpr::of(ops::ScalarOp::k_identity) : op->epilogue;
  auto expr = op->epilogue.empty() ? pointwise->expr.withInputs(outerMap)
                                   : pointwise->expr.withInputs(outerMap).compose(255, before);
  if (op->epilogue.empty()) {
    for (auto& instruction : expr.instructions) {
      for (auto& argument : instruction.arguments) {
        if (argument.kind == ops::ScalarArgument::Kind::kInput && argument.index == 255) argument.index = 0;
      }
    }
  }
  if (!hasRoom(expr, all.size())) return false;
  Op merged = *op;
  merged.epilogue = std::move(expr);
  std::vector<ValueId> inputs(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(ownInputs));
  inputs.insert(inputs.end(), all.begin() + 1, all.end());
  if (isLost(graph, merged, merged.epilogue, inputs, ownInputs, type.dtype, options)) return false;
  const NodeId from[] = {id, use.node};
  const auto output = consumer.outputs[0];
  graph::Patch patch(graph);
  const ValueId fused = patch.add(std::move(merged), "", std::move(inputs), from);
  auto& fusedNode = graph.node(graph.value(fused).producer);
  fusedNode.name = fmt::format("{}", fmt::join(fusedNode.origins, " + "));
  patch.replace(output, fused);
  patch.commit();
  return true;
}

bool fuseOne(Graph& graph, NodeId id, const graph::Use& use, const Options& options) {
  const auto& op = graph.node(id).op;
  if (const auto* convolution = op.as<ops::Convolution>()) {
    return fuseInto<ops::Convolution>(graph, id, use, convolution->hasBias ? 3 : 2, options);
  }
  if (const auto* deconvolution = op.as<ops::Deconvolution>()) {
    return fuseInto<ops::Deconvolution>(graph, id, use, deconvolution->hasBias ? 3 : 2, options);
  }
  return fuseInto<ops::MatMul>(graph, id, use, 2, options);
}

}  // namespace

int pass_fuse_epilogue(Graph& graph, const Options& options) {
  return mergePairs(
      graph, [](const ops::Operator& op) { return op.facts().contraction; },
      [&](NodeId id, const graph::Use& use) { return fuseOne(graph, id, use, options); });
}

}  // namespace tenon::passes
