// Convolution: shape rule and direct reference in double.
#include "ops/op/convolution.h"

#include "ops/contraction.h"
#include "ops/spatial.h"
#include "ops/strides.h"

namespace tenon::ops {

Facts Convolution::facts() const {
  Facts facts;
  facts.contraction = true;
  return facts;
}

void Convolution::infer(InferContext& context) const {
  const auto& x = context.input(0).shape;
  const auto& w = context.input(1).shape;
  const int axes = context.input(0).rank() - 2;
  const auto attributes = spatialAttributes(*this, static_cast<size_t>(std::max(axes, 0)));
  checkSpatial(context, attributes, axes);
  context.check(w.size() == x.size(), "weights have shape {}, expected rank {} as the input {}", text(w), x.size(),
                text(x));
  checkGroups(context, groups, x[1], "input channels");
  checkGroups(context, groups, w[0], "output channels");
  context.merge(x[1], w[1] * Extent(groups), "input channels and weights");
  if (hasBias) checkBias(context, 2, w[0]);
  Shape shape{x[0], w[0]};
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
    shape.push_back(windowedExtent(context, attributes, i, x[i + 2], w[i + 2], false));
  }
  inferEpilogue(context, epilogue, hasBias ? 3 : 2, inferAccumulator(context), std::move(shape));
}

void Convolution::evaluate(const EvalContext& context) const {
  const auto& xView = context.inputs[0];
  const auto& wView = context.inputs[1];
  const Dims& out = context.outputs[0].dims;
  const auto axes = static_cast<size_t>(xView.dims.rank - 2);
  const auto windows =
      makeWindows(context, spatialAttributes(*this, axes), out, xView.dims, {wView.dims.begin() + 2, wView.dims.end()});
  const auto x = toDoubles(xView);
  const auto w = toDoubles(wView);
  const auto bias = hasBias ? toDoubles(context.inputs[2]) : std::vector<double>();
  const int64_t plane = smallCount(windows);
  const int64_t inputPlane = largeCount(windows);
  const int64_t taps = kernelCount(windows);
  const int64_t groupInputs = wView.dims[1];
  const int64_t groupOutputs = std::max<int64_t>(out[1] / groups, 1);
  const int64_t step = windows[2].stride;
  std::vector<double> result(static_cast<size_t>(out.count()));
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t k = 0; k < out[1]; ++k) {
      double* target = result.data() + (n * out[1] + k) * plane;
      if (hasBias) std::fill_n(target, plane, bias[static_cast<size_t>(k)]);
      for (int64_t c = 0; c < groupInputs; ++c) {
        const double* source = x.data() + (n * xView.dims[1] + k / groupOutputs * groupInputs + c) * inputPlane;
        const double* weights = w.data() + (k * groupInputs + c) * taps;
        eachRun(windows, [&](int64_t tap, int64_t small, int64_t large, int64_t count) {
          for (int64_t j = 0; j < count; ++j) target[small + j] += weights[tap] * source[large + j * step];
        });
      }
    }
  }
  storeEpilogue(context, epilogue, hasBias ? 3 : 2, result);
}

OperatorInfo operatorInfo_convolution() { return describe<Convolution>(); }

}  // namespace tenon::ops
