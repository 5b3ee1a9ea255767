// dequantize(quantize(x, s, z), t, u)  =>  (clip(round(x / s) + z) - u) * t, as scalar work that joins its neighbours
// and epilogues: what a network trained for integers does behind each of its layers. A NaN stays one.
#include "passes/common/pass.h"

#include "ops/op/dequantize.h"
#include "ops/op/pointwise.h"
#include "ops/op/quantize.h"
#include "ops/op/reshape.h"
#include "passes/device.h"

namespace tenon::passes {
namespace {

struct Range {
  double low, high;
};

std::optional<Range> rangeOf(DataType type) {
  if (type == DataType::kI8) return Range{-128, 127};
  if (type == DataType::kU8) return Range{0, 255};
  if (type == DataType::kI4) return Range{-8, 7};
  return std::nullopt;
}

// A scale or zero point as f32 that broadcasts to a tensor of this rank; null where it is computed or goes by blocks.
ConstantPtr operandOf(const Graph& graph, ValueId value, int rank, int64_t axis) {
  const auto& constant = graph.value(value).constant;
  if (constant == nullptr || constant->count() == 0) return nullptr;
  if (constant->count() != 1 && constant->dims().rank != 1) return nullptr;
  const auto along = axis < 0 ? axis + rank : axis;
  ops::Reshape shape;
  for (int64_t i = 0; i < rank; ++i) shape.shape.emplace_back(i == along ? constant->count() : 1);
  auto result = Constant::recipe(std::move(shape), {constant});
  if (constant->dtype() != DataType::kF32)
    result = Constant::recipe(ops::Pointwise{ops::ScalarExpr::castTo(DataType::kF32)}, {result});
  return result;
}

// A node that reads quantized values brings them back.
bool simulate(Graph& graph, NodeId id, const Options& options) {
  const auto& back = graph.node(id);
  const auto* dequantize = back.op.as<ops::Dequantize>();
  const auto* quantize = dequantize == nullptr ? nullptr : producerOp<ops::Quantize>(graph, back.inputs[0]);
  if (quantize == nullptr) return false;
  const NodeId producer = graph.value(back.inputs[0]).producer;
  const auto& front = graph.node(producer);
  const auto range = rangeOf(quantize->type);
  // Where devices have products of 8-bit floats, these are found by their quantize nodes.
  const bool isFloat8 = quantize->type == DataType::kF8E4M3 && factsOf(options.device).kind == DeviceKind::kCpu;
  const ValueId x = front.inputs[0];
  const auto& type = graph.value(x).type;
  const auto rank = static_cast<int>(type.shape.size());
  if ((!range && !isFloat8) || front.device != back.device) return false;

  std::vector<ConstantPtr> operands;
  std::vector<ops::ScalarInstruction> steps;
  const auto here = [&] {
    return steps.empty() ? ScalarArgument::input(0) : ScalarArgument::result(static_cast<int>(steps.size()) - 1);
  };
  const auto apply = [&](ScalarOp op, ScalarArgument b = {}, ScalarArgument c = {}) {
    steps.push_back({op, {here(), b, c}, DataType::kF32});
  };
  const auto withOperand = [&](ScalarOp op, ValueId value, int64_t axis) {
    auto operand = operandOf(graph, value, rank, axis);
    if (operand == nullptr) return false;
    operands.push_back(std::move(operand));
    apply(op, ScalarArgument::input(static_cast<int>(operands.size())));
    return true;
  };
  const auto cast = [&](DataType to) {
    apply(ScalarOp::k_cast);
    steps.back().castTo = to;
  };
  if (type.dtype != DataType::kF32) cast(DataType::kF32);
  if (!withOperand(ScalarOp::k_div, front.inputs[1], quantize->axis)) return false;
  if (!isFloat8) apply(ScalarOp::k_round);
  if (front.inputs.size() > 2 && !withOperand(ScalarOp::k_add, front.inputs[2], quantize->axis)) return false;
  if (isFloat8) {
    cast(DataType::kF8E4M3);
    cast(DataType::kF32);
  } else {
    apply(ScalarOp::k_clip, ScalarArgument::constant(range->low), ScalarArgument::constant(range->high));
  }
  if (back.inputs.size() > 2 && !withOperand(ScalarOp::k_sub, back.inputs[2], dequantize->axis)) return false;
  if (!withOperand(ScalarOp::k_mul, back.inputs[1], dequantize->axis)) return false;
  if (dequantize->type != DataType::kF32) cast(dequantize->type);

  const NodeId from[] = {producer, id};
  const ValueId output = back.outputs[0];
  const auto name = back.name;
  graph::Patch patch(graph);
  std::vector<ValueId> inputs{x};
  for (auto& operand : operands) inputs.push_back(patch.addConstant(std::move(operand)));
  patch.replace(output, patch.add(ops::Pointwise{ops::ScalarExpr{std::move(steps)}}, name, std::move(inputs), from));
  patch.commit();
  return true;
}

}  // namespace

int pass_simulate_quantization(Graph& graph, const Options& options) {
  return editOnce(graph, [&](NodeId id) { return simulate(graph, id, options); });
}

}  // namespace tenon::passes
