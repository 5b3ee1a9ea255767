// Copies of single slices along an axis of a row-major tensor of whole bytes.
#pragma once

#include <algorithm>

#include "core/dims.h"

namespace tenon::ops {

struct SliceCopy {
  SliceCopy(const TensorView& whole, int64_t axis) : whole(whole), extent(whole.dims[static_cast<int>(axis)]) {
    inner = bytesOf(whole.dtype, 1);
    for (int i = 0; i < whole.dims.rank; ++i) {
      if (i < axis) outer *= static_cast<size_t>(whole.dims[i]);
      if (i > axis) inner *= static_cast<size_t>(whole.dims[i]);
    }
  }

  char* at(size_t row, int64_t index) const {
    return static_cast<char*>(whole.data) + (row * static_cast<size_t>(extent) + static_cast<size_t>(index)) * inner;
  }
  void read(int64_t index, void* slice) const {
    for (size_t row = 0; row < outer; ++row)
      std::copy_n(at(row, index), inner, static_cast<char*>(slice) + row * inner);
  }
  void write(int64_t index, const void* slice) const {
    for (size_t row = 0; row < outer; ++row)
      std::copy_n(static_cast<const char*>(slice) + row * inner, inner, at(row, index));
  }
  // The first `count` slices in the opposite order.
  void reverse(int64_t count) const {
    for (size_t row = 0; row < outer; ++row) {
      for (int64_t a = 0, b = count - 1; a < b; ++a, --b) std::swap_ranges(at(row, a), at(row, a) + inner, at(row, b));
    }
  }

  TensorView whole;
  int64_t extent;
  size_t outer = 1;
  size_t inner = 1;  // bytes
};

inline Dims withoutAxis(const Dims& dims, int64_t axis) {
  Dims result;
  for (int i = 0; i < dims.rank; ++i) {
    if (i != axis) result.push(dims[i]);
  }
  return result;
}

}  // namespace tenon::ops
