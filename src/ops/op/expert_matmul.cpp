// Products with experts: shape rule and reference in double.
#include "ops/op/expert_matmul.h"

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {

Facts ExpertMatMul::facts() const { return {}; }

void ExpertMatMul::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto& experts = context.input(1);
  const auto& weights = context.input(2);
  checkFloating(context, 0);
  checkSameType(context, 0, 2);
  context.check(x.rank() == 3 && experts.rank() == 2 && weights.rank() == 3,
                "rows, experts and weights have shapes {}, {} and {}, expected 3, 2 and 3 axes", text(x.shape),
                text(experts.shape), text(weights.shape));
  context.check(isInteger(experts.dtype), "experts are {}, expected integers", name(experts.dtype));
  context.merge(x.shape[0], experts.shape[0], "rows and experts");
  if (!x.shape[1].isConstant(1)) context.merge(x.shape[1], experts.shape[1], "rows and experts of a token");
  context.merge(x.shape[2], weights.shape[1], "columns of rows and rows of weights");
  context.output(x.dtype, {x.shape[0], experts.shape[1], weights.shape[2]});
}

void ExpertMatMul::evaluate(const EvalContext& context) const {
  const auto& experts = context.inputs[1];
  const Dims& in = context.inputs[0].dims;
  const Dims& matrices = context.inputs[2].dims;
  const auto x = toDoubles(context.inputs[0]);
  const auto weights = toDoubles(context.inputs[2]);
  const int64_t chosen = experts.dims[1], depth = in[2], columns = matrices[2];
  for (int64_t row = 0; row < in[0] * chosen; ++row) {
    const int64_t expert = experts.loadInt(row);
    const int64_t from = row / chosen * in[1] + (in[1] == 1 ? 0 : row % chosen);
    const bool isThere = expert >= 0 && expert < matrices[0];
    for (int64_t n = 0; n < columns; ++n) {
      double sum = 0;
      for (int64_t d = 0; isThere && d < depth; ++d) {
        sum +=
            x[static_cast<size_t>(from * depth + d)] * weights[static_cast<size_t>((expert * depth + d) * columns + n)];
      }
      context.outputs[0].storeDouble(row * columns + n, sum);
    }
  }
}

OperatorInfo operatorInfo_expert_matmul() { return describe<ExpertMatMul>(); }

}  // namespace tenon::ops
