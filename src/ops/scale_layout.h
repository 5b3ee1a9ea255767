// Which scale belongs to which element: what quantize and dequantize share.
#pragma once

#include "ops/operator.h"
#include "ops/strides.h"

namespace tenon::ops {

// Checks scale (input 1) and zero point (input 2, optional) against x: one element, one per index of `axis`, or blocks.
void checkScale(const InferContext& context, int64_t axis);

// Offset of the scale for an index of x.
class ScaleLayout {
 public:
  ScaleLayout(const Dims& x, const Dims& scale, int64_t axis);
  int64_t offset(const IndexIterator& i) const noexcept;

 private:
  int rank_;
  Strides block_{};    // elements of x per scale, by axis
  Strides strides_{};  // of the scale, by axis of x
};

}  // namespace tenon::ops
