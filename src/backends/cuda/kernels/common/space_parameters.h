// Index spaces as launches pass them to kernels. Like each *_parameters.h it is read by the host's compiler and by
// NVRTC, so that what both must agree on is written once: types and constants, no functions, no headers but <cstdint>
// and others of its kind.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kMaxAxes = 8;

// Division by a number known before the launch: n / divisor = (high 32 bits of n * multiplier + n) >> shift, for n
// below 2^31. Made by dividerBy() of space.h.
struct Divider {
  uint32_t divisor = 1;
  uint32_t multiplier = 1;
  uint32_t shift = 0;
};

// An index space with one operand or more; the innermost axis is the last of `axes`. Filled by setSpace() of space.h.
template <int kOperands>
struct Space {
  int64_t count = 0;
  int32_t axes = 0;
  Divider divider[kMaxAxes];
  int64_t extent[kMaxAxes] = {};
  int64_t stride[kOperands][kMaxAxes] = {};
};

}  // namespace tenon::backends::cuda
