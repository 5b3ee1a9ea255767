// Translation of errors into what the public API reports.
#include "api/common/reporter.h"

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>

#include "core/platform/forks.h"
#include "tenon/printable.h"

namespace tenon::api {
namespace {

std::atomic<nv::ILogger*> firstLogger{nullptr};

constexpr const char* kOutOfMemory = "out of host memory";

// Hands on what the message says, whatever names it holds.
template <typename Sink>
void deliver(const char* message, const Sink& sink) noexcept {
  if (isPlain(message)) return sink(message);
  try {
    sink(printable(message, LineBreaks::kIndented).c_str());
  } catch (...) {
    sink(kOutOfMemory);
  }
}

}  // namespace

void notSupported(const char* method) { throw Unsupported("{} is not supported yet", method); }

void noEffect(Log& log, const char* option, const char* why) { log.warning("{}: {}", option, why); }

void Reporter::setRecorder(nv::IErrorRecorder* recorder) noexcept {
  if (recorder == recorder_) return;
  if (recorder != nullptr) recorder->incRefCount();
  if (recorder_ != nullptr) recorder_->decRefCount();
  recorder_ = recorder;
}

void Reporter::write(Severity severity, const char* message) noexcept {
  if (severity == Severity::kInternalError) return report(nv::ErrorCode::kINTERNAL_ERROR, message);
  if (severity == Severity::kError) return report(nv::ErrorCode::kUNSPECIFIED_ERROR, message);
  if (logger_ == nullptr) return;
  deliver(message, [&](const char* text) { logger_->log(static_cast<nv::ILogger::Severity>(severity), text); });
}

void Reporter::report(nv::ErrorCode code, const char* message) noexcept {
  if (recorder_ != nullptr) {
    return deliver(message, [&](const char* text) { recorder_->reportError(code, text); });
  }
  if (logger_ == nullptr) return;
  const bool internal = code == nv::ErrorCode::kINTERNAL_ERROR;
  const auto severity = internal ? nv::ILogger::Severity::kINTERNAL_ERROR : nv::ILogger::Severity::kERROR;
  deliver(message, [&](const char* text) { logger_->log(severity, text); });
}

void Reporter::reportCurrent(const char* call) noexcept {
  const auto say = [&](nv::ErrorCode code, const char* what) {
    try {
      const bool named = std::string_view(what).starts_with(call);  // as "IClass::method is not supported yet" is
      report(code, named ? what : fmt::format("{}: {}", call, what).c_str());
    } catch (...) {
      report(code, kOutOfMemory);
    }
  };
  try {
    throw;
  } catch (const CodedError& error) {
    say(error.code(), error.what());
  } catch (const UserError& error) {
    say(nv::ErrorCode::kINVALID_ARGUMENT, error.what());
  } catch (const Unsupported& error) {
    say(nv::ErrorCode::kUNSUPPORTED_STATE, error.what());
  } catch (const OutOfMemory& error) {
    say(nv::ErrorCode::kFAILED_ALLOCATION, error.what());
  } catch (const Cancelled& error) {
    say(nv::ErrorCode::kUNSPECIFIED_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    report(nv::ErrorCode::kFAILED_ALLOCATION, kOutOfMemory);
  } catch (const std::exception& error) {
    say(nv::ErrorCode::kINTERNAL_ERROR, error.what());
  } catch (...) {
    say(nv::ErrorCode::kUNSPECIFIED_ERROR, "an object of the caller threw an exception that is not a std::exception");
  }
}

nv::ILogger* processLogger() noexcept { return firstLogger.load(); }

void noteLogger(nv::ILogger* logger) noexcept {
  nv::ILogger* none = nullptr;
  firstLogger.compare_exchange_strong(none, logger);
}

Log& permanentLog(nv::ILogger* logger) {
  static auto* mutex = new std::mutex;
  static auto* logs = new std::map<nv::ILogger*, std::unique_ptr<Reporter>>;
  const platform::WithoutFork noFork;
  const std::lock_guard lock(*mutex);
  auto& log = (*logs)[logger];
  if (log == nullptr) log = std::make_unique<Reporter>(logger);
  return *log;
}

void checkVersion(int32_t version) {
  constexpr int32_t kOldest = 100000;
  constexpr int32_t kNewest = NV_TENSORRT_MAJOR * 10000 + NV_TENSORRT_MINOR * 100 + 99;
  if (version >= kOldest && version <= kNewest) return;
  const bool longForm = version >= kOldest;  // before 10.0 one digit each for minor and patch
  const int32_t major = longForm ? version / 10000 : version / 1000;
  const int32_t minor = longForm ? version / 100 % 100 : version / 100 % 10;
  throw UserError("TensorRT API version {}.{}.{} requested; this library serves 10.0 to {}.{}", major, minor,
                  version % 100, NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR);
}

}  // namespace tenon::api
