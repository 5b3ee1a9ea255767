// Tap: a view that is not removed.
#include "ops/op/tap.h"

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {

Facts Tap::facts() const {
  Facts facts;
  facts.movement = true;
  facts.sideEffects = true;
  facts.aliases = {{0, 0, true}};
  return facts;
}

void Tap::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.output(x.dtype, x.shape, x.contents);
}

void Tap::evaluate(const EvalContext& context) const { copyAll(context.inputs[0], context.outputs[0]); }

OperatorInfo operatorInfo_tap() { return describe<Tap>(); }

}  // namespace tenon::ops
