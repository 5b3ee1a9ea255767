// The log of the tool; one lock keeps lines of several threads and the status line apart.
#include "log.h"
#include "process/standard_output.h"

#include <tenon/printable.h>

#include <cstdio>
#include <ctime>

namespace tenon::trtexec {

namespace {

using Severity = nvinfer1::ILogger::Severity;

char severityLetter(Severity severity) {
  switch (severity) {
    case Severity::kINTERNAL_ERROR: return 'F';
    case Severity::kERROR: return 'E';
    case Severity::kWARNING: return 'W';
    case Severity::kINFO: return 'I';
    case Severity::kVERBOSE: return 'V';
  }
  return '?';
}

std::string timeStamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "[%m/%d/%Y-%H:%M:%S]", &local);
  return text;
}

}  // namespace

void Log::log(Severity severity, const nvinfer1::AsciiChar* message) noexcept {
  if (severity > least_) {
    return;
  }
  try {
    const std::lock_guard lock(mutex_);
    const auto text = printable(message == nullptr ? "" : message, LineBreaks::kIndented);
    if (held_) {
      *held_ += (held_->empty() ? "" : "\n") + text;
    } else {
      writeLine(severity, "[TRT] ", text);
    }
  } catch (const std::exception&) {
    // A log line that cannot be made must not end the library's work.
  }
}

void Log::hold() {
  const std::lock_guard lock(mutex_);
  held_.emplace();
}

std::string Log::stopHolding() {
  const std::lock_guard lock(mutex_);
  std::string said = held_.value_or("");
  held_.reset();
  return said;
}

void Log::write(Severity severity, std::string_view text) {
  if (severity > least_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  while (true) {
    const size_t end = text.find('\n');
    writeLine(severity, "", printable(std::string(text.substr(0, end))));
    if (end == std::string_view::npos) {
      return;
    }
    text.remove_prefix(end + 1);
  }
}

void Log::writeBare(std::string_view text) {
  const std::lock_guard lock(mutex_);
  hideStatus();
  tools::print(fmt::format("{}\n", printable(std::string(text))));
  showStatus();
}

void Log::writeLine(Severity severity, std::string_view origin, std::string_view line) {
  const bool isError = severity <= Severity::kERROR;
  const std::string whole = fmt::format("{} [{}] {}{}\n", timeStamp(), severityLetter(severity), origin, line);
  hideStatus();
  if (isError) {
    // What came before stands before, also when both streams end in one file.
    std::fflush(stdout);
    std::fwrite(whole.data(), 1, whole.size(), stderr);
  } else {
    tools::print(whole);
  }
  showStatus();
}

void Log::setStatus(std::string_view text) {
  const std::lock_guard lock(mutex_);
  hideStatus();
  status_ = printable(std::string(text));
  showStatus();
}

void Log::hideStatus() {
  if (!status_.empty()) {
    tools::print("\r\033[K");
  }
}

void Log::showStatus() {
  if (!status_.empty()) {
    tools::print(status_);
    std::fflush(stdout);
  }
}

Log& theLog() {
  // Never destroyed: the library may log from exit handlers.
  static Log* const log = new Log;
  return *log;
}

}  // namespace tenon::trtexec
