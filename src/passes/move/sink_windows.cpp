// p(resize{nearest}(x), c) => resize{nearest}(p(x, c)) where the resize makes more of x, and p(maximum of windows of x)
// => maximum of windows of p(x) where p never falls and x is a contraction's result: p becomes its epilogue. Both are
// exact.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/pointwise.h"
#include "ops/op/pooling.h"
#include "ops/op/resize.h"
#include "ops/scalar_facts.h"

namespace tenon::passes {
namespace {

// Whether the extents are known that the resize changes, and grow.
bool enlarges(const Shape& in, const Shape& out) {
  bool larger = false;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    if (in[axis] == out[axis]) continue;
    if (!in[axis].isConstant() || !out[axis].isConstant() || out[axis].constant() < in[axis].constant()) return false;
    larger = true;
  }
  return larger;
}

// Whether a constant says the same at all places of the axes that the resize changes.
bool isEven(const Dims& constant, const ops::Resize& resize, const Shape& in, const Shape& out) {
  const auto missing = static_cast<int>(out.size()) - constant.rank;
  for (int axis = 0; axis < constant.rank; ++axis) {
    const auto at = static_cast<size_t>(axis + missing);
    if (constant[axis] != 1 && (resize.isScaled(at) || !(in[at] == out[at]))) return false;
  }
  return missing >= 0;
}

bool behindResize(const Graph& graph, const graph::Node& node, ValueId moved, const ops::Resize& resize, ValueId x) {
  const Shape& in = graph.value(x).type.shape;
  const Shape& out = graph.value(moved).type.shape;
  return resize.mode == ops::ResizeMode::kNearest && enlarges(in, out) &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
           const auto& constant = graph.value(input).constant;
           return input == moved || (constant != nullptr && isEven(constant->dims(), resize, in, out));
         });
}

// One instruction that keeps the order of numbers.
bool neverFalls(const ScalarExpr& expr) {
  return expr.instructions.size() == 1 && expr.instructions[0].arguments[0] == ScalarArgument::input(0) &&
         ops::neverFalls(expr.instructions[0]);
}

// Every window has a cell of x: the padding is less than the window, whose cells stand side by side.
bool hasCells(const ops::Pooling& pooling) {
  const auto isLess = [&](const Shape& padding) {
    for (size_t axis = 0; axis < padding.size(); ++axis) {
      if (!padding[axis].isConstant() || padding[axis].constant() < 0 ||
          padding[axis].constant() >= pooling.window[axis])
        return false;
    }
    return true;
  };
  return !pooling.ceilMode && !pooling.isDilated() && isLess(pooling.prePadding) && isLess(pooling.postPadding);
}

bool behindMaximum(const Graph& graph, const graph::Node& node, const ops::Pooling& pooling, ValueId x) {
  const NodeId producer = graph.value(x).producer;
  return pooling.type == ops::PoolingType::kMax && hasCells(pooling) && node.inputs.size() == 1 &&
         neverFalls(node.op.as<ops::Pointwise>()->expr) && producer != graph::kNone &&
         graph.node(producer).op.facts().contraction && onlyUse(graph, x);
}

bool sink(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  if (node.op.as<ops::Pointwise>() == nullptr) return false;
  for (const ValueId moved : node.inputs) {
    const auto& value = graph.value(moved);
    const auto user = onlyUser(graph, moved);
    if (value.producer == graph::kNone || !user || value.type.dtype != graph.value(node.outputs[0]).type.dtype)
      continue;
    const auto window = graph.node(value.producer);
    const auto* resize = window.op.as<ops::Resize>();
    const auto* pooling = window.op.as<ops::Pooling>();
    const ValueId x = window.inputs.empty() ? moved : window.inputs[0];
    const bool mayGo = (resize != nullptr && behindResize(graph, node, moved, *resize, x)) ||
                       (pooling != nullptr && behindMaximum(graph, node, *pooling, x));
    if (!mayGo || window.device != node.device || value.type.shape != graph.value(node.outputs[0]).type.shape) continue;
    auto inputs = node.inputs;
    std::replace(inputs.begin(), inputs.end(), moved, x);
    const NodeId self[] = {id};
    const NodeId windowOnly[] = {value.producer};
    const auto op = node.op;
    const auto name = node.name;
    const ValueId output = node.outputs[0];
    graph::Patch patch(graph);
    const ValueId scalar = patch.add(op, name, std::move(inputs), self);
    patch.replace(output, patch.add(window.op, window.name, {scalar}, windowOnly));
    patch.commit();
    return true;
  }
  return false;
}

}  // namespace

int pass_sink_windows(Graph& graph, const Options&) {
  return editUntilDone(graph, [&](NodeId id) { return sink(graph, id); });
}

}  // namespace tenon::passes
