// Text that may come from a model or another file, made safe for a log and a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenon {

//! What becomes of a line break: a single line shows it as \n; in a message of several lines the next one is indented, so
//! that no text can begin a line.
enum class LineBreaks { kShown, kIndented };

namespace detail {

//! Bytes of the UTF-8 character at `at`; 0 where there is none.
inline std::size_t utf8Length(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace detail

//! Whether the text is one line of printable ASCII, which needs no change.
inline bool isPlain(std::string_view text) noexcept {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) return false;
  }
  return true;
}

//! Control characters (those of ASCII, U+0080 to U+009F, and bytes that are no UTF-8) are written as \n, \r, \t or \xNN; all
//! else stays. Every text of others (names, attributes, paths) goes through here before it is part of a log line or error.
inline std::string printable(std::string_view text, LineBreaks breaks = LineBreaks::kShown) {
  std::string result;
  result.reserve(text.size());
  const auto hex = [&](unsigned char c) {
    constexpr char kDigits[] = "0123456789abcdef";
    result += {'\\', 'x', kDigits[c >> 4], kDigits[c & 15]};
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    const std::size_t length = detail::utf8Length(text, at);
    const bool highControl = length == 2 && c == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (c == '\n' && breaks == LineBreaks::kIndented) {
      result += text.substr(at + 1, 2) == "  " ? "\n" : "\n  ";
    } else if (c == '\n' || c == '\r' || c == '\t') {
      result += {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'};
    } else if (c < 0x20 || c == 0x7f || length == 0) {
      hex(c);
    } else if (highControl) {
      hex(c);
      hex(static_cast<unsigned char>(text[at + 1]));
    } else {
      result += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace tenon
