// Windows that slide over 1, 2 or 3 spatial axes: what convolution, deconvolution and pooling share.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "ops/operator.h"

namespace tenon::ops {

// The attributes of windowed operators with empty lists filled in; one entry per spatial axis.
struct SpatialAttributes {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Shape prePadding;
  Shape postPadding;
};

// Attributes of an operator T for so many spatial axes. T has strides, prePadding and postPadding; dilations when it
// has them.
template <typename T>
SpatialAttributes spatialAttributes(const T& op, size_t axes) {
  SpatialAttributes result{op.strides, {}, op.prePadding, op.postPadding};
  if constexpr (requires { op.dilations; }) result.dilations = op.dilations;
  if (result.strides.empty()) result.strides.assign(axes, 1);
  if (result.dilations.empty()) result.dilations.assign(axes, 1);
  if (result.prePadding.empty()) result.prePadding.assign(axes, 0);
  if (result.postPadding.empty()) result.postPadding.assign(axes, 0);
  return result;
}

// Checks that the attributes fit `axes` spatial axes (1 to 3) and are above zero where they must be.
void checkSpatial(const InferContext& context, const SpatialAttributes& attributes, int axes);

// Extent of the output of a window over an axis: round((in + pre + post - (dilation * (kernel - 1) + 1)) / stride) + 1.
Extent windowedExtent(const InferContext& context, const SpatialAttributes& attributes, size_t axis, const Extent& in,
                      const Extent& kernel, bool roundUp);
// The inverse: (in - 1) * stride + dilation * (kernel - 1) + 1 - pre - post.
Extent unwindowedExtent(const SpatialAttributes& attributes, size_t axis, const Extent& in, const Extent& kernel);

// One spatial axis with concrete extents. Position s of the small side and tap t of the kernel meet position
// s * stride + t * dilation - before of the large side (the input of a convolution, the output of a deconvolution).
struct Window {
  int64_t small = 1;
  int64_t large = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
  int64_t after = 0;

  int64_t position(int64_t s, int64_t t) const noexcept { return s * stride + t * dilation - before; }
  // The positions [first, second) of the small side that meet the inside of the large one under tap t.
  std::pair<int64_t, int64_t> inside(int64_t t) const noexcept;
  // The taps [first, second) that may meet the inside of the large side at all: few of a long kernel over padding.
  std::pair<int64_t, int64_t> taps() const noexcept;
};

// Always three axes; missing leading ones have extent 1.
using Windows = std::array<Window, 3>;

// `small` and `large` are tensors [N,C,spatial...]; the kernel has one extent per spatial axis.
Windows makeWindows(const EvalContext& context, const SpatialAttributes& attributes, const Dims& small,
                    const Dims& large, const std::vector<int64_t>& kernel);

int64_t smallCount(const Windows& windows) noexcept;
int64_t largeCount(const Windows& windows) noexcept;
int64_t kernelCount(const Windows& windows) noexcept;

// Calls visit(tap, small, large, count) for runs along the last axis: for j < count, position small + j of the small
// side meets large + j * windows[2].stride of the large side under the tap. All are row-major offsets.
template <typename Visit>
void eachRun(const Windows& w, Visit visit) {
  const auto zTaps = w[0].taps();
  const auto yTaps = w[1].taps();
  const auto xTaps = w[2].taps();
  for (int64_t tz = zTaps.first; tz < zTaps.second; ++tz) {
    const auto [z0, z1] = w[0].inside(tz);
    for (int64_t ty = yTaps.first; ty < yTaps.second; ++ty) {
      const auto [y0, y1] = w[1].inside(ty);
      for (int64_t tx = xTaps.first; tx < xTaps.second; ++tx) {
        const auto [x0, x1] = w[2].inside(tx);
        if (x0 >= x1) continue;
        const int64_t tap = (tz * w[1].kernel + ty) * w[2].kernel + tx;
        for (int64_t z = z0; z < z1; ++z) {
          for (int64_t y = y0; y < y1; ++y) {
            const int64_t small = (z * w[1].small + y) * w[2].small + x0;
            const int64_t large =
                (w[0].position(z, tz) * w[1].large + w[1].position(y, ty)) * w[2].large + w[2].position(x0, tx);
            visit(tap, small, large, x1 - x0);
          }
        }
      }
    }
  }
}

}  // namespace tenon::ops
