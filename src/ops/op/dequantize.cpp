// Dequantization: type rule and reference.
#include "ops/op/dequantize.h"

#include "ops/infer_util.h"
#include "ops/scale_layout.h"

namespace tenon::ops {

Facts Dequantize::facts() const { return {}; }

void Dequantize::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const bool narrow = bits(x.dtype) <= 8 && x.dtype != DataType::kBool && x.dtype != DataType::kE8M0;
  context.check(narrow || x.dtype == DataType::kI32, "input type {}, expected i8, u8, i32, i4, f8e4m3 or f4e2m1",
                name(x.dtype));
  context.check(isFloating(type), "output type {}, expected a floating type", name(type));
  checkScale(context, axis);
  context.output(type, x.shape);
}

void Dequantize::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& scale = context.inputs[1];
  const auto& out = context.outputs[0];
  const ScaleLayout layout(x.dims, scale.dims, axis);
  int64_t position = 0;
  for (IndexIterator i(x.dims); i.valid(); i.next(), ++position) {
    const int64_t at = layout.offset(i);
    const double zero = context.inputs.size() > 2 ? context.inputs[2].loadDouble(at) : 0;
    out.storeDouble(position, (x.loadDouble(position) - zero) * scale.loadDouble(at));
  }
}

OperatorInfo operatorInfo_dequantize() { return describe<Dequantize>(); }

}  // namespace tenon::ops
