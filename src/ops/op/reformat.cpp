// Reformat: same type and shape.
#include "ops/op/reformat.h"

#include <cstring>

namespace tenon::ops {

Facts Reformat::facts() const {
  Facts facts;
  facts.movement = true;
  return facts;
}

void Reformat::infer(InferContext& context) const {
  const auto& in = context.input(0);
  context.output(in.dtype, in.shape, in.contents);
}

void Reformat::evaluate(const EvalContext& context) const {
  std::memcpy(context.outputs[0].data, context.inputs[0].data, context.inputs[0].bytes());
}

OperatorInfo operatorInfo_reformat() { return describe<Reformat>(); }

}  // namespace tenon::ops
