// The stand-ins: each forwards every function to the application's object and records what a replay has to know.
#pragma once

#include <NvInfer.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "enums.h"
#include "shim/answers.h"

namespace tenon::capture {

using nvinfer1::APILanguage;
using nvinfer1::InterfaceInfo;

// What all have in common: the application's object and its number in the capture.
template <typename I>
class StandIn : public I {
 public:
  StandIn(I* user, uint64_t id) : user_(user), id_(id) {}
  I* user() const { return user_; }
  uint64_t id() const { return id_; }

 protected:
  I* const user_;
  const uint64_t id_;
};

class LoggerStandIn final : public StandIn<nvinfer1::ILogger> {
 public:
  using StandIn::StandIn;
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) {
      recordAnswer(id_, "ILogger.log", std::to_string(static_cast<int>(severity)) + "," + quoted(message), {});
    }
    user_->log(severity, message);
  }
};

class RecorderStandIn final : public StandIn<nvinfer1::IErrorRecorder> {
 public:
  using StandIn::StandIn;
  APILanguage getAPILanguage() const noexcept override { return user_->getAPILanguage(); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return user_->getInterfaceInfo(); }
  int32_t getNbErrors() const noexcept override { return user_->getNbErrors(); }
  nvinfer1::ErrorCode getErrorCode(int32_t index) const noexcept override { return user_->getErrorCode(index); }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override { return user_->getErrorDesc(index); }
  bool hasOverflowed() const noexcept override { return user_->hasOverflowed(); }
  void clear() noexcept override { user_->clear(); }
  bool reportError(nvinfer1::ErrorCode code, ErrorDesc text) noexcept override {
    const bool answer = user_->reportError(code, text);
    std::string arguments;
    text::appendEnum(arguments, kEnum_ErrorCode, static_cast<int64_t>(code));
    recordAnswer(id_, "IErrorRecorder.reportError", arguments + "," + quoted(text), answer ? "true" : "false");
    return answer;
  }
  RefCount incRefCount() noexcept override { return user_->incRefCount(); }
  RefCount decRefCount() noexcept override { return user_->decRefCount(); }
};

// Addresses mean nothing elsewhere: only the requests that were refused are kept, by their number.
class AllocatorStandIn final : public StandIn<nvinfer1::IGpuAllocator> {
 public:
  using StandIn::StandIn;
  APILanguage getAPILanguage() const noexcept override { return user_->getAPILanguage(); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return user_->getInterfaceInfo(); }
  void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags flags) noexcept override {
    return noted(user_->allocate(size, alignment, flags), size);
  }
  void* reallocate(void* memory, uint64_t alignment, uint64_t size) noexcept override {
    return user_->reallocate(memory, alignment, size);  // null means: cannot grow in place, and is no refusal
  }
  bool deallocate(void* memory) noexcept override { return user_->deallocate(memory); }
  void* allocateAsync(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags flags,
                      cudaStream_t stream) noexcept override {
    return noted(user_->allocateAsync(size, alignment, flags, stream), size);
  }
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override {
    return user_->deallocateAsync(memory, stream);
  }

 private:
  void* noted(void* memory, uint64_t size) {
    const uint64_t number = requests_++;
    if (memory == nullptr) {
      recordAnswer(id_, "IGpuAllocator.allocate", std::to_string(number) + "," + std::to_string(size), "null");
    }
    return memory;
  }
  std::atomic<uint64_t> requests_{0};
};

// Only the steps after which the application wanted to stop are kept: phase, step, and how often it had come before.
class MonitorStandIn final : public StandIn<nvinfer1::IProgressMonitor> {
 public:
  using StandIn::StandIn;
  APILanguage getAPILanguage() const noexcept override { return user_->getAPILanguage(); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return user_->getInterfaceInfo(); }
  void phaseStart(const char* name, const char* parent, int32_t steps) noexcept override {
    user_->phaseStart(name, parent, steps);
  }
  bool stepComplete(const char* name, int32_t step) noexcept override {
    const bool answer = user_->stepComplete(name, step);
    uint64_t before = 0;
    {
      std::lock_guard lock(mutex_);
      before = steps_[{name != nullptr ? name : "", step}]++;
    }
    if (!answer) {
      recordAnswer(id_, "IProgressMonitor.stepComplete",
                   quoted(name) + "," + std::to_string(step) + "," + std::to_string(before), "false");
    }
    return answer;
  }
  void phaseFinish(const char* name) noexcept override { user_->phaseFinish(name); }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, int32_t>, uint64_t> steps_;
};

// The choice, by the name of the layer and the number of choices there were.
class SelectorStandIn final : public StandIn<nvinfer1::IAlgorithmSelector> {
 public:
  using StandIn::StandIn;
  APILanguage getAPILanguage() const noexcept override { return user_->getAPILanguage(); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return user_->getInterfaceInfo(); }
  int32_t selectAlgorithms(const nvinfer1::IAlgorithmContext& context, const nvinfer1::IAlgorithm* const* choices,
                           int32_t count, int32_t* selection) noexcept override {
    const int32_t selected = user_->selectAlgorithms(context, choices, count, selection);
    std::string answer = "[";
    for (int32_t i = 0; i < selected; ++i) {
      answer += (i > 0 ? "," : "") + std::to_string(selection[i]);
    }
    recordAnswer(id_, "IAlgorithmSelector.selectAlgorithms", quoted(context.getName()) + "," + std::to_string(count),
                 selected < 0 ? std::to_string(selected) : answer + "]");
    return selected;
  }
  void reportAlgorithms(const nvinfer1::IAlgorithmContext* const* contexts, const nvinfer1::IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    user_->reportAlgorithms(contexts, choices, count);
  }
};

// Batches lie on the device and are not kept: the calibration cache that comes out of them says the same to a replay.
class CalibratorStandIn final : public StandIn<nvinfer1::IInt8LegacyCalibrator> {
 public:
  CalibratorStandIn(nvinfer1::IInt8Calibrator* user, uint64_t id)
      : StandIn(static_cast<nvinfer1::IInt8LegacyCalibrator*>(user), id) {}
  APILanguage getAPILanguage() const noexcept override { return user_->getAPILanguage(); }
  InterfaceInfo getInterfaceInfo() const noexcept override { return user_->getInterfaceInfo(); }
  int32_t getBatchSize() const noexcept override {
    const int32_t answer = user_->getBatchSize();
    recordAnswer(id_, "IInt8Calibrator.getBatchSize", {}, std::to_string(answer));
    return answer;
  }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    return user_->getBatch(bindings, names, count);
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    const void* cache = user_->readCalibrationCache(length);
    record("IInt8Calibrator.readCalibrationCache", cache, cache != nullptr ? length : 0);
    return cache;
  }
  void writeCalibrationCache(const void* cache, std::size_t length) noexcept override {
    record("IInt8Calibrator.writeCalibrationCache", cache, length);
    user_->writeCalibrationCache(cache, length);
  }
  nvinfer1::CalibrationAlgoType getAlgorithm() noexcept override {
    const nvinfer1::CalibrationAlgoType answer = user_->getAlgorithm();
    recordAnswer(id_, "IInt8Calibrator.getAlgorithm", {}, std::to_string(static_cast<int>(answer)));
    return answer;
  }
  // Only asked of a calibrator whose getAlgorithm() says that it has these.
  double getQuantile() const noexcept override { return user_->getQuantile(); }
  double getRegressionCutoff() const noexcept override { return user_->getRegressionCutoff(); }
  const void* readHistogramCache(std::size_t& length) noexcept override { return user_->readHistogramCache(length); }
  void writeHistogramCache(const void* cache, std::size_t length) noexcept override {
    user_->writeHistogramCache(cache, length);
  }

 private:
  void record(std::string_view function, const void* bytes, std::size_t length) {
    std::string answer = "null";
    if (bytes != nullptr && length > 0 && settings().records()) {
      std::lock_guard lock(Recorder::instance().order());
      answer = "{\"data\":" + std::to_string(Recorder::instance().data(bytes, length)) + "}";
    }
    recordAnswer(id_, function, {}, answer);
  }
};

}  // namespace tenon::capture
