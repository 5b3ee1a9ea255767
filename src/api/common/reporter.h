// Where errors and messages of a facade object go: the user's error recorder or logger. One guard per call of the API.
#pragma once

#include <NvInferRuntime.h>

#include <atomic>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace tenon::api {

namespace nv = nvinfer1;

// An error whose code the recorder shall see; other errors get theirs from their class.
class CodedError : public Error {
 public:
  template <typename... Args>
  explicit CodedError(nv::ErrorCode code, fmt::format_string<Args...> format, Args&&... args)
      : Error(fmt::format(format, std::forward<Args>(args)...)), code_(code) {}
  nv::ErrorCode code() const noexcept { return code_; }

 private:
  nv::ErrorCode code_;
};

// For methods that exist in the interface and do nothing yet. `method` is "IClass::method" of the public headers:
// scripts/status.py collects these calls into docs/status.md.
[[noreturn]] void notSupported(const char* method);

// For what is set in a call and changes nothing: says so. `option` is "IClass::method" or "Enumeration::kVALUE", `why`
// what does not depend on it; scripts/status.py collects these calls as well.
void noEffect(Log& log, const char* option, const char* why);

// Errors go to the recorder where one is set, else to the logger; other messages to the logger. Thread-safe but for
// setRecorder(), which like every setter of the API belongs to one thread.
class Reporter final : public Log {
 public:
  explicit Reporter(nv::ILogger* logger, nv::IErrorRecorder* recorder = nullptr) : logger_(logger) {
    setRecorder(recorder);
  }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  ~Reporter() override { setRecorder(nullptr); }

  // Counts a reference on the recorder as long as it is set.
  void setRecorder(nv::IErrorRecorder* recorder) noexcept;
  nv::IErrorRecorder* recorder() const noexcept { return recorder_; }
  nv::ILogger* logger() const noexcept { return logger_; }

  void write(Severity severity, const char* message) noexcept override;
  void report(nv::ErrorCode code, const char* message) noexcept;
  // Reports the exception that is being handled, as raised in `call`.
  void reportCurrent(const char* call) noexcept;

 private:
  nv::ILogger* logger_;
  nv::IErrorRecorder* recorder_ = nullptr;
};

// Runs the body of an API call. What it throws is reported and turned into `fallback`; nothing leaves.
template <typename R, typename Body>
R guarded(Reporter& reporter, const char* call, R fallback, Body&& body) noexcept {
  try {
    return static_cast<R>(body());
  } catch (...) {
    reporter.reportCurrent(call);
    return fallback;
  }
}

template <typename Body>
void guarded(Reporter& reporter, const char* call, Body&& body) noexcept {
  try {
    body();
  } catch (...) {
    reporter.reportCurrent(call);
  }
}

// The logger given to the first builder, runtime or refitter of the process; null before.
nv::ILogger* processLogger() noexcept;
void noteLogger(nv::ILogger* logger) noexcept;

// A log over the logger that is never destroyed, for work that may outlive the object that started it.
Log& permanentLog(nv::ILogger* logger);

// Throws UserError unless `version` (NV_TENSORRT_VERSION of the caller's headers) is one that this library serves.
void checkVersion(int32_t version);

}  // namespace tenon::api
