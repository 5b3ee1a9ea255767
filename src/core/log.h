// Where messages go: an interface that the facade implements over the user's ILogger.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tenon {

enum class Severity { kInternalError, kError, kWarning, kInfo, kVerbose };

// A sink for messages. Implementations are thread-safe: tuning and execution threads write to the same log.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(Severity severity, const char* message) noexcept = 0;

  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kError, fmt::format(format, std::forward<Args>(args)...).c_str());
  }
  template <typename... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kWarning, fmt::format(format, std::forward<Args>(args)...).c_str());
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kInfo, fmt::format(format, std::forward<Args>(args)...).c_str());
  }
  template <typename... Args>
  void verbose(fmt::format_string<Args...> format, Args&&... args) {
    write(Severity::kVerbose, fmt::format(format, std::forward<Args>(args)...).c_str());
  }
};

// Drops everything.
class NullLog final : public Log {
 public:
  void write(Severity, const char*) noexcept override {}
};

}  // namespace tenon
