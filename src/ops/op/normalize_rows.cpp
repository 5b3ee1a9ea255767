// NormalizeRows: shape rule and reference in double.
#include "ops/op/normalize_rows.h"

#include <algorithm>
#include <cmath>

#include "ops/infer_util.h"

namespace tenon::ops {

Facts NormalizeRows::facts() const { return {}; }

void NormalizeRows::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto& moments = context.input(1);
  for (const size_t i : {0, 2, 3}) checkFloating(context, i);
  checkSameType(context, 0, 2);
  checkSameType(context, 0, 3);
  context.check(x.rank() >= 1, "the input has no rows");
  context.check(run >= 1, "run = {}, expected at least 1", run);
  context.check(moments.dtype == DataType::kF32 && moments.rank() == x.rank() + 1,
                "moments are {} of shape {}, expected f32 with one axis more than the input, {}", name(moments.dtype),
                text(moments.shape), text(x.shape));
  Shape shape = x.shape;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis)
    shape[axis] = context.merge(shape[axis], moments.shape[axis], "moments and input");
  context.merge(moments.shape[shape.size() - 1], ceilDiv(shape.back(), run), "moments of a row and its runs");
  context.check(moments.shape.back().isConstant(2), "a moment has {} numbers, expected 2", moments.shape.back().text());
  for (const size_t i : {2, 3}) {
    const auto& factors = context.input(i).shape;
    context.check(factors.size() == 1, "input {} has shape {}, expected one axis", i, text(factors));
    shape.back() = context.merge(shape.back(), factors[0], "scale or bias and input");
  }
  context.output(x.dtype, std::move(shape));
}

void NormalizeRows::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& moments = context.inputs[1];
  const int64_t inner = x.dims[x.dims.rank - 1];
  if (x.count() == 0) return;
  const int64_t runs = (inner + run - 1) / run;
  const auto members = [&](int64_t i) { return static_cast<double>(std::min(run, inner - i * run)); };
  for (int64_t row = 0; row < x.count() / inner; ++row) {
    const auto sum = [&](int64_t i) { return moments.loadDouble((row * runs + i) * 2); };
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < runs; ++i) mean += sum(i) / static_cast<double>(inner);
    for (int64_t i = 0; i < runs; ++i) {
      const double difference = sum(i) / members(i) - mean;
      const double spread = moments.loadDouble((row * runs + i) * 2 + 1) + members(i) * difference * difference;
      variance += spread / static_cast<double>(inner);
    }
    if (!centered) variance += mean * mean;
    const double from = centered ? mean : 0;
    for (int64_t i = 0; i < inner; ++i) {
      const double normal = (x.loadDouble(row * inner + i) - from) / std::sqrt(variance + epsilon);
      context.outputs[0].storeDouble(row * inner + i,
                                     normal * context.inputs[2].loadDouble(i) + context.inputs[3].loadDouble(i));
    }
  }
}

OperatorInfo operatorInfo_normalize_rows() { return describe<NormalizeRows>(); }

}  // namespace tenon::ops
