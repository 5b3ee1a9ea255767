// A convolution over images in numbers: what own kernels need of the operator and the shapes.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/dims.h"
#include "ops/op/convolution.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// The two spatial axes stand side by side, the one along which pixels lie behind the other.
struct Window {
  int64_t batch = 0, channels = 0, outChannels = 0;
  int64_t step = 0, outStep = 0;  // floats from pixel to pixel
  std::array<int64_t, 2> extent{}, out{}, size{}, stride{1, 1}, dilation{1, 1}, before{};

  int64_t outPixels() const { return batch * out[0] * out[1]; }
  // Extent with the padding that windows reach; not less than the image where windows leave some of it out.
  int64_t paddedExtent(size_t axis) const {
    return (out[axis] - 1) * stride[axis] + (size[axis] - 1) * dilation[axis] + 1;
  }
  // An image of one column: its pixels lie one behind another as those of a line do, along which kernels go.
  bool isColumn() const { return extent[1] == 1 && out[1] == 1 && size[1] == 1 && before[1] == 0; }
  void lieDown() {
    for (auto* numbers : {&extent, &out, &size, &stride, &dilation, &before}) std::swap((*numbers)[0], (*numbers)[1]);
  }
  bool endsInside() const {
    return paddedExtent(0) - before[0] <= extent[0] && paddedExtent(1) - before[1] <= extent[1];
  }
};

// x [N,C,H,W], w [K,C/g,R,S], y [N,K,P,Q].
inline Window makeWindow(const ops::Convolution& op, const Dims& w, const runtime::TensorShape& from,
                         const runtime::TensorShape& to, const SymbolValues* symbols) {
  const Dims& x = from.dims;
  const Dims& y = to.dims;
  Window window;
  window.step = runtime::pixelStep(from);
  window.outStep = runtime::pixelStep(to);
  window.batch = x[0];
  window.channels = x[1];
  window.outChannels = y[1];
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 2;
    window.extent[i] = x[axis];
    window.out[i] = y[axis];
    window.size[i] = w[axis];
    if (!op.strides.empty()) window.stride[i] = op.strides[i];
    if (!op.dilations.empty()) window.dilation[i] = op.dilations[i];
    if (op.prePadding.empty()) continue;
    const auto& padding = op.prePadding[i];
    window.before[i] = padding.isConstant() ? padding.constant() : padding.evaluate(*symbols);
  }
  if (window.isColumn()) window.lieDown();
  return window;
}

}  // namespace tenon::backends::cpu
