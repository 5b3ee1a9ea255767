// Text that may come from a model or another file, made safe for a log and a terminal. Needs C++11 only, as the headers
// of the interface do, so that any program's logger can use it.
#pragma once

#include <cstddef>
#include <string>

namespace tenon {

//! What becomes of a line break: a single line shows it as \n; in a message of several lines the next one is indented,
//! so that no text can begin a line.
enum class LineBreaks { kShown, kIndented };

namespace detail {

//! Bytes of the UTF-8 character at `at`; 0 where there is none.
inline std::size_t utf8Length(const std::string& text, std::size_t at) {
  const unsigned first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (std::size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || (static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

inline void appendHex(std::string& out, char c) {
  const char* const digits = "0123456789abcdef";
  const unsigned value = static_cast<unsigned char>(c);
  out += "\\x";
  out += digits[value >> 4];
  out += digits[value & 15];
}

}  // namespace detail

//! Whether the text is one line of printable ASCII, which needs no change.
inline bool isPlain(const char* text) noexcept {
  for (; *text != '\0'; ++text) {
    if (static_cast<unsigned char>(*text) < 0x20 || static_cast<unsigned char>(*text) >= 0x7f) return false;
  }
  return true;
}

//! Control characters (those of ASCII, U+0080 to U+009F, and bytes that are no UTF-8) are written as \n, \r, \t or
//! \xNN; all else stays. Every text of others (names, attributes, paths) goes through here before it is part of a log
//! line or error.
inline std::string printable(const std::string& text, LineBreaks breaks = LineBreaks::kShown) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const unsigned code = static_cast<unsigned char>(c);
    const std::size_t length = detail::utf8Length(text, at);
    if (c == '\n' && breaks == LineBreaks::kIndented) {
      result += text.compare(at + 1, 2, "  ") == 0 ? "\n" : "\n  ";
    } else if (c == '\n' || c == '\r' || c == '\t') {
      result += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (code < 0x20 || code == 0x7f || length == 0) {
      detail::appendHex(result, c);
    } else if (code == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0) {
      detail::appendHex(result, c);
      detail::appendHex(result, text[at + 1]);
    } else {
      result.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return result;
}

}  // namespace tenon
