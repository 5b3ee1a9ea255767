// recurrent(reshape(matmul(x, w) + b)) => recurrent{takesInput}(x, w, b) where it is one step of one row, on the CPU:
// such a step reads all weights once, which one kernel does in one order and half of the time from the nearer caches.
#include "passes/common/pass.h"

#include "ops/op/matmul.h"
#include "ops/op/recurrent.h"
#include "ops/op/reshape.h"

namespace tenon::passes {
namespace {

ConstantPtr reshaped(const ConstantPtr& constant, Shape shape) {
  ops::Reshape reshape;
  reshape.shape = std::move(shape);
  return Constant::recipe(std::move(reshape), {constant});
}

// Weights [D * G * H, I] and, where there is one, the bias [D * G * H] of a product whose result is one row.
struct Product {
  ValueId x = 0;
  ConstantPtr weights, bias;
};

std::optional<Product> productOf(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == graph::kNone || !onlyUse(graph, value)) return std::nullopt;
  const auto& node = graph.node(producer);
  const auto* op = node.op.as<ops::MatMul>();
  if (op == nullptr || op->transposeA || !op->transposeB) return std::nullopt;
  const Product result{node.inputs[0], graph.value(node.inputs[1]).constant,
                       node.inputs.size() > 2 ? graph.value(node.inputs[2]).constant : nullptr};
  if (result.weights == nullptr || result.weights->dims().rank != 2) return std::nullopt;
  if (op->epilogue.empty()) return result;
  const int64_t rows = result.weights->dims()[0];
  const bool isBias = op->epilogue == ops::parseScalarExpr("add(x0,x1)") && result.bias != nullptr &&
                      result.bias->dims().count() == rows && result.bias->dtype() == DataType::kF32;
  return isBias ? std::optional(result) : std::nullopt;
}

bool takeInput(Graph& graph, NodeId id) {
  const auto& node = graph.node(id);
  const auto* op = node.op.as<ops::Recurrent>();
  if (op == nullptr || op->takesInput || op->cell == ops::Cell::kGru) return false;
  const auto& products = graph.value(node.inputs[0]);
  const Shape& shape = products.type.shape;  // [S, B, D, G * H]
  if (products.type.dtype != DataType::kF32 || !shape[0].isConstant(1) || !shape[1].isConstant(1)) return false;
  const auto state = graph.value(node.inputs[1]).constant;
  if (state == nullptr || state->dims()[2] == 0 || products.producer == graph::kNone) return false;
  const auto& between = graph.node(products.producer);
  if (between.op.as<ops::Reshape>() == nullptr || !onlyUse(graph, node.inputs[0])) return false;
  const auto product = productOf(graph, between.inputs[0]);
  if (!product) return false;
  const Dims& dims = state->dims();
  const Extent width(product->weights->dims()[1]);
  if (width.isConstant(0)) return false;

  const NodeId from[] = {graph.value(between.inputs[0]).producer, products.producer, id};
  const auto name = node.name;
  const auto outputs = node.outputs;
  ops::Recurrent whole = *op;
  whole.takesInput = true;
  whole.hasInputBias = product->bias != nullptr;
  auto inputs = node.inputs;
  graph::Patch patch(graph);
  ops::Reshape row;
  row.shape = {Extent(1), Extent(1), width};
  inputs[0] = patch.add(std::move(row), name + "_input", {product->x}, from);
  inputs.push_back(patch.addConstant(reshaped(product->weights, {Extent(dims[0]), Extent(dims[1]), width})));
  if (product->bias != nullptr)
    inputs.push_back(patch.addConstant(reshaped(product->bias, {Extent(dims[0]), Extent(dims[1])})));
  const NodeId made = patch.addNode(std::move(whole), name, std::move(inputs), from);
  for (size_t i = 0; i < outputs.size(); ++i) patch.replace(outputs[i], graph.node(made).outputs[i]);
  patch.commit();
  return true;
}

}  // namespace

int pass_take_input(Graph& graph, const Options& options) {
  if (options.refittable) return 0;
  return editOnce(graph, [&](NodeId id) { return takeInput(graph, id); });
}

}  // namespace tenon::passes
