// CountNonZero: shape rule and reference.
#include "ops/op/count_nonzero.h"

namespace tenon::ops {

Facts CountNonZero::facts() const { return {}; }

void CountNonZero::infer(InferContext& context) const {
  (void)context.input(0);
  context.output(DataType::kI64, {});
}

void CountNonZero::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  int64_t count = 0;
  for (int64_t i = 0; i < x.count(); ++i) count += isNonZero(x, i) ? 1 : 0;
  context.outputs[0].storeInt(0, count);
}

OperatorInfo operatorInfo_count_nonzero() { return describe<CountNonZero>(); }

}  // namespace tenon::ops
