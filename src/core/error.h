// The three kinds of error that Tenon throws inside; the facade translates them once (docs/architecture.md, decision
// 11).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace tenon {

// Base of all errors thrown on purpose. The message says what, where, got, expected and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller did something that the API does not allow: a bad argument, a wrong order of calls, a damaged file.
class UserError : public Error {
 public:
  template <typename... Args>
  explicit UserError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// The request is legal, but Tenon cannot do it (yet, or on this device).
class Unsupported : public Error {
 public:
  template <typename... Args>
  explicit Unsupported(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// A fault of Tenon itself: a broken invariant.
class InternalError : public Error {
 public:
  template <typename... Args>
  explicit InternalError(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// The user stopped the work.
class Cancelled : public Error {
 public:
  using Error::Error;
};

// Memory that could not be had. The message names the tensor or purpose and the bytes.
class OutOfMemory : public Error {
 public:
  template <typename... Args>
  explicit OutOfMemory(fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// The message is formatted only when the condition fails.
template <typename... Args>
void checkInternal(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw InternalError(format, std::forward<Args>(args)...);
}

template <typename... Args>
void checkUser(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) throw UserError(format, std::forward<Args>(args)...);
}

}  // namespace tenon
