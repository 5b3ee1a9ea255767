// Shape: contents are the extents.
#include "ops/op/shape.h"

namespace tenon::ops {

Facts ShapeOf::facts() const { return {}; }

void ShapeOf::infer(InferContext& context) const {
  const auto& x = context.input(0);
  context.output(DataType::kI64, {Extent(x.rank())}, x.shape);
}

void ShapeOf::evaluate(const EvalContext& context) const {
  const Dims& dims = context.inputs[0].dims;
  for (int axis = 0; axis < dims.rank; ++axis) context.outputs[0].storeInt(axis, dims[axis]);
}

OperatorInfo operatorInfo_shape() { return describe<ShapeOf>(); }

}  // namespace tenon::ops
