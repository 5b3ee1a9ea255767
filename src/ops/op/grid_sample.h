// Pixels of an image at places that a grid gives.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

enum class GridMode : uint8_t { kNearest, kLinear };
constexpr std::array<std::string_view, 2> enumNames(GridMode) { return {"nearest", "linear"}; }

// What a place outside of the image is.
//   zero:    pixels outside are 0
//   clamp:   the nearest place inside
//   reflect: mirrored at the ends, again and again: the middles of the outer pixels with alignCorners, else their
//   borders
enum class GridBorder : uint8_t { kZero, kClamp, kReflect };
constexpr std::array<std::string_view, 3> enumNames(GridBorder) { return {"zero", "clamp", "reflect"}; }

// Inputs: x [N, C, H, W], floating; grid [N, h, w, 2], of the type of x or f32: x and y of each place, from -1 to 1,
// which are the middles of the outer pixels with alignCorners, else their outer borders. Output [N, C, h, w] of the
// type of x. Places are computed in f32; nearest takes the even one of two pixels that are equally near. A place that
// is no number is outside with zero, else at an end of the image. An image without pixels gives zeros.
struct GridSample {
  static constexpr std::string_view kName = "grid_sample";
  GridMode mode = GridMode::kLinear;
  GridBorder border = GridBorder::kZero;
  bool alignCorners = false;
  static constexpr auto fields = std::tuple{field("mode", &GridSample::mode), field("border", &GridSample::border),
                                            field("alignCorners", &GridSample::alignCorners)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

// One or two pixels of an axis and what they weigh, for the reference and the kernels of the CPU.
struct GridTaps {
  int64_t pixel[2];
  float weight[2];  // 0 outside of a zero border; the pixel is one of the axis all the same
};
GridTaps gridTaps(const GridSample& op, float place, int64_t extent);

}  // namespace tenon::ops
