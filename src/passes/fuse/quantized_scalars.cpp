// quantize(f(dequantize(x), dequantize(y))) => one expression of bytes, for scalar work and averages f: kernels of
// bytes compute the former, and the steps join the latter.
#include "passes/common/pass.h"

#include "ops/op/dequantize.h"
#include "ops/op/pointwise.h"
#include "ops/op/quantize.h"
#include "ops/op/reduce.h"
#include "ops/op/reshape.h"

namespace tenon::passes {
namespace {

bool isByte(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }

// One number of f32; null where it is computed or there are several.
ConstantPtr numberOf(const Graph& graph, ValueId value) {
  const auto& constant = graph.value(value).constant;
  if (constant == nullptr || constant->count() != 1) return nullptr;
  auto number = Constant::recipe(ops::Reshape{{}}, {constant});
  if (number->dtype() == DataType::kF32) return number;
  return Constant::recipe(ops::Pointwise{ops::ScalarExpr::castTo(DataType::kF32)}, {number});
}

struct Numbers {
  ConstantPtr scale, zero;
  explicit operator bool() const { return scale != nullptr && zero != nullptr; }
};

Numbers numbersOf(const Graph& graph, const graph::Node& node) {
  return {numberOf(graph, node.inputs[1]),
          node.inputs.size() > 2 ? numberOf(graph, node.inputs[2]) : Constant::scalar(DataType::kF32, 0)};
}

// Of a dequantize node of bytes to f32.
Numbers operandOf(const Graph& graph, ValueId value) {
  const auto* const dequantize = producerOp<ops::Dequantize>(graph, value);
  if (dequantize == nullptr || dequantize->type != DataType::kF32) return {};
  const auto& node = graph.node(graph.value(value).producer);
  return isByte(graph.value(node.inputs[0]).type.dtype) ? numbersOf(graph, node) : Numbers{};
}

bool isBetween(const graph::Node& node) {
  if (node.op.as<ops::Pointwise>() != nullptr) return true;
  const auto* const reduce = node.op.as<ops::Reduce>();
  return reduce != nullptr && reduce->op == ops::ReduceOp::kAvg;
}

bool rewrite(Graph& graph, NodeId id) {
  const auto& last = graph.node(id);
  const auto* const quantize = last.op.as<ops::Quantize>();
  if (quantize == nullptr || !isByte(quantize->type)) return false;
  const NodeId middle = graph.value(last.inputs[0]).producer;
  if (middle == graph::kNone || !isBetween(graph.node(middle)) || !onlyUse(graph, last.inputs[0])) return false;
  const Numbers result = numbersOf(graph, last);
  if (!result || graph.value(last.inputs[0]).type.dtype != DataType::kF32) return false;
  const auto node = graph.node(middle);
  for (const ValueId input : node.inputs) {
    if (!operandOf(graph, input)) return false;
  }

  const NodeId from[] = {middle, id};
  const ValueId output = last.outputs[0];
  const auto name = last.name;
  const bool isSigned = quantize->type == DataType::kI8;
  graph::Patch patch(graph);
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    const Numbers numbers = operandOf(graph, input);
    const NodeId front[] = {graph.value(input).producer};
    inputs.push_back(patch.add(
        ops::Pointwise{ops::parseScalarExpr("cast.f32(x0);sub(t0,x1);mul(t1,x2)")}, graph.node(front[0]).name,
        {graph.node(front[0]).inputs[0], patch.addConstant(numbers.zero), patch.addConstant(numbers.scale)}, front));
  }
  const ValueId real = patch.add(node.op, node.name, std::move(inputs), std::span(from, 1));
  const std::string steps = std::string("div(x0,x1);round(t0);add(t1,x2);") +
                            (isSigned ? "max(t2,-128);min(t3,127);cast.i8(t4)" : "max(t2,0);min(t3,255);cast.u8(t4)");
  patch.replace(output, patch.add(ops::Pointwise{ops::parseScalarExpr(steps)}, name,
                                  {real, patch.addConstant(result.scale), patch.addConstant(result.zero)}, from));
  patch.commit();
  return true;
}

}  // namespace

int pass_quantized_scalars(Graph& graph, const Options&) {
  return editOnce(graph, [&](NodeId id) { return rewrite(graph, id); });
}

}  // namespace tenon::passes
