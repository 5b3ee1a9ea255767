// Convolutions of channels-last images as products by warpgroups, whose rows are windows.
#pragma once

#include <optional>

#include "backends/cuda/cublas/point_convolution.h"
#include "backends/cuda/kernels/mma90/mma90_kernel.h"

namespace tenon::backends::cuda {

struct Mma90Convolution {
  PointConvolution point;           // the product; windows as rows of their channels
  std::optional<Mma90Image> image;  // where x is no matrix of pixels
  int64_t groups = 1;
  std::string refusal;  // why there is no such product, or empty

  Mma90Convolution(const ops::Convolution& op, const runtime::Shapes& shapes);
  Mma90Weights weights() const {
    auto result = Mma90Weights::of(point.shapes(nullptr), image ? image->allTaps() : 0, groups, false);
    result.isDeep = image && image->isDeep;
    return result;
  }
};

}  // namespace tenon::backends::cuda
