// Copies of tensors from one memory layout to another, as few strided copies.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dims.h"
#include "core/layout.h"
#include "core/strided.h"

namespace tenon {

// A strided copy: element (i...) of `space` goes from fromOffset + sum(i * from) to toOffset + sum(i * to), in
// elements.
struct CopyRegion {
  Dims space;
  Strides from{}, to{};
  int64_t fromOffset = 0, toOffset = 0;
};

// What takes a tensor from one layout to another; padding of the target is not written. Axes of extent 1 are left out.
// Throws Unsupported where neither of two blocks of one axis divides the other, or where more than kMaxRank axes
// remain.
std::vector<CopyRegion> relayout(const Dims& dims, Layout from, Layout to);

// The layout without what makes no difference to tensors of this shape, whatever its open extents are: layouts of equal
// results place every element alike.
Layout withoutPadding(const Shape& shape, Layout layout);

// The same on the host, padding zeroed. `to` has storageBytes() of its layout. Throws Unsupported for elements of less
// than a byte in layouts other than row-major.
void copyTo(Layout layout, const TensorView& tensor, Layout from, void* to);

}  // namespace tenon
