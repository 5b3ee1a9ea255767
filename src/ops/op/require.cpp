// Conditions on shapes: type rule, reference, check.
#include "ops/op/require.h"

#include "ops/infer_util.h"

namespace tenon::ops {

void Require::check(const TensorView& conditions) const {
  for (int64_t i = 0; i < conditions.count(); ++i) {
    if (conditions.loadInt(i) != 0) continue;
    throw UserError("the assertion does not hold{}: {}", conditions.count() == 1 ? "" : fmt::format(" (element {})", i),
                    message.empty() ? "it has no message" : message);
  }
}

Facts Require::facts() const { return {}; }

void Require::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.check(!isFloating(x.dtype), "a condition of type {}, expected bool or integers", name(x.dtype));
  context.output(DataType::kBool, x.shape);
}

void Require::evaluate(const EvalContext& context) const {
  for (int64_t i = 0; i < context.outputs[0].count(); ++i) context.outputs[0].storeInt(i, 1);
}

OperatorInfo operatorInfo_require() { return describe<Require>(); }

}  // namespace tenon::ops
