// The pixels under a kernel whose taps are moved, as columns for a matrix product.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: x [N, C, H, W]; offsets [N, G * 2 * kh * kw, OH, OW], of each of G groups of channels and each tap the shift
// of y, then of x; with hasMask a mask [N, G * kh * kw, OH, OW]; floating, of one type. Output: [N, C * kh * kw, OH *
// OW]: at (c, tap) and a place of the output the pixel of channel c at place * stride - padding + tap * dilation +
// shift, interpolated linearly between the pixels around, times the mask. Pixels outside of x are 0.
struct DeformableColumns {
  static constexpr std::string_view kName = "deformable_columns";
  std::vector<int64_t> kernel = {1, 1};
  std::vector<int64_t> strides = {1, 1};
  std::vector<int64_t> padding = {0, 0};
  std::vector<int64_t> dilations = {1, 1};
  int64_t groups = 1;
  bool hasMask = false;
  static constexpr auto fields =
      std::tuple{field("kernel", &DeformableColumns::kernel),   field("strides", &DeformableColumns::strides),
                 field("padding", &DeformableColumns::padding), field("dilations", &DeformableColumns::dilations),
                 field("groups", &DeformableColumns::groups),   field("hasMask", &DeformableColumns::hasMask)};

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
