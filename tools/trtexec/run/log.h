// The log of the tool, in trtexec's form: `[MM/DD/YYYY-HH:MM:SS] [I] text`; the library's own lines carry [TRT].
#pragma once

#include <NvInferRuntime.h>

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenon::trtexec {

//! Errors go to the standard error stream, all else to the standard output. Any thread may log.
class Log final : public nvinfer1::ILogger {
 public:
  //! Called by the library.
  void log(Severity severity, const nvinfer1::AsciiChar* message) noexcept override;

  //! A line of the tool itself; a text with line breaks becomes several lines.
  void write(Severity severity, std::string_view text);

  //! A line without date and severity, such as those that begin with &&&&.
  void writeBare(std::string_view text);

  //! Replaces the text of the status line, which stands below the log on a terminal; empty removes it.
  void setStatus(std::string_view text);

  //! Keeps what the library says from now on to itself; stopHolding() returns it, a line each.
  void hold();
  std::string stopHolding();

  void setVerbose(bool verbose) { least_ = verbose ? Severity::kVERBOSE : Severity::kINFO; }
  bool isVerbose() const { return least_ == Severity::kVERBOSE; }

 private:
  void writeLine(Severity severity, std::string_view origin, std::string_view line);
  void hideStatus();
  void showStatus();

  std::mutex mutex_;
  Severity least_ = Severity::kINFO;
  std::string status_;
  std::optional<std::string> held_;
};

Log& theLog();

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  theLog().write(nvinfer1::ILogger::Severity::kINFO, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  theLog().write(nvinfer1::ILogger::Severity::kWARNING, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  theLog().write(nvinfer1::ILogger::Severity::kERROR, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void verbose(fmt::format_string<Args...> format, Args&&... args) {
  theLog().write(nvinfer1::ILogger::Severity::kVERBOSE, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tenon::trtexec
