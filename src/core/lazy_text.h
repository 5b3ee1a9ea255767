// Texts of values in messages, made only where the message is: arguments of a check are computed whether it fails or
// not.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tenon {

template <typename T>
struct LazyText {
  const T& of;  // lives as long as the call that it is an argument of
};

// What x.text() gives, as an argument of a format.
template <typename T>
LazyText<T> textOf(const T& x) {
  return {x};
}

}  // namespace tenon

template <typename T>
struct fmt::formatter<tenon::LazyText<T>> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(const tenon::LazyText<T>& text, Context& context) const {
    return fmt::formatter<std::string>::format(text.of.text(), context);
  }
};
