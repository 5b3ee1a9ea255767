// Memory layouts of tensors below the API.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dims.h"
#include "core/fields.h"

namespace tenon {

// Where the elements of a tensor lie, as a value that does not depend on its extents. The axes keep their order but for
// at most one: it is innermost, or split into blocks whose positions are innermost.
struct Layout {
  int8_t innermost = -1;    // axis stored innermost, padded to `multiple` elements; -1: the last one, row-major
  int8_t blockedAxis = -1;  // axis in blocks of `block` elements, which are innermost and padded; -1: none
  int16_t block = 1;
  int16_t multiple = 1;
  int16_t rowMultiple = 1;  // elements to whose multiple each row is padded: the last axis, with `innermost` within it

  auto operator<=>(const Layout&) const = default;

  static const Layout kLinear;        // row-major
  static const Layout kChannelsLast;  // axis 1 innermost: NHWC, NDHWC
  static const Layout kBlocked8;      // axis 1 in blocks: nChw8c
  static const Layout kBlocked16;

  // Nothing is padded, whatever the extents.
  bool isDense() const noexcept { return block == 1 && multiple == 1 && rowMultiple == 1; }
  // Whether tensors of this rank have the axes that the layout names.
  bool fits(int rank) const noexcept { return innermost < rank && blockedAxis < rank; }
};
inline constexpr Layout Layout::kLinear{};
inline constexpr Layout Layout::kChannelsLast{1};
inline constexpr Layout Layout::kBlocked8{-1, 1, 8};
inline constexpr Layout Layout::kBlocked16{-1, 1, 16};

// linear, channels_last, blocked8, blocked16; others by their fields: axis1_last_by8, axis1_blocked32, linear_rows64.
// An identifier, which stands in plans, timing caches and logs.
std::string name(const Layout& layout);
// The layout of a name; none where it is not of that form.
std::optional<Layout> parseLayout(std::string_view name);

template <>
struct FieldText<Layout> {
  static std::string write(const Layout& value) { return name(value); }
  static Layout read(TextReader& in) {
    const auto text = in.identifier();
    const auto layout = parseLayout(text);
    if (!layout) in.fail(fmt::format("'{}' is not the name of a memory layout", text));
    return *layout;
  }
};

}  // namespace tenon
