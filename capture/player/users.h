// Gives the library, in place of what the application implemented, objects that answer as it answered.
#pragma once

#include <NvInfer.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "player/capture_file.h"

namespace tenon::capture {

class PlayerLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override;
  const std::string& lastError() const { return lastError_; }
  bool verbose = false;
  bool quiet = false;

 private:
  std::string lastError_;
};

// Collects what is streamed.
class CollectingWriter final : public nvinfer1::IStreamWriter {
 public:
  int64_t write(const void* data, int64_t count) noexcept override;
  std::string bytes;
  std::map<int64_t, int64_t> refusals;  // by number of the write: the application took only so much
  int64_t* writes = nullptr;            // how many the object that is played had already
};

// The answers of one object of the application, read from the lines {"u": ...} before the replay.
struct Answers {
  std::string interface;
  std::deque<bool> errorAnswers;                               // of reportError, in order
  std::set<std::tuple<std::string, int32_t, uint64_t>> stops;  // phase, step, how often it had come before
  std::set<uint64_t> refusedRequests;                          // of an allocator, by number
  std::map<std::pair<std::string, int32_t>, std::vector<int32_t>> selections;  // by layer and number of choices
  std::map<int64_t, int64_t> refusedWrites;
  int32_t batchSize = 1;
  nvinfer1::CalibrationAlgoType algorithm = nvinfer1::CalibrationAlgoType::kENTROPY_CALIBRATION_2;
  uint64_t calibrationCache = 0;  // number of its bytes in the capture
};

class Users {
 public:
  Users();
  ~Users();
  PlayerLogger& logger() { return logger_; }
  const PlayerLogger& logger() const { return logger_; }
  CollectingWriter& writer() { return writer_; }

  // Takes what a line tells of the application's objects; other lines are none of its business.
  void take(const Line& line);

  // The object for the number in a call. Null for one that the capture does not define.
  nvinfer1::IErrorRecorder* errorRecorder(uint64_t id);
  nvinfer1::IProgressMonitor* progressMonitor(uint64_t id);
  nvinfer1::IGpuAllocator* allocator(
      uint64_t id);  // null, the library's own, unless the application's refused something
  nvinfer1::IAlgorithmSelector* selector(uint64_t id);
  nvinfer1::IStreamWriter* streamWriter(uint64_t id);
  // `cache` are the bytes that calibration made in the application; without them there is nothing to answer with.
  nvinfer1::IInt8Calibrator* calibrator(uint64_t id, const void* cache, size_t size);
  uint64_t calibrationCache(uint64_t id) const;
  const Answers& answers(uint64_t id) { return answers_[id]; }

 private:
  struct Objects;
  void takeAnswer(Answers& answers, const std::string& function, const Line& line);
  PlayerLogger logger_;
  CollectingWriter writer_;
  std::map<uint64_t, Answers> answers_;
  std::unique_ptr<Objects> objects_;
};

}  // namespace tenon::capture
