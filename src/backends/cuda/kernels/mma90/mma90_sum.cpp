// Which composites are sums of two convolutions, and their operands.
#include "backends/cuda/kernels/mma90/mma90_sum.h"

#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

using Argument = ops::ScalarArgument;

// Whether the expression adds inputs to x0, `residual` among them, and then reads neither but by the last of these
// sums.
bool addsFirst(const ops::ScalarExpr& expr, int residual) {
  auto sum = Argument::input(0);
  const auto& all = expr.instructions;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto& [a, b, c] = all[i].arguments;
    if (all[i].op != ops::ScalarOp::k_add || (a == sum) == (b == sum)) return false;
    const auto& added = a == sum ? b : a;
    if (added.kind != Argument::Kind::kInput) return false;
    sum = Argument::result(static_cast<int>(i));
    if (added.index != residual) continue;
    for (size_t k = i + 1; k < all.size(); ++k) {
      for (int j = 0; j < ops::row(all[k].op).arity; ++j) {
        const auto& argument = all[k].arguments[static_cast<size_t>(j)];
        const bool isEarly = argument.kind == Argument::Kind::kResult && argument.index < sum.index;
        if (argument == Argument::input(0) || argument == Argument::input(residual) || isEarly) return false;
      }
    }
    return true;
  }
  return false;
}

}  // namespace

Mma90Sum::Mma90Sum(const ops::Operator& op) {
  refusal = "it computes composites of two convolutions that are added";
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.size() != 2 || composite->outputs != std::vector<int32_t>{1}) return;
  const auto& [firstOp, firstInputs] = composite->parts[0];
  const auto& [secondOp, inputs] = composite->parts[1];
  const auto* first = firstOp.as<ops::Convolution>();
  const auto* second = secondOp.as<ops::Convolution>();
  if (first == nullptr || second == nullptr || firstInputs != std::vector<int32_t>{0, 1, 2} || inputs.size() < 3)
    return;
  int32_t next = static_cast<int32_t>(kMainX);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == next) ++next;
    else if (inputs[i] == -1 && i >= (second->hasBias ? 3u : 2u) && residual == 0) residual = i;
    else return;
  }
  main = *second;
  other = *first;
  const auto bias = productOf(other).epilogue;
  const bool isBiased = bias.instructions.size() == 1 && addsFirst(bias, 1);
  if (residual != 0 && isBiased && addsFirst(productOf(main).epilogue, static_cast<int>(residual) - 1)) refusal.clear();
}

std::vector<size_t> Mma90Sum::inputs(size_t count) const {
  std::vector<size_t> result;
  size_t next = kMainX;
  for (size_t i = 0; next < count || i <= residual; ++i) result.push_back(i == residual ? kOtherBias : next++);
  return result;
}

Mma90Sum::Parts Mma90Sum::partsOf(const runtime::Shapes& shapes) const {
  std::vector<runtime::TensorShape> ofMain;
  for (const size_t i : inputs(shapes.inputs.size())) ofMain.push_back(shapes.inputs[i]);
  const auto& y = shapes.outputs[0];
  const std::vector<runtime::TensorShape> outputs{y};
  auto& bias = ofMain[residual];
  const bool isByChannel = bias.dims.count() == y.dims[1];
  if (isByChannel) bias = {bias.dtype, {y.dims[1], 1, 1}, Layout::kLinear};
  std::vector<runtime::TensorShape> ofOther{shapes.inputs[0], shapes.inputs[1], shapes.inputs[kOtherBias]};
  const runtime::Shapes mainShapes{ofMain, outputs, shapes.symbols}, otherShapes{ofOther, outputs, shapes.symbols};
  Parts parts{ofMain, ofOther, outputs, {main, mainShapes}, {other, otherShapes}, {}};
  parts.refusal = !parts.first.refusal.empty() ? parts.first.refusal : parts.second.refusal;
  const auto& x = shapes.inputs[kMainX];
  if (!parts.refusal.empty()) return parts;
  if (y.dims.rank != 4) parts.refusal = fmt::format("a result of {}", y.dims.text());
  else if (!isByChannel) parts.refusal = "the bias of the second convolution is not by channel";
  else if (bits(x.dtype) != 16 || shapes.inputs[0].dtype != x.dtype || bias.dtype != x.dtype)
    parts.refusal = fmt::format("operands of {} and {}", name(x.dtype), name(shapes.inputs[0].dtype));
  else if (main.groups != 1 || other.groups != 1) parts.refusal = "groups of channels";
  else if (shapes.inputs[0].dims[1] % 8 != 0)
    parts.refusal = fmt::format("{} channels; only multiples of 8 are supported", shapes.inputs[0].dims[1]);
  return parts;
}

Mma90Weights Mma90Sum::Parts::weights() const {
  auto result = first.weights();
  result.add(second.weights());
  return result;
}

Mma90Record Mma90Sum::recordOf(const plan::KernelRecord& record) const {
  if (!refusal.empty()) throw Unsupported("a product by warpgroups: {}", refusal);
  Mma90Record result(productOf(main), record, true);
  result.sumWeights[0] = kMainWeights;
  result.sumWeights[1] = 1;
  return result;
}

}  // namespace tenon::backends::cuda
