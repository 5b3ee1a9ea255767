// The operands of convolutions and deconvolutions as oneDNN sees them.
#pragma once

#include <dnnl.hpp>

#include "backends/cpu/kernels/dnnl/dnnl_common.h"
#include "backends/cpu/kernels/dnnl/window_slices.h"
#include "core/strided.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {

// Groups stand as an axis of their own in oneDNN. Convolution: [K,C/g,..] -> [g,K/g,C/g,..]; deconvolution:
// [C,K/g,..] -> [g,K/g,C/g,..], which is a transposed view. Computed ones stand in the layout of their tensor.
template <typename Op>
dnnl::memory::desc weightsDesc(const Dims& w, Layout layout, int64_t groups, bool plainTag) {
  constexpr bool kTransposed = std::is_same_v<Op, ops::Deconvolution>;
  dnnl::memory::dims dims;
  dnnl::memory::dims strides;
  const auto own = stridesOf(w, layout);
  const int64_t first = w[0] / groups;
  if (groups > 1) {
    dims.push_back(groups);
    strides.push_back(first * own[0]);
  }
  if (kTransposed) {
    dims.insert(dims.end(), {w[1], first});
    strides.insert(strides.end(), {own[1], own[0]});
  } else {
    dims.insert(dims.end(), {first, w[1]});
    strides.insert(strides.end(), {own[0], own[1]});
  }
  for (int axis = 2; axis < w.rank; ++axis) {
    dims.push_back(w[axis]);
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  if (plainTag) return stridedDesc(dims, strides);
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

// Of a problem or a slice of it; `w`: extents of its weights.
template <typename Op>
struct WindowOperands {
  WindowOperands(const WindowProblem& problem, const Dims& w, Layout layout, bool hasBias, bool weightsAreFixed)
      : x(dnnlDesc(problem.x.dims, problem.x.layout)),
        weights(weightsDesc<Op>(w, layout, problem.groups, !weightsAreFixed)),
        bias(hasBias ? dnnlDesc({problem.y.dims[1]}, Layout::kLinear) : dnnl::memory::desc()),
        y(dnnlDesc(problem.y.dims, problem.y.layout)) {}
  dnnl::memory::desc x, weights, bias, y;
};

}  // namespace tenon::backends::cpu
