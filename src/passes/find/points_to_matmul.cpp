// A convolution of single pixels that were rows, or become rows => a product of rows, each filter a column. Networks of
// sound and text change between rows and channels around such convolutions; a product needs no such change.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/convolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"
#include "passes/common/pixel_rows.h"

namespace tenon::passes {
namespace {

bool isOfPoints(const Graph& graph, const graph::Node& node) {
  const auto* op = node.op.as<ops::Convolution>();
  if (op == nullptr || op->groups != 1 || !op->epilogue.empty()) return false;
  const auto& weights = graph.value(node.inputs[1]);
  if (weights.constant == nullptr || !isFloating(weights.type.dtype)) return false;
  const Dims& w = weights.constant->dims();
  const auto zero = [](const Extent& e) { return e.isConstant(0); };
  return w.rank >= 4 && w.count(2, w.rank) == 1 &&
         std::all_of(op->strides.begin(), op->strides.end(), [](int64_t stride) { return stride == 1; }) &&
         std::all_of(op->prePadding.begin(), op->prePadding.end(), zero) &&
         std::all_of(op->postPadding.begin(), op->postPadding.end(), zero);
}

// `rows`: the pixels of the picture, if they were rows.
void replace(Graph& graph, NodeId id, std::optional<ValueId> rows) {
  const auto node = graph.node(id);
  const bool hasBias = node.op.as<ops::Convolution>()->hasBias;
  const auto weights = graph.value(node.inputs[1]).constant;
  const Extent columns(weights->dims()[0]);
  const Extent inner(weights->dims()[1]);
  const Shape x = graph.value(node.inputs[0]).type.shape;
  const Shape y = graph.value(node.outputs[0]).type.shape;
  const std::string weightsName = graph.value(node.inputs[1]).name;
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const auto add = [&](ops::Operator op, const char* part, std::vector<ValueId> inputs) {
    return patch.add(std::move(op), node.name + part, std::move(inputs), self);
  };
  Extent pixels = 1;
  for (size_t axis = 2; axis < x.size(); ++axis) pixels = pixels * x[axis];
  if (!rows) {
    const ValueId flat = add(ops::Reshape{{x[0], x[1], pixels}}, " (pixels)", {node.inputs[0]});
    rows = add(ops::Transpose{{0, 2, 1}}, " (rows)", {flat});
  }
  const ValueId filters =
      patch.addConstant(graph::Constant::recipe(ops::Reshape{{columns, inner}}, {weights}), weightsName + " as rows");
  ops::MatMul product;
  product.transposeB = true;
  ValueId result = add(product, "", {*rows, filters});
  if (hasBias) {
    const auto sum =
        ops::ScalarExpr::of(ops::ScalarOp::k_add, {ops::ScalarArgument::input(0), ops::ScalarArgument::input(1)});
    result = add(ops::Pointwise{sum}, " (bias)", {result, node.inputs[2]});
  }
  result = add(ops::Transpose{{0, 2, 1}}, " (channels)", {result});
  patch.replace(node.outputs[0], add(ops::Reshape{y}, " (picture)", {result}));
  patch.commit();
}

}  // namespace

int pass_points_to_matmul(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) {
    const auto& node = graph.node(id);
    if (!isOfPoints(graph, node)) return false;
    const auto rows = pixelRowsOf(graph, node.inputs[0]);
    if (!rows && !becomesRows(graph, node.outputs[0])) return false;
    replace(graph, id, rows);
    return true;
  });
}

}  // namespace tenon::passes
