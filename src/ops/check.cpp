// Inference over concrete extents, compared with the tensors at hand.
#include "ops/check.h"

#include <algorithm>

#include "core/lazy_text.h"

namespace tenon::ops {

void checkShapes(const Operator& op, std::string_view node, const EvalContext& context) {
  std::vector<TensorType> inputs;
  for (const auto& input : context.inputs) inputs.push_back({input.dtype, toShape(input.dims), std::nullopt});
  const Operator bound = context.symbols != nullptr ? op.bind(*context.symbols) : op;
  const auto outputs = bound.infer(node, inputs);
  checkUser(outputs.size() == context.outputs.size(), "{}: {} outputs, its operator has {}", node,
            context.outputs.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& got = context.outputs[i];
    const Dims expected = evaluate(outputs[i].shape, SymbolValues{});
    checkUser(got.dims == expected && got.dtype == outputs[i].dtype, "{}: output {} is {} {}, its inputs ask for {} {}",
              node, i, name(got.dtype), textOf(got.dims), name(outputs[i].dtype), textOf(expected));
  }
}

void evaluateWhatIsThere(const Operator& op, const EvalContext& context) {
  const auto empty = [](const TensorView& output) { return output.count() == 0; };
  if (!std::all_of(context.outputs.begin(), context.outputs.end(), empty)) op.evaluate(context);
}

}  // namespace tenon::ops
