// Local response normalization: shape rule and reference.
#include "ops/op/lrn.h"

#include <algorithm>
#include <cmath>

#include "ops/infer_util.h"
#include "ops/strides.h"

namespace tenon::ops {

Facts Lrn::facts() const { return {}; }

void Lrn::infer(InferContext& context) const {
  const auto& x = context.input(0);
  checkFloating(context, 0);
  context.check(x.rank() >= 2, "the input {} has rank {}, expected at least 2", text(x.shape), x.rank());
  context.check(window > 0, "window is {}, expected at least 1", window);
  context.output(x.dtype, x.shape);
}

void Lrn::evaluate(const EvalContext& context) const {
  const auto& out = context.outputs[0];
  const Dims& dims = out.dims;
  const auto x = toDoubles(context.inputs[0]);
  const int64_t channels = dims[1];
  const int64_t plane = dims.count(2, dims.rank);
  for (int64_t n = 0; n < dims[0]; ++n) {
    const int64_t base = n * channels * plane;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = std::max<int64_t>(c - (window - 1) / 2, 0);
      const int64_t last = std::min(c + window / 2, channels - 1);
      for (int64_t i = 0; i < plane; ++i) {
        double sum = 0;
        for (int64_t other = first; other <= last; ++other) {
          const double value = x[static_cast<size_t>(base + other * plane + i)];
          sum += value * value;
        }
        const int64_t at = base + c * plane + i;
        const double scale = std::pow(k + alpha / static_cast<double>(window) * sum, beta);
        out.storeDouble(at, x[static_cast<size_t>(at)] / scale);
      }
    }
  }
}

OperatorInfo operatorInfo_lrn() { return describe<Lrn>(); }

}  // namespace tenon::ops
