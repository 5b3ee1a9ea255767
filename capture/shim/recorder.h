// The capture of the process: lines of the JSON file in order, and the file of weights that grows beside it.
#pragma once

#include <NvInfer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tenon::capture {

// All functions but order() expect the caller to hold order().
class Recorder {
 public:
  static Recorder& instance();

  // Held during each recorded call, so that the capture has one order; calls from callbacks nest.
  std::recursive_mutex& order() { return order_; }

  uint64_t newId() { return ++lastId_; }
  uint32_t newNetwork() { return ++lastNetwork_; }
  uint64_t newBuild() { return builds_++; }

  // A place for a line whose call begins now; filled when the call is over. `pending` is what a flush in between
  // writes.
  size_t reserve(std::string pending);
  void fill(size_t place, std::string line);
  void append(std::string line) { fill(reserve({}), std::move(line)); }

  // The number of these weights in this network, defined in the capture when they are new there. Their bytes go to the
  // file at once, straight from the caller's memory.
  uint64_t weights(uint32_t network, const nvinfer1::Weights& weights);
  // The number they have already, 0 when they were never seen: for what the library gives back.
  uint64_t knownWeights(uint32_t network, const nvinfer1::Weights& weights) const;
  // The number of these bytes in the capture, which holds each content once.
  uint64_t data(const void* bytes, size_t size);

  void flush();        // replaces the JSON file; nothing is recorded any more when that fails
  void flushAtExit();  // the last one, if anything was recorded

 private:
  Recorder();
  void open();
  std::string fileName(std::string_view buildNumber) const;
  void write(const void* bytes, size_t size);
  void fail(const std::string& what);
  using Hash = std::pair<uint64_t, uint64_t>;
  uint64_t data(const void* bytes, size_t size, Hash hash);
  std::string definition(uint64_t id, uint32_t network, const nvinfer1::Weights& weights, Hash hash);

  struct WeightsKey {
    uint32_t network;
    const void* values;
    int64_t count;
    uint64_t low, high;  // hash of the content
    auto operator<=>(const WeightsKey&) const = default;
  };

  std::recursive_mutex order_;
  std::deque<std::string> lines_;
  std::map<WeightsKey, uint64_t> weights_;
  std::map<std::pair<uint32_t, const void*>, uint64_t> latest_;  // by address, for what comes back
  std::map<Hash, uint64_t> data_;                                // by content
  uint64_t lastId_ = 0;
  uint64_t lastWeights_ = 0;
  uint64_t builds_ = 0;
  uint32_t lastNetwork_ = 0;
  int binFile_ = -1;
  uint64_t binSize_ = 0;
  int process_ = 0;
  bool failed_ = false;
};

// {"bytes": ..., "xxh3": ...} of an engine, by which a replay knows whether it made the same one.
std::string engineText(const void* bytes, size_t size);

}  // namespace tenon::capture
