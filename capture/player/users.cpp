// What stands in for the application's own objects.
#include "player/users.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cstdio>
#include <new>

namespace tenon::capture {

void PlayerLogger::log(Severity severity, const char* message) noexcept {
  if (severity <= Severity::kERROR) {
    lastError_ = message;
  }
  if (!quiet && severity <= (verbose ? Severity::kVERBOSE : Severity::kWARNING)) {
    std::fprintf(stderr, "%s\n", printable(message, LineBreaks::kIndented).c_str());
  }
}

int64_t CollectingWriter::write(const void* data, int64_t count) noexcept {
  const auto refused = refusals.find((*writes)++);
  const int64_t answer = refused != refusals.end() ? refused->second : count;
  try {
    bytes.append(static_cast<const char*>(data), static_cast<size_t>(std::clamp<int64_t>(answer, 0, count)));
    return answer;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

namespace {

// Counts, and gives no memory to the requests that got none in the application.
class RefusingAllocator final : public nvinfer1::IGpuAllocator {
 public:
  explicit RefusingAllocator(const std::set<uint64_t>& refused) : refused_(refused) {}
  void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override {
    void* memory = nullptr;
    return refused_.count(requests_++) == 0 && cudaMalloc(&memory, size) == cudaSuccess ? memory : nullptr;
  }
  bool deallocate(void* memory) noexcept override { return cudaFree(memory) == cudaSuccess; }

 private:
  const std::set<uint64_t>& refused_;
  uint64_t requests_ = 0;
};

class AnsweringRecorder final : public nvinfer1::IErrorRecorder {
 public:
  AnsweringRecorder(Answers& answers, PlayerLogger& logger) : answers_(answers), logger_(logger) {}
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors_.size()); }
  nvinfer1::ErrorCode getErrorCode(int32_t index) const noexcept override {
    return errors_.at(static_cast<size_t>(index)).first;
  }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override {
    return errors_.at(static_cast<size_t>(index)).second.c_str();
  }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors_.clear(); }
  bool reportError(nvinfer1::ErrorCode code, ErrorDesc text) noexcept override {
    errors_.emplace_back(code, text);
    logger_.log(nvinfer1::ILogger::Severity::kERROR, text);
    if (answers_.errorAnswers.empty()) {
      return false;
    }
    const bool answer = answers_.errorAnswers.front();
    answers_.errorAnswers.pop_front();
    return answer;
  }
  RefCount incRefCount() noexcept override { return ++uses_; }
  RefCount decRefCount() noexcept override { return --uses_; }

 private:
  Answers& answers_;
  PlayerLogger& logger_;
  std::vector<std::pair<nvinfer1::ErrorCode, std::string>> errors_;
  RefCount uses_ = 0;
};

class AnsweringMonitor final : public nvinfer1::IProgressMonitor {
 public:
  explicit AnsweringMonitor(const Answers& answers) : answers_(answers) {}
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char* name, int32_t step) noexcept override {
    const std::string phase = name != nullptr ? name : "";
    return answers_.stops.count({phase, step, steps_[{phase, step}]++}) == 0;
  }
  void phaseFinish(const char*) noexcept override {}

 private:
  const Answers& answers_;
  std::map<std::pair<std::string, int32_t>, uint64_t> steps_;
};

class AnsweringSelector final : public nvinfer1::IAlgorithmSelector {
 public:
  explicit AnsweringSelector(const Answers& answers) : answers_(answers) {}
  int32_t selectAlgorithms(const nvinfer1::IAlgorithmContext& context, const nvinfer1::IAlgorithm* const*,
                           int32_t count, int32_t* selection) noexcept override {
    const auto found = answers_.selections.find({context.getName(), count});
    if (found == answers_.selections.end() || static_cast<int32_t>(found->second.size()) > count) {
      for (int32_t i = 0; i < count; ++i) {
        selection[i] = i;  // a question that the application was not asked: every choice is as good
      }
      return count;
    }
    std::copy(found->second.begin(), found->second.end(), selection);
    return static_cast<int32_t>(found->second.size());
  }
  void reportAlgorithms(const nvinfer1::IAlgorithmContext* const*, const nvinfer1::IAlgorithm* const*,
                        int32_t) noexcept override {}

 private:
  const Answers& answers_;
};

// Has no batches, only the cache that the application's batches led to.
class AnsweringCalibrator final : public nvinfer1::IInt8LegacyCalibrator {
 public:
  AnsweringCalibrator(const Answers& answers, const void* cache, size_t size)
      : answers_(answers), cache_(cache), size_(size) {}
  int32_t getBatchSize() const noexcept override { return answers_.batchSize; }
  bool getBatch(void*[], const char*[], int32_t) noexcept override { return false; }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = size_;
    return cache_;
  }
  void writeCalibrationCache(const void*, std::size_t) noexcept override {}
  nvinfer1::CalibrationAlgoType getAlgorithm() noexcept override { return answers_.algorithm; }
  double getQuantile() const noexcept override { return 1; }
  double getRegressionCutoff() const noexcept override { return 1; }
  const void* readHistogramCache(std::size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeHistogramCache(const void*, std::size_t) noexcept override {}

 private:
  const Answers& answers_;
  const void* cache_;
  size_t size_;
};

}  // namespace

struct Users::Objects {
  std::map<uint64_t, int64_t> writes;  // by stream writer
  std::map<uint64_t, std::unique_ptr<AnsweringRecorder>> recorders;
  std::map<uint64_t, std::unique_ptr<AnsweringMonitor>> monitors;
  std::map<uint64_t, std::unique_ptr<RefusingAllocator>> allocators;
  std::map<uint64_t, std::unique_ptr<AnsweringSelector>> selectors;
  std::map<uint64_t, std::unique_ptr<AnsweringCalibrator>> calibrators;
};

Users::Users() : objects_(std::make_unique<Objects>()) {}
Users::~Users() = default;

void Users::take(const Line& line) {
  const Json& value = line.value;
  try {
    if (value.contains("user")) {
      answers_[value["user"].get<uint64_t>()].interface = value.at("interface").get<std::string>();
    } else if (value.contains("u")) {
      takeAnswer(answers_[value["u"].get<uint64_t>()], value.at("f").get<std::string>(), line);
    }
  } catch (const Json::exception& error) {
    throw CaptureError(
        fmt::format("line {}: an answer of the application that cannot be read: {}", line.number, error.what()));
  }
}

void Users::takeAnswer(Answers& answers, const std::string& function, const Line& line) {
  const Json& arguments = line.value.at("a");
  const Json answer = line.value.value("r", Json());
  const auto phase = [&] { return arguments.at(0).is_string() ? arguments.at(0).get<std::string>() : std::string(); };
  if (function == "IErrorRecorder.reportError") {
    answers.errorAnswers.push_back(answer == true);
  } else if (function == "IProgressMonitor.stepComplete") {
    answers.stops.emplace(phase(), arguments.at(1).get<int32_t>(), arguments.at(2).get<uint64_t>());
  } else if (function == "IGpuAllocator.allocate") {
    answers.refusedRequests.insert(arguments.at(0).get<uint64_t>());
  } else if (function == "IAlgorithmSelector.selectAlgorithms" && answer.is_array()) {
    answers.selections[{phase(), arguments.at(1).get<int32_t>()}] = answer.get<std::vector<int32_t>>();
  } else if (function == "IStreamWriter.write") {
    answers.refusedWrites[arguments.at(0).get<int64_t>()] = answer.get<int64_t>();
  } else if (function == "IInt8Calibrator.getBatchSize") {
    answers.batchSize = answer.get<int32_t>();
  } else if (function == "IInt8Calibrator.getAlgorithm") {
    answers.algorithm = static_cast<nvinfer1::CalibrationAlgoType>(answer.get<int32_t>());
  } else if (function.find("CalibrationCache") != std::string::npos && answer.is_object()) {
    answers.calibrationCache = answer.at("data").get<uint64_t>();
  }
}

namespace {

// The object for an id, made when it is asked for first.
template <typename T, typename... A>
T* made(std::map<uint64_t, std::unique_ptr<T>>& objects, uint64_t id, A&&... arguments) {
  std::unique_ptr<T>& object = objects[id];
  if (object == nullptr) {
    object = std::make_unique<T>(std::forward<A>(arguments)...);
  }
  return object.get();
}

}  // namespace

nvinfer1::IErrorRecorder* Users::errorRecorder(uint64_t id) {
  return made(objects_->recorders, id, answers_[id], logger_);
}

nvinfer1::IProgressMonitor* Users::progressMonitor(uint64_t id) { return made(objects_->monitors, id, answers_[id]); }

nvinfer1::IGpuAllocator* Users::allocator(uint64_t id) {
  const Answers& answers = answers_[id];
  return answers.refusedRequests.empty() ? nullptr : made(objects_->allocators, id, answers.refusedRequests);
}

nvinfer1::IAlgorithmSelector* Users::selector(uint64_t id) { return made(objects_->selectors, id, answers_[id]); }

nvinfer1::IStreamWriter* Users::streamWriter(uint64_t id) {
  writer_.refusals = answers_[id].refusedWrites;
  writer_.writes = &objects_->writes[id];
  return &writer_;
}

nvinfer1::IInt8Calibrator* Users::calibrator(uint64_t id, const void* cache, size_t size) {
  return made(objects_->calibrators, id, answers_[id], cache, size);
}

uint64_t Users::calibrationCache(uint64_t id) const {
  const auto found = answers_.find(id);
  return found == answers_.end() ? 0 : found->second.calibrationCache;
}

}  // namespace tenon::capture
