// The cursor's rules: white space and comments, words, numbers, quoted strings.
#include "core/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace tenon {
namespace {

bool isWordStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isWord(char c) { return isWordStart(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; }

}  // namespace

void TextReader::skipSpace() {
  while (position_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
      ++position_;
    } else if (text_[position_] == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else {
      return;
    }
  }
}

bool TextReader::atEnd() {
  skipSpace();
  return position_ == text_.size();
}

char TextReader::peek() { return atEnd() ? '\0' : text_[position_]; }

bool TextReader::accept(std::string_view token) {
  skipSpace();
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  return true;
}

bool TextReader::acceptWord(std::string_view word) {
  skipSpace();
  if (text_.substr(position_, word.size()) != word) return false;
  const size_t end = position_ + word.size();
  if (end < text_.size() && isWord(text_[end])) return false;
  position_ = end;
  return true;
}

void TextReader::expect(std::string_view token) {
  if (!accept(token)) fail(fmt::format("expected '{}'", token));
}

std::string TextReader::identifier() {
  skipSpace();
  const size_t start = position_;
  if (position_ < text_.size() && isWordStart(text_[position_])) {
    while (position_ < text_.size() && isWord(text_[position_])) ++position_;
  }
  if (start == position_) fail("expected a name");
  return std::string(text_.substr(start, position_ - start));
}

std::string TextReader::quoted() {
  expect("\"");
  std::string result;
  while (true) {
    if (position_ >= text_.size()) fail("the quoted text does not end");
    const char c = text_[position_++];
    if (c == '"') return result;
    if (c != '\\') {
      result += c;
      continue;
    }
    if (position_ >= text_.size()) fail("the quoted text does not end");
    const char escaped = text_[position_++];
    result += escaped == 'n' ? '\n' : escaped;
  }
}

int64_t TextReader::integer() {
  skipSpace();
  int64_t value = 0;
  const auto [end, status] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (status != std::errc()) fail("expected an integer of 64 bits");
  position_ = static_cast<size_t>(end - text_.data());
  return value;
}

double TextReader::number() {
  skipSpace();
  const bool negative = accept("-");
  double value = 0;
  if (acceptWord("inf")) {
    value = std::numeric_limits<double>::infinity();
  } else if (acceptWord("nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto [end, status] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (status != std::errc() || text_[position_] == '-') fail("expected a number");
    position_ = static_cast<size_t>(end - text_.data());
  }
  return negative ? -value : value;
}

std::string_view TextReader::until(std::string_view stops) {
  skipSpace();
  const size_t start = position_;
  int depth = 0;
  bool quotes = false;
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\'') quotes = !quotes;
    if (quotes && c == '\\') ++position_;
    if (!quotes && depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (!quotes && c == '(') ++depth;
    if (!quotes && c == ')') --depth;
    ++position_;
  }
  position_ = std::min(position_, text_.size());
  auto result = text_.substr(start, position_ - start);
  while (!result.empty() && std::isspace(static_cast<unsigned char>(result.back())) != 0) result.remove_suffix(1);
  return result;
}

void TextReader::fail(std::string_view message) {
  const auto before = text_.substr(0, position_);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto rest = text_.substr(position_, 20);
  throw UserError("{}, line {}, column {}: {}, got '{}'", what_, line, position_ - lineStart + 1, message,
                  rest.substr(0, rest.find('\n')));
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace tenon
