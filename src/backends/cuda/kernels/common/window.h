// Windowed operators as kernels take them: always three spatial axes.
#pragma once

#include <limits>

#include "core/error.h"
#include "core/strided.h"
#include "ops/spatial.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

inline int32_t int32Of(int64_t value) {
  checkUser(value <= std::numeric_limits<int32_t>::max() && value >= std::numeric_limits<int32_t>::min(),
            "an extent or parameter of a window is {}; kernels take 32 bits", value);
  return static_cast<int32_t>(value);
}

// Strides of [N,C,spatial...] as those of [N,C,z,y,x]; missing leading axes stand still.
inline void spreadStrides(const Strides& strides, int rank, int64_t* result) {
  result[0] = strides[0];
  result[1] = strides[1];
  for (int k = 0; k < 3; ++k) {
    const int axis = k - (5 - rank);
    result[2 + k] = axis < 0 ? 0 : strides[static_cast<size_t>(axis + 2)];
  }
}
inline void spreadStrides(const runtime::TensorShape& shape, int64_t* result) {
  spreadStrides(stridesOf(shape.dims, shape.layout), shape.dims.rank, result);
}

}  // namespace tenon::backends::cuda
