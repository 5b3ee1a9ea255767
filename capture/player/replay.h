// Makes the calls of a capture again and writes the engines that come out.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "player/capture_file.h"
#include "player/plugins.h"
#include "player/users.h"

namespace tenon::capture {

struct ReplayOptions {
  std::string output;       // file of the engine; with several builds 0, 1, ... are appended
  int64_t network = 0;      // only this one; 0 for all
  uint64_t randomSeed = 0;  // of weights whose values were not captured
  std::string timingCache;  // file, read if it is there, written after each build
  std::function<void(int line)> progress;
};

struct BuildResult {
  int64_t build = 0;
  int line = 0;
  std::string_view method;  // that builds
  std::string file;         // empty when no engine came out
  std::string error;        // what the library said last, when no engine came out
  bool failedThen = false;  // in the application
  bool identical = false;   // the same bytes as the application's
  bool comparable = false;  // the capture tells the hash of the application's
  size_t bytes = 0;
};

class Replay {
 public:
  Replay(CaptureFile& capture, ReplayOptions options);
  ~Replay();

  // Throws CaptureError for damage, and when a call fails that did not fail in the application.
  void run();

  const std::vector<BuildResult>& builds() const { return builds_; }
  int64_t differences() const { return differences_; }
  const std::string& firstDifference() const { return firstDifference_; }
  const std::string& lastError() const { return users_.logger().lastError(); }
  // Calls other than builds that gave nothing, here as in the application; the first with what the library said.
  int64_t failures() const { return failures_; }
  const std::string& firstFailure() const { return firstFailure_; }

  // For Step.
  struct Entry {
    void* face = nullptr;
    int type = -1;
    int64_t network = 0;
    uint64_t owner = 0;    // the object it was reached through
    bool isOwned = false;  // to be deleted, here by the replay
  };
  const Entry* find(uint64_t id) const;
  void bind(uint64_t id, const Entry& entry) { entries_[id] = entry; }
  nvinfer1::Weights weights(uint64_t id) const;
  std::pair<const void*, size_t> data(uint64_t id) const;
  std::pair<const void*, size_t> dataAnywhere(uint64_t id);  // also what a later line defines
  void differs(const Line& line, const std::string& what);
  void failsAgain(const Line& line, std::string_view method);
  void finishBuild(const Line& line, const nvinfer1::IHostMemory* engine);
  void finishStream(const Line& line, bool done);
  Users& users() { return users_; }
  Plugins& plugins() { return plugins_; }

 private:
  void lookAhead();
  void play(const Line& line);
  void define(const Line& line);
  void defineWeights(const Line& line);
  void createBuilder(const Line& line);
  void remove(const Line& line, const std::string& type);
  bool isLeftOut(const Line& line) const;
  void applyTimingCache(nvinfer1::IBuilderConfig& config);
  void saveTimingCache(nvinfer1::IBuilderConfig& config);
  nvinfer1::IBuilderConfig* configOf(const Line& line) const;
  void finish(const Line& line, const void* bytes, size_t size);
  std::string engineName(int64_t build) const;

  CaptureFile& capture_;
  ReplayOptions options_;
  Users users_;
  Plugins plugins_;
  std::unordered_map<std::string_view, int> methods_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::set<uint64_t> leftOut_;
  struct Data {
    const unsigned char* bytes = nullptr;
    size_t size = 0;
    bool used = false;
  };
  std::unordered_map<uint64_t, Data> data_;
  std::unordered_map<uint64_t, Line> ahead_;  // the lines that define data
  std::unordered_map<uint64_t, nvinfer1::Weights> weights_;
  std::vector<std::vector<unsigned char>> ownBytes_;
  std::vector<std::unique_ptr<nvinfer1::ITimingCache>> timingCaches_;
  std::vector<BuildResult> builds_;
  int64_t buildCount_ = 0;
  int64_t differences_ = 0;
  std::string firstDifference_;
  int64_t failures_ = 0;
  std::string firstFailure_;
};

}  // namespace tenon::capture
