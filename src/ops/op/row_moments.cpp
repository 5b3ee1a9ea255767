// RowMoments: shape rule and two-pass reference.
#include "ops/op/row_moments.h"

#include <algorithm>

#include "ops/infer_util.h"

namespace tenon::ops {

Facts RowMoments::facts() const { return {}; }

void RowMoments::infer(InferContext& context) const {
  const auto& x = context.input(0);
  checkFloating(context, 0);
  context.check(x.rank() >= 1, "the input has no rows");
  context.check(run >= 1, "run = {}, expected at least 1", run);
  Shape shape = x.shape;
  shape.back() = ceilDiv(shape.back(), run);
  shape.push_back(2);
  context.output(DataType::kF32, std::move(shape));
}

void RowMoments::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const int64_t inner = x.dims[x.dims.rank - 1];
  int64_t at = 0;
  for (int64_t row = 0; row < x.count(); row += std::max<int64_t>(inner, 1)) {
    for (int64_t first = 0; first < inner; first += run, at += 2) {
      const int64_t count = std::min(run, inner - first);
      double sum = 0, spread = 0;
      for (int64_t i = 0; i < count; ++i) sum += x.loadDouble(row + first + i);
      for (int64_t i = 0; i < count; ++i) {
        const double difference = x.loadDouble(row + first + i) - sum / static_cast<double>(count);
        spread += difference * difference;
      }
      context.outputs[0].storeDouble(at, sum);
      context.outputs[0].storeDouble(at + 1, spread);
    }
  }
}

OperatorInfo operatorInfo_row_moments() { return describe<RowMoments>(); }

}  // namespace tenon::ops
