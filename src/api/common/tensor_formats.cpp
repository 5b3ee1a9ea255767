// One row per format: which axis is innermost or in blocks, and of how many elements.
#include "api/common/tensor_formats.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace tenon::api {
namespace {

enum class Kind : uint8_t { kRows, kBlocks, kLast };

struct FormatRow {
  std::string_view name;
  Kind kind;
  int fromEnd;       // the axis of channels, counted from the end; 0: none
  int16_t elements;  // of a block, or to whose multiple channels are padded
  int16_t rowBytes;  // to whose multiple rows are padded
};

// In the order of nvinfer1::TensorFormat.
constexpr std::array kRows{
    FormatRow{"kLINEAR", Kind::kRows, 0, 1, 1},    FormatRow{"kCHW2", Kind::kBlocks, 3, 2, 1},
    FormatRow{"kHWC8", Kind::kLast, 3, 8, 1},      FormatRow{"kCHW4", Kind::kBlocks, 3, 4, 1},
    FormatRow{"kCHW16", Kind::kBlocks, 3, 16, 1},  FormatRow{"kCHW32", Kind::kBlocks, 3, 32, 1},
    FormatRow{"kDHWC8", Kind::kLast, 4, 8, 1},     FormatRow{"kCDHW32", Kind::kBlocks, 4, 32, 1},
    FormatRow{"kHWC", Kind::kLast, 3, 1, 1},       FormatRow{"kDLA_LINEAR", Kind::kRows, 0, 1, 64},
    FormatRow{"kDLA_HWC4", Kind::kLast, 3, 4, 32}, FormatRow{"kHWC16", Kind::kLast, 3, 16, 1},
    FormatRow{"kDHWC", Kind::kLast, 4, 1, 1},
};
static_assert(kRows.size() == static_cast<size_t>(nv::EnumMax<nv::TensorFormat>()));

constexpr auto kDlaPixels = nv::TensorFormat::kDLA_HWC4;

const FormatRow& rowOf(nv::TensorFormat format) { return kRows.at(static_cast<size_t>(format)); }

Layout layoutOf(const FormatRow& row, DataType type, int rank, int16_t elements) {
  Layout layout;
  const auto axis = static_cast<int8_t>(rank - row.fromEnd);
  if (row.kind == Kind::kLast) {
    layout.innermost = axis;
    layout.multiple = elements;
  } else if (row.kind == Kind::kBlocks) {
    layout.blockedAxis = axis;
    layout.block = elements;
  }
  layout.rowMultiple = static_cast<int16_t>(std::max(1, row.rowBytes * 8 / bits(type)));
  return layout;
}

}  // namespace

Layout layoutOf(nv::TensorFormat format, DataType type, const Shape& shape) {
  const auto& row = rowOf(format);
  const auto rank = static_cast<int>(shape.size());
  if (format == nv::TensorFormat::kLINEAR) return {};
  if (bits(type) < 8)
    throw Unsupported("{} cannot hold {}: its elements are smaller than a byte", row.name, name(type));
  if (rank < std::max(1, row.fromEnd))
    throw Unsupported("{} wants at least {} dimensions; the tensor has {}", row.name, std::max(1, row.fromEnd), rank);
  int16_t elements = row.elements;
  if (format == kDlaPixels) {
    const auto& channels = shape[static_cast<size_t>(rank - row.fromEnd)];
    if (!channels.isConstant(1) && !channels.isConstant(3) && !channels.isConstant(4))
      throw Unsupported("{} wants 1, 3 or 4 channels; the tensor has {}", row.name, channels.text());
    if (channels.isConstant(1)) elements = 1;
  }
  return layoutOf(row, type, rank, elements);
}

std::vector<Layout> allowedLayouts(nv::TensorFormats formats, DataType type, const Shape& shape,
                                   std::string_view tensor) {
  constexpr nv::TensorFormats kAll = (1U << nv::EnumMax<nv::TensorFormat>()) - 1;
  if (formats == 0 || (formats & kAll) == kAll) return {};
  std::vector<Layout> layouts;
  std::string refusals;
  for (size_t i = 0; i < kRows.size(); ++i) {
    if ((formats >> i & 1U) == 0) continue;
    try {
      layouts.push_back(layoutOf(static_cast<nv::TensorFormat>(i), type, shape));
    } catch (const Unsupported& error) {
      refusals += fmt::format("{}{}", refusals.empty() ? "" : "; ", error.what());
    }
  }
  if (layouts.empty()) {
    throw Unsupported("tensor '{}': it can have none of the allowed formats (mask {:#x}): {}. Allow kLINEAR (bit 0)",
                      tensor, formats, refusals.empty() ? "the mask names no format" : refusals);
  }
  return layouts;
}

FormatFacts factsOf(Layout layout, int rank) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    const auto format = static_cast<nv::TensorFormat>(i);
    const auto& row = kRows[i];
    if (rank < row.fromEnd) continue;
    // Row multiples are in elements; which type those have does not matter here.
    const bool padsRows = layout.rowMultiple > 1;
    if (padsRows != (row.rowBytes > 1)) continue;
    for (const int16_t elements : {row.elements, int16_t{1}}) {
      auto wanted = layoutOf(row, DataType::kI8, rank, elements);
      wanted.rowMultiple = layout.rowMultiple;
      if (wanted != layout || (elements != row.elements && format != kDlaPixels)) continue;
      const bool isVector = elements > 1;
      return {format, row.name, isVector ? rank - row.fromEnd : -1, isVector ? elements : -1};
    }
  }
  throw InternalError("layout {} of an input or output of {} dimensions has no TensorFormat", name(layout), rank);
}

nv::Dims stridesOf(const Dims& dims, Layout layout) {
  const int64_t vector = std::max<int64_t>(layout.block, layout.multiple);
  const int vectorAxis = std::max<int>(layout.blockedAxis, layout.innermost);  // one of them is none
  nv::Dims strides{dims.rank, {}};
  int64_t stride = 1;
  const auto place = [&](int axis) {
    strides.d[axis] = stride;
    const int64_t extent = axis == vectorAxis && dims[axis] >= 0 ? (dims[axis] + vector - 1) / vector : dims[axis];
    stride = stride < 0 || extent < 0 ? -1 : stride * extent;
  };
  if (layout.innermost >= 0 && layout.innermost < dims.rank) place(layout.innermost);
  bool isRow = true;
  for (int axis = dims.rank - 1; axis >= 0; --axis) {
    if (axis == layout.innermost) continue;
    place(axis);
    const int64_t multiple = std::max<int64_t>(1, layout.rowMultiple / vector);
    if (isRow && stride > 0) stride = (stride + multiple - 1) / multiple * multiple;
    isRow = false;
  }
  return strides;
}

}  // namespace tenon::api
