// Blocked axes are split where both layouts have a stride; what is left behind the last whole block is a copy of its
// own.
#include "core/relayout.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/storage.h"
#include "core/strided.h"

namespace tenon {
namespace {

// Offsets of positions along the axes of a tensor in one layout.
class Offsets {
 public:
  Offsets(const Dims& dims, Layout layout) : layout_(layout) {
    if (layout_.blockedAxis >= dims.rank) layout_.blockedAxis = -1;
    if (layout_.blockedAxis < 0) {
      strides_ = stridesOf(dims, layout);
      return;
    }
    checkInternal(layout.innermost < 0 && layout.rowMultiple == 1, "layout {} has no offsets", name(layout));
    int64_t stride = layout.block;
    for (int axis = dims.rank - 1; axis >= 0; --axis) {
      strides_[static_cast<size_t>(axis)] = stride;
      stride *= (dims[axis] + blockOf(axis) - 1) / blockOf(axis);
    }
  }
  int64_t blockOf(int axis) const { return axis == layout_.blockedAxis ? layout_.block : 1; }
  int64_t at(int axis, int64_t position) const {
    const int64_t block = blockOf(axis);
    return position / block * strides_[static_cast<size_t>(axis)] + position % block;
  }

 private:
  Layout layout_;
  Strides strides_{};
};

// One axis of a region, split into up to three.
struct Piece {
  int64_t begin = 0;
  std::vector<std::pair<int64_t, int64_t>> parts;  // extent and step in positions
};

std::vector<Piece> split(int64_t extent, int64_t small, int64_t big) {
  std::vector<Piece> pieces;
  const int64_t whole = extent / big * big;
  if (whole > 0) pieces.push_back({0, {{whole / big, big}, {big / small, small}, {small, 1}}});
  const int64_t most = extent / small * small;
  if (most > whole) pieces.push_back({whole, {{(most - whole) / small, small}, {small, 1}}});
  if (extent > most) pieces.push_back({most, {{extent - most, 1}}});
  return pieces;
}

template <typename T>
void copyRegion(const CopyRegion& region, const T* from, T* to, int axis) {
  if (region.space.rank == 0) {
    *to = *from;
    return;
  }
  const int64_t extent = region.space[axis];
  const int64_t fromStep = region.from[static_cast<size_t>(axis)], toStep = region.to[static_cast<size_t>(axis)];
  for (int64_t i = 0; i < extent; ++i) {
    if (axis + 1 == region.space.rank) {
      to[i * toStep] = from[i * fromStep];
    } else {
      copyRegion(region, from + i * fromStep, to + i * toStep, axis + 1);
    }
  }
}

template <typename T>
void copyRegions(const std::vector<CopyRegion>& regions, const void* from, void* to) {
  for (const auto& region : regions)
    copyRegion(region, static_cast<const T*>(from) + region.fromOffset, static_cast<T*>(to) + region.toOffset, 0);
}

}  // namespace

std::vector<CopyRegion> relayout(const Dims& dims, Layout from, Layout to) {
  std::vector<CopyRegion> regions;
  if (dims.count() == 0) return regions;
  const Offsets source(dims, from), target(dims, to);
  regions.emplace_back();
  for (int axis = 0; axis < dims.rank; ++axis) {
    const auto [small, big] = std::minmax({source.blockOf(axis), target.blockOf(axis)});
    if (big % small != 0) throw Unsupported("no copy leads from layout {} to {}", name(from), name(to));
    std::vector<CopyRegion> next;
    for (const auto& piece : split(dims[axis], small, big)) {
      for (CopyRegion region : regions) {
        region.fromOffset += source.at(axis, piece.begin);
        region.toOffset += target.at(axis, piece.begin);
        for (const auto& [extent, step] : piece.parts) {
          if (extent == 1) continue;
          if (region.space.rank == kMaxRank)
            throw Unsupported("{} has too many axes to go from layout {} to {}", dims.text(), name(from), name(to));
          region.from[static_cast<size_t>(region.space.rank)] = source.at(axis, step);
          region.to[static_cast<size_t>(region.space.rank)] = target.at(axis, step);
          region.space.push(extent);
        }
        next.push_back(region);
      }
    }
    regions = std::move(next);
  }
  return regions;
}

Layout withoutPadding(const Shape& shape, Layout layout) {
  const auto rank = static_cast<int>(shape.size());
  const auto dividedBy = [&](int axis, int64_t by) {
    const auto& extent = shape[static_cast<size_t>(axis)];
    return by == 1 || (extent.isConstant() && extent.constant() % by == 0);
  };
  if (layout.innermost >= rank) layout.innermost = -1;
  if (layout.blockedAxis >= rank) layout.blockedAxis = -1;
  if (layout.blockedAxis < 0) {
    layout.block = 1;
  } else if (shape[static_cast<size_t>(layout.blockedAxis)].isConstant(layout.block)) {  // one block
    layout = {layout.blockedAxis};
  }
  if (layout.innermost >= 0 && dividedBy(layout.innermost, layout.multiple)) layout.multiple = 1;
  if (layout.innermost < 0) layout.multiple = 1;
  if (layout.rowMultiple > 1) {
    const int row = layout.innermost == rank - 1 ? rank - 2 : rank - 1;
    Extent elements = row < 0 ? Extent(1) : shape[static_cast<size_t>(row)];
    if (layout.innermost >= 0 && layout.innermost != row)
      elements =
          elements * ceilDiv(shape[static_cast<size_t>(layout.innermost)], layout.multiple) * Extent(layout.multiple);
    if (elements.isConstant() && elements.constant() % layout.rowMultiple == 0) layout.rowMultiple = 1;
  }
  if (layout.multiple == 1 && layout.innermost >= 0) {
    // The axis is innermost anyway, has nothing within it, or is nothing itself.
    const bool isOne = shape[static_cast<size_t>(layout.innermost)].isConstant(1);
    const auto behind = shape.begin() + layout.innermost + 1;
    if (isOne || std::all_of(behind, shape.end(), [](const Extent& e) { return e.isConstant(1); }))
      layout.innermost = -1;
  }
  return layout;
}

void copyTo(Layout layout, const TensorView& tensor, Layout from, void* to) {
  if (from == layout) {
    std::memcpy(to, tensor.data, storageBytes(tensor.dtype, tensor.dims, layout));
    return;
  }
  if (bits(tensor.dtype) < 8) {
    throw Unsupported("a tensor of {} cannot go from layout {} to {}: its elements are smaller than a byte",
                      name(tensor.dtype), name(from), name(layout));
  }
  if (!layout.isDense()) std::memset(to, 0, storageBytes(tensor.dtype, tensor.dims, layout));
  const auto regions = relayout(tensor.dims, from, layout);
  switch (bits(tensor.dtype) / 8) {
    case 1: return copyRegions<uint8_t>(regions, tensor.data, to);
    case 2: return copyRegions<uint16_t>(regions, tensor.data, to);
    case 4: return copyRegions<uint32_t>(regions, tensor.data, to);
    default: return copyRegions<uint64_t>(regions, tensor.data, to);
  }
}

}  // namespace tenon
