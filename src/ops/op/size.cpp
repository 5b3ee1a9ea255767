// Size: a view that is not removed.
#include "ops/op/size.h"

#include "core/error.h"
#include "ops/shape_arithmetic.h"
#include "ops/strides.h"

namespace tenon::ops {

Facts Size::facts() const {
  Facts facts;
  facts.movement = true;
  facts.sideEffects = true;
  facts.aliases = {{0, 0, true}};
  return facts;
}

void Size::infer(InferContext& context) const {
  const auto& count = context.input(0);
  context.check(count.dtype == DataType::kI32 || count.dtype == DataType::kI64,
                "the size has the type {}, expected i32 or i64", name(count.dtype));
  context.check(product(count.shape).isConstant(1) && count.rank() <= 1,
                "the size has the shape {}, expected one number", text(count.shape));
  context.check(!symbol.empty(), "the size has no symbol");
  context.output(count.dtype, count.shape, std::vector<Extent>{Extent::symbol(symbol)});
}

void Size::check(int64_t value, std::string_view symbol, const Extent& upper, const SymbolValues& symbols,
                 std::string_view layer) {
  const int64_t most = upper.evaluate(symbols);
  const bool isRight = value <= most && (value >= 0 || mayBeNegative(symbol));
  checkUser(isRight, "layer '{}': the size that it computes is {}, expected {} to {}{}", layer, value,
            mayBeNegative(symbol) ? "anything" : "0", isBounded(upper) ? std::to_string(most) : "any number",
            upper.isConstant() ? "" : " = " + upper.text());
}

void Size::evaluate(const EvalContext& context) const { copyAll(context.inputs[0], context.outputs[0]); }

OperatorInfo operatorInfo_size() { return describe<Size>(); }

}  // namespace tenon::ops
