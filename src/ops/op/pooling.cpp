// Pooling: shape rule and reference in double.
#include "ops/op/pooling.h"

#include <cmath>
#include <limits>

#include "ops/spatial.h"
#include "ops/strides.h"

namespace tenon::ops {
namespace {

// What one channel's windows gather, per output position.
struct Gathered {
  std::vector<double> highest;
  std::vector<double> sum;
  std::vector<int64_t> cells;
};

Gathered gather(const Windows& windows, const double* source, double lowest) {
  const auto count = static_cast<size_t>(smallCount(windows));
  Gathered g{std::vector<double>(count, lowest), std::vector<double>(count), std::vector<int64_t>(count)};
  const int64_t step = windows[2].stride;
  eachRun(windows, [&](int64_t, int64_t small, int64_t large, int64_t run) {
    for (int64_t j = 0; j < run; ++j) {
      const double value = source[large + j * step];
      const auto i = static_cast<size_t>(small + j);
      if (value > g.highest[i] || std::isnan(value)) g.highest[i] = value;
      g.sum[i] += value;
      ++g.cells[i];
    }
  });
  return g;
}

// Rounding up may add a window that begins in the padding behind, or behind that: it is left out.
Extent startingInside(const SpatialAttributes& attributes, size_t axis, const Extent& in, int64_t window,
                      const Extent& all) {
  const auto& after = attributes.postPadding[axis];
  const int64_t stride = attributes.strides[axis];
  if (after.isConstant() && after.constant() <= window - stride) return all;  // none can
  return min(all, ceilDiv(in + attributes.prePadding[axis], stride));
}

// Cells of the window at position s that lie inside the padded axis.
int64_t paddedCells(const Window& w, int64_t s) {
  int64_t cells = 0;
  for (int64_t t = 0; t < w.kernel; ++t) {
    const int64_t at = w.position(s, t);
    cells += at >= -w.before && at < w.large + w.after ? 1 : 0;
  }
  return cells;
}

}  // namespace

Facts Pooling::facts() const { return {}; }

void Pooling::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const int axes = x.rank() - 2;
  const auto attributes = spatialAttributes(*this, static_cast<size_t>(std::max(axes, 0)));
  checkSpatial(context, attributes, axes);
  context.check(window.size() == static_cast<size_t>(axes), "window has {} entries, expected one per spatial axis: {}",
                window.size(), axes);
  context.check(isFloating(x.dtype) || (isInteger(x.dtype) && bits(x.dtype) <= 32),
                "input of type {}, expected a floating type or an integer of at most 32 bits", name(x.dtype));
  Shape shape{x.shape[0], x.shape[1]};
  for (size_t i = 0; i < window.size(); ++i) {
    const Extent all = windowedExtent(context, attributes, i, x.shape[i + 2], window[i], ceilMode);
    shape.push_back(ceilMode ? startingInside(attributes, i, x.shape[i + 2], window[i], all) : all);
  }
  context.output(x.dtype, std::move(shape));
}

void Pooling::evaluate(const EvalContext& context) const {
  const auto& in = context.inputs[0];
  const auto& out = context.outputs[0];
  const auto windows = makeWindows(context, spatialAttributes(*this, window.size()), out.dims, in.dims, window);
  const auto x = toDoubles(in);
  const int64_t plane = smallCount(windows);
  const bool floating = isFloating(out.dtype);
  // Storing saturates: the lowest integer of the type.
  const double lowest = floating ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::lowest();
  for (int64_t channel = 0; channel < in.dims[0] * in.dims[1]; ++channel) {
    const auto g = gather(windows, x.data() + channel * largeCount(windows), lowest);
    for (int64_t i = 0; i < plane; ++i) {
      const auto k = static_cast<size_t>(i);
      const int64_t sx = i % windows[2].small;
      const int64_t sy = i / windows[2].small % windows[1].small;
      const int64_t sz = i / windows[2].small / windows[1].small;
      const int64_t cells =
          exclusive ? g.cells[k]
                    : paddedCells(windows[0], sz) * paddedCells(windows[1], sy) * paddedCells(windows[2], sx);
      const double average = cells == 0 ? 0 : g.sum[k] / static_cast<double>(cells);
      double value = type == PoolingType::kMax ? g.highest[k] : average;
      if (type == PoolingType::kMaxAverageBlend) value = (1 - blend) * g.highest[k] + blend * average;
      out.storeDouble(channel * plane + i, floating || type == PoolingType::kMax ? value : std::nearbyint(value));
    }
  }
}

OperatorInfo operatorInfo_pooling() { return describe<Pooling>(); }

}  // namespace tenon::ops
