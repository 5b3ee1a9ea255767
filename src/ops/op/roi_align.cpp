// RoiAlign: shape rule, the places of samples, and the reference.
#include "ops/op/roi_align.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/infer_util.h"

namespace tenon::ops {
namespace {

// Whole numbers near the pixels of a map; far away and NaN become something outside.
int64_t toPixel(float place, int64_t pixels) {
  const auto limit = static_cast<float>(pixels) + 1;
  return static_cast<int64_t>(std::clamp(std::isnan(place) ? limit : place, -1.0F, limit));
}

}  // namespace

RoiAxis::RoiAxis(const RoiAlign& op, float begin, float end, int64_t cells, int64_t pixels)
    : op_(op), begin_(begin), step_((end - begin) / static_cast<float>(cells)), pixels_(pixels), samples_(op.samples) {
  if (op.grid == RoiGrid::kCorners) {
    step_ = cells > 1 ? (end - begin) / static_cast<float>(cells - 1) : 0;
    if (cells == 1) begin_ = 0.5F * (begin + end);
    samples_ = 1;
  } else if (samples_ == 0) {
    const float wanted = std::ceil(step_);
    samples_ = wanted > static_cast<float>(op.least)
                   ? static_cast<int64_t>(std::min(wanted, static_cast<float>(RoiAlign::kMostSamples)))
                   : op.least;
  }
}

int64_t RoiAxis::firstPixel(int64_t cell) const {
  return std::max<int64_t>(toPixel(std::floor(begin_ + step_ * static_cast<float>(cell)), pixels_), 0);
}

int64_t RoiAxis::count(int64_t cell) const {
  if (op_.grid != RoiGrid::kPixels) return samples_;
  const int64_t end = std::min(toPixel(std::ceil(begin_ + step_ * static_cast<float>(cell + 1)), pixels_), pixels_);
  return std::max<int64_t>(end - firstPixel(cell), 0);
}

RoiTap RoiAxis::tap(int64_t cell, int64_t sample) const {
  if (op_.grid == RoiGrid::kPixels) return {firstPixel(cell) + sample, firstPixel(cell) + sample, 0, true};
  float place = begin_ + step_ * static_cast<float>(cell);
  if (op_.grid == RoiGrid::kBins) {
    place += step_ * (static_cast<float>(sample) + static_cast<float>(op_.offset)) / static_cast<float>(samples_);
  }
  const auto last = static_cast<float>(pixels_ - 1);
  const float margin = op_.border == RoiBorder::kMargin ? 1 : 0;
  const bool inside = place >= -margin && place <= last + margin;  // false for NaN
  if (pixels_ == 0 || (!inside && op_.border != RoiBorder::kClamp)) return {0, 0, 0, false};
  place = std::isnan(place) ? 0 : std::clamp(place, 0.0F, last);
  const auto low = static_cast<int64_t>(place);
  return {low, std::min(low + 1, pixels_ - 1), place - static_cast<float>(low), true};
}

Facts RoiAlign::facts() const { return {}; }

void RoiAlign::infer(InferContext& context) const {
  const auto& regions = context.input(0);
  const auto& origins = context.input(1);
  context.check(regions.dtype == DataType::kF32 && regions.rank() == 2 && regions.shape[1].isConstant(4),
                "regions {} {}; expected f32 [R, 4]", name(regions.dtype), text(regions.shape));
  context.check(origins.dtype == DataType::kI32 && origins.rank() == 2 && origins.shape[1].isConstant(2),
                "origins {} {}; expected i32 [R, 2]", name(origins.dtype), text(origins.shape));
  const Extent count = context.merge(regions.shape[0], origins.shape[0], "regions and their origins");
  context.check(context.inputCount() >= 3, "there are no maps; expected one or more behind regions and origins");
  checkFloating(context, 2);
  Extent images = context.input(2).rank() == 4 ? context.input(2).shape[0] : Extent(0);
  Extent channels = context.input(2).rank() == 4 ? context.input(2).shape[1] : Extent(0);
  for (size_t i = 2; i < context.inputCount(); ++i) {
    const auto& map = context.input(i);
    context.check(map.rank() == 4, "map {} is {}; expected [N, C, H, W]", i - 2, text(map.shape));
    checkSameType(context, 2, i);
    images = context.merge(images, map.shape[0], "images of the maps");
    channels = context.merge(channels, map.shape[1], "channels of the maps");
  }
  context.check(height >= 1 && width >= 1, "the grid is {} x {}; expected 1 or more", height, width);
  context.check(samples >= 0 && samples <= kMostSamples && least >= 0 && least <= kMostSamples,
                "samples is {} and least {}; expected 0 to {}", samples, least, kMostSamples);
  context.output(context.input(2).dtype, {count, channels, Extent(height), Extent(width)});
}

void RoiAlign::evaluate(const EvalContext& context) const {
  const auto& regions = context.inputs[0];
  const auto& origins = context.inputs[1];
  const auto& out = context.outputs[0];
  const int64_t channels = out.dims[1];
  int64_t at = 0;
  for (int64_t r = 0; r < out.dims[0]; ++r) {
    const int64_t level = origins.loadInt(r * 2);
    const int64_t image = origins.loadInt(r * 2 + 1);
    const bool exists = level >= 0 && level + 2 < static_cast<int64_t>(context.inputs.size()) && image >= 0 &&
                        image < context.inputs[2].dims[0];
    const TensorView& map = context.inputs[exists ? static_cast<size_t>(level + 2) : 2];
    const auto end = [&](int64_t i) { return static_cast<float>(regions.loadDouble(r * 4 + i)); };
    const RoiAxis rows(*this, end(0), end(2), height, map.dims[2]);
    const RoiAxis columns(*this, end(1), end(3), width, map.dims[3]);
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = (image * channels + c) * map.dims[2];
      const auto pixel = [&](int64_t y, int64_t x) { return map.loadDouble((plane + y) * map.dims[3] + x); };
      for (int64_t i = 0; i < height; ++i) {
        for (int64_t j = 0; j < width; ++j, ++at) {
          double sum = 0;
          double best = -std::numeric_limits<double>::infinity();
          const int64_t count = exists ? rows.count(i) * columns.count(j) : 0;
          for (int64_t n = 0; n < count; ++n) {
            const RoiTap y = rows.tap(i, n / columns.count(j));
            const RoiTap x = columns.tap(j, n % columns.count(j));
            double corners[4] = {};
            if (y.inside && x.inside) {
              corners[0] = pixel(y.low, x.low) * (1 - y.part) * (1 - x.part);
              corners[1] = pixel(y.low, x.high) * (1 - y.part) * x.part;
              corners[2] = pixel(y.high, x.low) * y.part * (1 - x.part);
              corners[3] = pixel(y.high, x.high) * y.part * x.part;
            }
            const double value = corners[0] + corners[1] + corners[2] + corners[3];
            sum += value;
            best = std::max(best, pool == RoiPool::kMax ? value : *std::max_element(corners, corners + 4));
          }
          out.storeDouble(at, count == 0 ? 0 : pool != RoiPool::kMean ? best : sum / static_cast<double>(count));
        }
      }
    }
  }
}

OperatorInfo operatorInfo_roi_align() { return describe<RoiAlign>(); }

}  // namespace tenon::ops
