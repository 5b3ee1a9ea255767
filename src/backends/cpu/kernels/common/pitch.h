// Pitches: row strides of tensors that are views of wider ones.
#pragma once

#include <algorithm>

#include "core/strided.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// stridesOf(), for a shape that may have a pitch.
inline Strides pitchedStrides(const runtime::TensorShape& shape) {
  auto strides = stridesOf(shape.dims, shape.layout);
  if (shape.pitch == 0) return strides;
  for (int axis = 0; axis < shape.dims.rank; ++axis) {
    if (axis != 1)
      strides[static_cast<size_t>(axis)] = strides[static_cast<size_t>(axis)] / shape.dims[1] * shape.pitch;
  }
  return strides;
}

// stridesWithin(), for a shape that may have a pitch.
inline Strides pitchedStridesWithin(const runtime::TensorShape& operand, const Dims& space) {
  const auto own = pitchedStrides(operand);
  Strides result{};
  const int offset = space.rank - operand.dims.rank;
  for (int axis = 0; axis < operand.dims.rank; ++axis) {
    if (operand.dims[axis] != 1) result[static_cast<size_t>(axis + offset)] = own[static_cast<size_t>(axis)];
  }
  return result;
}

// stridesWithinSplit(), for a shape that may have a pitch.
inline Strides pitchedWithinSplit(const runtime::TensorShape& operand, const Dims& space, int64_t block) {
  if (operand.pitch == 0) return stridesWithinSplit(operand.dims, operand.layout, space, block);
  const auto own = pitchedStridesWithin(operand, space);
  if (block == 1) return own;
  Strides result{own[0], own[1] * block};
  std::copy(own.begin() + 1, own.end() - 1, result.begin() + 2);
  return result;
}

}  // namespace tenon::backends::cpu
