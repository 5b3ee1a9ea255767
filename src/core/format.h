// Memory formats of tensors below the API.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon {

// kLinear is row-major. kChannelsLast keeps extents in their order but stores axis 1 innermost (NHWC, NDHWC).
// kBlocked8 / kBlocked16 split axis 1 into blocks stored innermost (nChw8c, nChw16c), padded with zeros.
enum class Format : uint8_t { kLinear, kChannelsLast, kBlocked8, kBlocked16 };

constexpr auto enumNames(Format) {
  return std::array<std::string_view, 4>{"linear", "channels_last", "blocked8", "blocked16"};
}
constexpr std::string_view name(Format format) { return enumNames(format)[static_cast<size_t>(format)]; }

}  // namespace tenon
