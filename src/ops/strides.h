// Index arithmetic that evaluations share: strides of broadcast inputs, copies of elements of any type.
#pragma once

#include <vector>

#include "core/dims.h"

namespace tenon::ops {

using Strides = std::array<int64_t, kMaxRank>;

// Strides of a tensor of extents `input` within the index space `output`, aligned at the right: 0 where it broadcasts.
Strides broadcastStrides(const Dims& input, const Dims& output);

// Copies elements bit by bit, packed 4-bit ones as well. Both tensors have one type.
class ElementCopy {
 public:
  ElementCopy(const TensorView& from, const TensorView& to) : from_(from), to_(to), bits_(bits(from.dtype)) {}
  void operator()(int64_t fromIndex, int64_t toIndex) const noexcept;

 private:
  TensorView from_;
  TensorView to_;
  int bits_;
};

void copyAll(const TensorView& from, const TensorView& to) noexcept;

// The elements as doubles, for loops that read each of them often.
std::vector<double> toDoubles(const TensorView& tensor);

}  // namespace tenon::ops
