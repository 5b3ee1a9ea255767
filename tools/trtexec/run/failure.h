// The one exception of the tool: what went wrong, said so that it can be printed as it is.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tenon::trtexec {

class Failure : public std::runtime_error {
 public:
  template <typename... Args>
  explicit Failure(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace tenon::trtexec
