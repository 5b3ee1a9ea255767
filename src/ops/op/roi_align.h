// Regions of feature maps, each sampled to a grid of one size.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Where the samples of a cell of the grid lie.
//   bins:    the region is cut into height x width equal cells; each has `samples` x `samples` places, sample i of an
//   axis at
//            (i + offset) / samples of the cell. 0 samples: as many as the cell has pixels, rounded up, at least
//            `least` and at most 4096 (of an axis; NaN: `least`)
//   corners: one place per cell; the first and the last lie on the region's ends, a single one in its middle
//   pixels:  every pixel from the lower end of the cell rounded down to its upper end rounded up; see border
enum class RoiGrid : uint8_t { kBins, kCorners, kPixels };
constexpr std::array<std::string_view, 3> enumNames(RoiGrid) { return {"bins", "corners", "pixels"}; }

// What a place outside of the map is, along an axis of n pixels with the middles 0 to n - 1.
//   clamp:  the nearest place inside
//   margin: 0 below -1 and above n, else the nearest place inside
//   zero:   0
// Of pixels, those outside are left out; a cell without any is 0.
enum class RoiBorder : uint8_t { kClamp, kMargin, kZero };
constexpr std::array<std::string_view, 3> enumNames(RoiBorder) { return {"clamp", "margin", "zero"}; }

// What a cell is: the mean of its samples, the largest, or the largest of the pixels around its samples times their
// weights, as ONNX has it.
enum class RoiPool : uint8_t { kMean, kMax, kWeightedMax };
constexpr std::array<std::string_view, 3> enumNames(RoiPool) { return {"mean", "max", "weighted_max"}; }

// Inputs: regions f32 [R, 4], as y and x of the lower and of the upper end, in pixels of their map; origins i32 [R, 2],
// which map and which image of it; then one or more maps [N, C, H, W], alike but for H and W. Output: [R, C, height,
// width] of the maps' type: the samples of each cell, interpolated linearly, pooled. A region whose map or image does
// not exist gives zeros. A cell of no samples is 0. Coordinates are computed in f32.
struct RoiAlign {
  static constexpr std::string_view kName = "roi_align";
  int64_t height = 1;
  int64_t width = 1;
  int64_t samples = 0;
  int64_t least = 1;
  double offset = 0.5;
  RoiPool pool = RoiPool::kMean;
  RoiGrid grid = RoiGrid::kBins;
  RoiBorder border = RoiBorder::kClamp;
  static constexpr auto fields = std::tuple{field("height", &RoiAlign::height),   field("width", &RoiAlign::width),
                                            field("samples", &RoiAlign::samples), field("least", &RoiAlign::least),
                                            field("offset", &RoiAlign::offset),   field("pool", &RoiAlign::pool),
                                            field("grid", &RoiAlign::grid),       field("border", &RoiAlign::border)};
  static constexpr int64_t kMostSamples = 4096;

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

// The samples of one cell along one axis, for the reference and the kernels: linear between two pixels.
struct RoiTap {
  int64_t low;
  int64_t high;
  float part;  // of the higher pixel
  bool inside;
};

// One axis of a region.
struct RoiAxis {
  RoiAxis(const RoiAlign& op, float begin, float end, int64_t cells, int64_t pixels);
  int64_t count(int64_t cell) const;  // of samples
  RoiTap tap(int64_t cell, int64_t sample) const;

 private:
  int64_t firstPixel(int64_t cell) const;
  const RoiAlign& op_;
  float begin_;
  float step_;
  int64_t pixels_;
  int64_t samples_;
};

}  // namespace tenon::ops
