// A deconvolution of one place for each image, without padding => a product of rows, whose columns are the channels of
// all taps. Generators begin so; engines for deconvolutions take longer for it, whatever they are given.
#include "passes/common/pass.h"

#include <algorithm>

#include "ops/op/deconvolution.h"
#include "ops/op/matmul.h"
#include "ops/op/pointwise.h"
#include "ops/op/reshape.h"
#include "ops/op/transpose.h"

namespace tenon::passes {
namespace {

bool isOfPlaces(const Graph& graph, const graph::Node& node) {
  const auto* op = node.op.as<ops::Deconvolution>();
  if (op == nullptr || op->groups != 1 || !op->epilogue.empty()) return false;
  const auto& weights = graph.value(node.inputs[1]);
  if (weights.constant == nullptr || !isFloating(weights.type.dtype)) return false;
  const Shape& x = graph.value(node.inputs[0]).type.shape;
  const auto zero = [](const Extent& e) { return e.isConstant(0); };
  return x.size() >= 3 && std::all_of(x.begin() + 2, x.end(), [](const Extent& e) { return e.isConstant(1); }) &&
         std::all_of(op->dilations.begin(), op->dilations.end(), [](int64_t dilation) { return dilation == 1; }) &&
         std::all_of(op->prePadding.begin(), op->prePadding.end(), zero) &&
         std::all_of(op->postPadding.begin(), op->postPadding.end(), zero);
}

bool toProduct(Graph& graph, NodeId id) {
  const auto node = graph.node(id);
  if (!isOfPlaces(graph, node)) return false;
  const auto weights = graph.value(node.inputs[1]).constant;
  const Dims& w = weights->dims();
  const Shape x = graph.value(node.inputs[0]).type.shape;
  const std::string weightsName = graph.value(node.inputs[1]).name;
  // Channels behind the taps, as in images whose channels are last.
  std::vector<int64_t> behind{0}, inFront{0, w.rank - 1};
  Shape pixels{x[0]};
  for (int axis = 2; axis < w.rank; ++axis) {
    behind.push_back(axis);
    inFront.push_back(axis - 1);
    pixels.emplace_back(w[axis]);
  }
  behind.push_back(1);
  pixels.emplace_back(w[1]);
  const auto ordered = graph::Constant::recipe(ops::Transpose{behind}, {weights});
  const auto columns = graph::Constant::recipe(ops::Reshape{{w[0], w.count(1, w.rank)}}, {ordered});
  const NodeId self[] = {id};
  graph::Patch patch(graph);
  const auto add = [&](ops::Operator op, const char* part, std::vector<ValueId> inputs) {
    return patch.add(std::move(op), node.name + part, std::move(inputs), self);
  };
  const ValueId rows = add(ops::Reshape{{x[0], x[1]}}, " (rows)", {node.inputs[0]});
  ValueId result = add(ops::MatMul{}, "", {rows, patch.addConstant(columns, weightsName + " as columns")});
  result = add(ops::Reshape{pixels}, " (pixels)", {result});
  result = add(ops::Transpose{inFront}, " (picture)", {result});
  if (node.op.as<ops::Deconvolution>()->hasBias) {
    Shape along{Extent(w[1])};
    along.resize(static_cast<size_t>(w.rank - 1), 1);
    const ValueId bias = add(ops::Reshape{along}, " (bias of channels)", {node.inputs[2]});
    const auto sum = ScalarExpr::of(ScalarOp::k_add, {ScalarArgument::input(0), ScalarArgument::input(1)});
    result = add(ops::Pointwise{sum}, " (bias)", {result, bias});
  }
  patch.replace(node.outputs[0], result);
  patch.commit();
  return true;
}

}  // namespace

int pass_place_to_matmul(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return toProduct(graph, id); });
}

}  // namespace tenon::passes
