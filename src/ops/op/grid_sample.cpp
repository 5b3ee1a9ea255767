// GridSample: shape rule, the pixels of a place, and the reference.
#include "ops/op/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

// -1 and 1 are the middles of the outer pixels, or their outer borders.
float inPixels(const GridSample& op, float place, float size) {
  return op.alignCorners ? (place + 1) * ((size - 1) * 0.5F) : ((place + 1) * size - 1) * 0.5F;
}

float mirrored(const GridSample& op, float pixel, float size) {
  const float low = op.alignCorners ? 0.0F : -0.5F;
  const float span = op.alignCorners ? size - 1 : size;
  if (!(span > 0)) return 0;
  const float distance = std::abs(pixel - low);
  const float turns = std::floor(distance / span);
  const float rest = distance - turns * span;
  const bool isOdd = turns - std::floor(turns * 0.5F) * 2 > 0.5F;
  return std::fmin(std::fmax((isOdd ? span - rest : rest) + low, -0.5F), size - 0.5F);
}

}  // namespace

GridTaps gridTaps(const GridSample& op, float place, int64_t extent) {
  const auto size = static_cast<float>(extent);
  float pixel = inPixels(op, place, size);
  if (op.border == GridBorder::kReflect) pixel = mirrored(op, pixel, size);
  // fmax is the number where the other one is none.
  if (op.border == GridBorder::kClamp) pixel = std::fmin(std::fmax(pixel, 0.0F), size - 1);
  const bool isLinear = op.mode == GridMode::kLinear;
  const float first = isLinear ? std::floor(pixel) : std::nearbyint(pixel);
  const float part = isLinear ? pixel - first : 0.0F;
  GridTaps taps{{0, 0}, {0, 0}};
  for (int k = 0; k < 2; ++k) {
    const float at = first + static_cast<float>(k);
    const bool isInside = at >= 0 && at <= size - 1;  // false for NaN
    if (extent == 0 || (!isInside && op.border == GridBorder::kZero)) continue;
    taps.pixel[k] = static_cast<int64_t>(std::fmin(std::fmax(at, 0.0F), size - 1));
    taps.weight[k] = k == 0 ? 1 - part : part;
  }
  return taps;
}

Facts GridSample::facts() const { return {}; }

void GridSample::infer(InferContext& context) const {
  const auto& x = context.input(0);
  const auto& grid = context.input(1);
  checkFloating(context, 0);
  context.check(grid.dtype == x.dtype || grid.dtype == DataType::kF32, "the grid has type {}; expected {} or f32",
                name(grid.dtype), name(x.dtype));
  context.check(x.rank() == 4, "x {}; expected [N, C, H, W]", text(x.shape));
  context.check(grid.rank() == 4 && grid.shape[3].isConstant(2), "the grid {}; expected [N, h, w, 2]",
                text(grid.shape));
  const Extent images = context.merge(x.shape[0], grid.shape[0], "images");
  context.output(x.dtype, {images, x.shape[1], grid.shape[1], grid.shape[2]});
}

void GridSample::evaluate(const EvalContext& context) const {
  const auto& x = context.inputs[0];
  const auto& grid = context.inputs[1];
  const auto& y = context.outputs[0];
  const int64_t channels = x.dims[1], rows = x.dims[2], columns = x.dims[3];
  const int64_t places = y.dims[2] * y.dims[3];
  for (int64_t i = 0; i < y.dims[0] * places; ++i) {
    const int64_t image = i / places;
    const GridTaps across = gridTaps(*this, static_cast<float>(grid.loadDouble(i * 2)), columns);
    const GridTaps down = gridTaps(*this, static_cast<float>(grid.loadDouble(i * 2 + 1)), rows);
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t plane = (image * channels + channel) * rows * columns;
      double sum = 0;
      for (int corner = 0; corner < 4; ++corner) {
        const int a = corner / 2, b = corner % 2;
        const double weight = static_cast<double>(down.weight[a]) * across.weight[b];
        // A pixel that weighs nothing may be an infinity.
        if (weight != 0) sum += weight * x.loadDouble(plane + down.pixel[a] * columns + across.pixel[b]);
      }
      y.storeDouble((image * channels + channel) * places + i % places, sum);
    }
  }
}

OperatorInfo operatorInfo_grid_sample() { return describe<GridSample>(); }

}  // namespace tenon::ops
