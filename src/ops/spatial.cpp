// Extents and positions of sliding windows.
#include "ops/spatial.h"

#include "ops/scalar_math.h"

namespace tenon::ops {
namespace {

// Of strides, dilations, padding and kernels: positions computed from them stay within 64 bits.
constexpr int64_t kMostSteps = INT32_MAX;

}  // namespace

void checkSpatial(const InferContext& context, const SpatialAttributes& attributes, int axes) {
  context.check(axes >= 1 && axes <= 3, "the input has {} spatial axes (rank {}), expected 1 to 3", axes, axes + 2);
  const auto checkCount = [&](size_t count, std::string_view role) {
    context.check(count == static_cast<size_t>(axes), "{} has {} entries, expected one per spatial axis: {}", role,
                  count, axes);
  };
  checkCount(attributes.strides.size(), "strides");
  checkCount(attributes.dilations.size(), "dilations");
  checkCount(attributes.prePadding.size(), "pre-padding");
  checkCount(attributes.postPadding.size(), "post-padding");
  for (const auto stride : attributes.strides)
    context.check(stride > 0 && stride <= kMostSteps, "stride {} is not in 1 to {}", stride, kMostSteps);
  for (const auto dilation : attributes.dilations)
    context.check(dilation > 0 && dilation <= kMostSteps, "dilation {} is not in 1 to {}", dilation, kMostSteps);
  for (const auto* padding : {&attributes.prePadding, &attributes.postPadding}) {
    for (const auto& extent : *padding) {
      if (!extent.isConstant()) continue;
      const int64_t value = extent.constant();
      context.check(value >= -kMostSteps && value <= kMostSteps, "padding {} is not in {} to {}", value, -kMostSteps,
                    kMostSteps);
    }
  }
}

Extent windowedExtent(const InferContext& context, const SpatialAttributes& attributes, size_t axis, const Extent& in,
                      const Extent& kernel, bool roundUp) {
  context.check(!kernel.isConstant() || (kernel.constant() > 0 && kernel.constant() <= kMostSteps),
                "kernel extent {} of spatial axis {} is not in 1 to {}", kernel.text(), axis, kMostSteps);
  const Extent covered = Extent(attributes.dilations[axis]) * (kernel - 1) + 1;
  const Extent padded = in + attributes.prePadding[axis] + attributes.postPadding[axis];
  const Extent room = padded - covered;
  context.check(!room.isConstant() || room.constant() >= 0,
                "the kernel covers {} elements of spatial axis {}, the padded input has {}", covered.text(), axis,
                padded.text());
  const Extent stride(attributes.strides[axis]);
  return (roundUp ? ceilDiv(room, stride) : floorDiv(room, stride)) + 1;
}

Extent unwindowedExtent(const SpatialAttributes& attributes, size_t axis, const Extent& in, const Extent& kernel) {
  const Extent covered = Extent(attributes.dilations[axis]) * (kernel - 1) + 1;
  return (in - 1) * Extent(attributes.strides[axis]) + covered - attributes.prePadding[axis] -
         attributes.postPadding[axis];
}

std::pair<int64_t, int64_t> Window::inside(int64_t t) const noexcept {
  const int64_t shift = t * dilation - before;
  const int64_t first = -scalar_math::floorDivide(shift, stride);  // ceil(-shift / stride)
  const int64_t last = scalar_math::floorDivide(large - 1 - shift, stride) + 1;
  return {std::max<int64_t>(first, 0), std::min(last, small)};
}

std::pair<int64_t, int64_t> Window::taps() const noexcept {
  const int64_t first = -scalar_math::floorDivide((small - 1) * stride - before, dilation);  // of the last position
  const int64_t last = scalar_math::floorDivide(large - 1 + before, dilation) + 1;           // of the first one
  return {std::max<int64_t>(first, 0), std::min(last, kernel)};
}

Windows makeWindows(const EvalContext& context, const SpatialAttributes& attributes, const Dims& small,
                    const Dims& large, const std::vector<int64_t>& kernel) {
  Windows windows;
  const size_t axes = kernel.size();
  for (size_t i = 0; i < axes; ++i) {
    const int axis = static_cast<int>(i) + 2;
    windows[3 - axes + i] = {small[axis],
                             large[axis],
                             kernel[i],
                             attributes.strides[i],
                             attributes.dilations[i],
                             context.value(attributes.prePadding[i]),
                             context.value(attributes.postPadding[i])};
  }
  return windows;
}

int64_t smallCount(const Windows& windows) noexcept { return windows[0].small * windows[1].small * windows[2].small; }
int64_t largeCount(const Windows& windows) noexcept { return windows[0].large * windows[1].large * windows[2].large; }
int64_t kernelCount(const Windows& windows) noexcept {
  return windows[0].kernel * windows[1].kernel * windows[2].kernel;
}

}  // namespace tenon::ops
