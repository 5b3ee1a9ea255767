// Quantization: type rule and reference.
#include "ops/op/quantize.h"

#include <cmath>

#include "ops/infer_util.h"
#include "ops/scale_layout.h"

namespace tenon::ops {

Facts Quantize::facts() const { return {}; }

void Quantize::infer(InferContext& context) const {
  const auto& x = context.input(0);
  checkFloating(context, 0);
  context.check(bits(type) <= 8 && type != DataType::kBool && type != DataType::kE8M0,
                "output type {}, expected i8, u8, i4, f8e4m3 or f4e2m1", name(type));
  checkScale(context, axis);
  context.output(type, x.shape);
}

void Quantize::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& scale = context.inputs[1];
  const auto& out = context.outputs[0];
  const ScaleLayout layout(x.dims, scale.dims, axis);
  const bool floating = isFloating(type);
  int64_t position = 0;
  for (IndexIterator i(x.dims); i.valid(); i.next(), ++position) {
    const int64_t at = layout.offset(i);
    const double zero = context.inputs.size() > 2 ? context.inputs[2].loadDouble(at) : 0;
    const float scaled = static_cast<float>(x.loadDouble(position)) / static_cast<float>(scale.loadDouble(at));
    out.storeDouble(position, static_cast<double>(floating ? scaled : std::nearbyint(scaled)) + zero);
  }
}

OperatorInfo operatorInfo_quantize() { return describe<Quantize>(); }

}  // namespace tenon::ops
