// A cursor over text for the parsers of small text forms (operators, graphs); errors give line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

class TextReader {
 public:
  explicit TextReader(std::string_view text, std::string_view what = "text") : text_(text), what_(what) {}

  bool atEnd();                            // after white space and # comments
  char peek();                             // next character after white space, 0 at the end
  bool accept(std::string_view token);     // consumes the token when it comes next
  void expect(std::string_view token);     // throws UserError when something else comes next
  bool acceptWord(std::string_view word);  // like accept, but not when the word goes on
  std::string identifier();                // [A-Za-z_][A-Za-z0-9_.]*
  std::string quoted();                    // "..." with \" \\ \n escapes
  int64_t integer();
  double number();                                 // also inf, -inf, nan
  std::string_view until(std::string_view stops);  // up to one of the characters outside () and quotes; trimmed
  [[noreturn]] void fail(std::string_view message);
  size_t position() const { return position_; }

 private:
  void skipSpace();
  std::string_view text_;
  std::string what_;
  size_t position_ = 0;
};

std::string quote(std::string_view text);  // the form that TextReader::quoted reads

}  // namespace tenon
