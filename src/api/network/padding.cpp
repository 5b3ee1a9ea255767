// The arithmetic of padding modes.
#include "api/network/padding.h"

#include <algorithm>

#include "api/common/convert.h"

namespace tenon::api {
namespace {

bool isSame(nv::PaddingMode mode) {
  return mode == nv::PaddingMode::kSAME_UPPER || mode == nv::PaddingMode::kSAME_LOWER;
}

int64_t span(const Window& window, int axis) { return window.dilation[axis] * (window.kernel[axis] - 1) + 1; }

// Half of the total on each side; the odd one behind (kSAME_UPPER) or in front.
void split(const Extent& total, nv::PaddingMode mode, Padding& padding) {
  const Extent half = floorDiv(total, 2);
  const bool upper = mode == nv::PaddingMode::kSAME_UPPER;
  padding.pre.push_back(upper ? half : total - half);
  padding.post.push_back(upper ? total - half : half);
}

}  // namespace

Padding samePadding(const Window& window, const Shape& spatial) {
  if (!isSame(window.mode)) return {toShape(window.prePadding), toShape(window.postPadding)};
  Padding padding;
  for (int axis = 0; axis < window.kernel.rank; ++axis) {
    const Extent& in = spatial.at(static_cast<size_t>(axis));
    const Extent out = ceilDiv(in, window.stride[axis]);
    split(max((out - Extent(1)) * Extent(window.stride[axis]) + Extent(span(window, axis)) - in, 0), window.mode,
          padding);
  }
  return padding;
}

Padding slidingPadding(const Window& window, const Shape& spatial) {
  Padding padding = samePadding(window, spatial);
  if (window.mode != nv::PaddingMode::kEXPLICIT_ROUND_UP) return padding;
  for (int axis = 0; axis < window.kernel.rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    const Extent room = spatial.at(at) + padding.pre[at] + padding.post[at] - Extent(span(window, axis));
    padding.post[at] = padding.post[at] + ceilDiv(room, window.stride[axis]) * Extent(window.stride[axis]) - room;
  }
  return padding;
}

Padding deconvolutionPadding(const Window& window) {
  if (!isSame(window.mode)) return {toShape(window.prePadding), toShape(window.postPadding)};
  Padding padding;
  for (int axis = 0; axis < window.kernel.rank; ++axis) {
    const int64_t total = span(window, axis) - window.stride[axis];
    const int64_t shared = std::max<int64_t>(total, 0);
    split(shared, window.mode, padding);
    padding.post.back() = padding.post.back() + Extent(total - shared);  // a short kernel: zeros behind the output
  }
  return padding;
}

Dims windowDims(const nv::Dims& dims, int rank, int64_t lowest, int64_t fill, std::string_view what) {
  if (dims.nbDims <= 0) return fromApi(filledDims(rank, fill), what, lowest);
  checkUser(dims.nbDims == rank, "{} {} has {} entries; expected {}, one per spatial dimension", what, text(dims),
            dims.nbDims, rank);
  return fromApi(dims, what, lowest);
}

bool allZero(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Extent& extent) { return extent.isConstant(0); });
}

}  // namespace tenon::api
