// Softmax: shape rule and reference in double.
#include "ops/op/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/infer_util.h"

namespace tenon::ops {

Facts Softmax::facts() const { return {}; }

void Softmax::infer(InferContext& context) const {
  const auto& x = context.input(0);
  checkFloating(context, 0);
  context.axis(axis, x.rank());
  context.output(x.dtype, x.shape);
}

void Softmax::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& out = context.outputs[0];
  const int at = positiveAxis(axis, x.dims.rank);
  const int64_t inner = x.dims.count(at + 1, x.dims.rank);
  const int64_t outer = x.dims.count(0, at);
  std::vector<double> line(static_cast<size_t>(x.dims[at]));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t first = o * x.dims[at] * inner + i;
      double highest = -std::numeric_limits<double>::infinity();
      for (int64_t k = 0; k < x.dims[at]; ++k) highest = std::max(highest, x.loadDouble(first + k * inner));
      double sum = 0;
      for (size_t k = 0; k < line.size(); ++k) {
        line[k] = x.loadDouble(first + static_cast<int64_t>(k) * inner) - highest;
        sum += std::exp(line[k]);
      }
      for (size_t k = 0; k < line.size(); ++k) {
        const double value = logarithm ? line[k] - std::log(sum) : std::exp(line[k]) / sum;
        out.storeDouble(first + static_cast<int64_t>(k) * inner, value);
      }
    }
  }
}

OperatorInfo operatorInfo_softmax() { return describe<Softmax>(); }

}  // namespace tenon::ops
