// Names of layouts.
#include "core/layout.h"

#include <charconv>

namespace tenon {
namespace {

constexpr int kMostElements = 4096;  // of a block or a multiple: more is no layout of anybody

// Takes `word` and the number behind it from the front of the text.
std::optional<int> number(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  int value = 0;
  const char* const begin = text.data() + word.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || *begin < '0' || *begin > '9' || value > kMostElements) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string name(const Layout& layout) {
  if (layout == Layout::kLinear) return "linear";
  if (layout == Layout::kChannelsLast) return "channels_last";
  if (layout == Layout::kBlocked8) return "blocked8";
  if (layout == Layout::kBlocked16) return "blocked16";
  std::string result = "linear";
  if (layout.innermost >= 0) result = fmt::format("axis{}_last", layout.innermost);
  if (layout.blockedAxis >= 0) result = fmt::format("axis{}_blocked{}", layout.blockedAxis, layout.block);
  if (layout.multiple > 1) result += fmt::format("_by{}", layout.multiple);
  if (layout.rowMultiple > 1) result += fmt::format("_rows{}", layout.rowMultiple);
  return result;
}

std::optional<Layout> parseLayout(std::string_view text) {
  for (const auto& known : {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16}) {
    if (name(known) == text) return known;
  }
  Layout layout;
  const auto whole = text;
  if (!take(text, "linear")) {
    const auto axis = number(text, "axis");
    if (!axis || *axis >= kMaxRank) return std::nullopt;
    if (take(text, "_last")) {
      layout.innermost = static_cast<int8_t>(*axis);
      if (const auto by = number(text, "_by")) layout.multiple = static_cast<int16_t>(*by);
    } else if (const auto block = number(text, "_blocked"); block && *block > 1) {
      layout.blockedAxis = static_cast<int8_t>(*axis);
      layout.block = static_cast<int16_t>(*block);
    } else {
      return std::nullopt;
    }
  }
  if (const auto rows = layout.blockedAxis < 0 ? number(text, "_rows") : std::nullopt)
    layout.rowMultiple = static_cast<int16_t>(*rows);
  // What has another name, as channels in blocks of none, is none.
  if (!text.empty() || layout.block < 1 || layout.multiple < 1 || layout.rowMultiple < 1 || name(layout) != whole)
    return std::nullopt;
  return layout;
}

}  // namespace tenon
