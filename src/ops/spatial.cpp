// Extents and positions of sliding windows.
#include "ops/spatial.h"

#include "ops/scalar_math.h"

namespace tenon::ops {

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
  for (const auto stride : attributes.strides) context.check(stride > 0, "stride {} is not above zero", stride);
  for (const auto dilation : attributes.dilations)
    context.check(dilation > 0, "dilation {} is not above zero", dilation);
}

Extent windowedExtent(const InferContext& context, const SpatialAttributes& attributes, size_t axis, const Extent& in,
                      const Extent& kernel, bool roundUp) {
  context.check(!kernel.isConstant() || kernel.constant() > 0, "kernel extent {} of spatial axis {} is not above zero",
                kernel.text(), axis);
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

int64_t smallCount(const Windows& windows) noexcept {
  return windows[0].small * windows[1].small * windows[2].small;
}
int64_t largeCount(const Windows& windows) noexcept {
  return windows[0].large * windows[1].large * windows[2].large;
}
int64_t kernelCount(const Windows& windows) noexcept {
  return windows[0].kernel * windows[1].kernel * windows[2].kernel;
}

}  // namespace tenon::ops
