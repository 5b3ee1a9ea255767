// Keeps the lines, writes the files.
#include "shim/recorder.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/bin_format.h"
#include "enums.h"
#include "shim/library.h"
#include "shim/settings.h"
#include "shim/text.h"

namespace tenon::capture {
namespace {

constexpr size_t kWriteChunk = size_t{64} << 20;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool writeAll(int file, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file, at, std::min(size, kWriteChunk));
    if (written < 0 && errno != EINTR) {
      return false;
    }
    if (written > 0) {
      at += written;
      size -= static_cast<size_t>(written);
    }
  }
  return true;
}

}  // namespace

Recorder& Recorder::instance() {
  static Recorder& kRecorder = *new Recorder;  // the application deletes objects after exit handlers too
  return kRecorder;
}

Recorder::Recorder() : process_(::getpid()) {}

// One file of weights serves all captures of a process, so %n has no place in its name.
std::string Recorder::fileName(std::string_view buildNumber) const {
  std::string name = replaced(settings().outputJson, "%p", std::to_string(process_));
  return replaced(std::move(name), "%n", buildNumber);
}

void Recorder::fail(const std::string& what) {
  if (!failed_) {
    std::fprintf(stderr, "[tensorrt_shim] the capture ends here: %s: %s\n", what.c_str(), std::strerror(errno));
  }
  failed_ = true;
}

void Recorder::open() {
  const std::string name = binName(fileName("all"));
  binFile_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (binFile_ < 0) {
    return fail(fmt::format("cannot write '{}'", name));
  }
  const std::string header = binHeader();
  write(header.data(), header.size());
}

void Recorder::write(const void* bytes, size_t size) {
  if (!failed_ && !writeAll(binFile_, bytes, size)) {
    fail("cannot write the file of weights");
  }
  binSize_ += size;
}

size_t Recorder::reserve(std::string pending) {
  lines_.push_back(std::move(pending));
  return lines_.size() - 1;
}

void Recorder::fill(size_t place, std::string line) {
  if (settings().dumpApi) {
    std::fprintf(stderr, "[tensorrt_shim] %s\n", line.c_str());
  }
  if (settings().records()) {
    lines_[place] = std::move(line);
  }
}

uint64_t Recorder::data(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return data(bytes, size, {hash.high64, hash.low64});
}

uint64_t Recorder::data(const void* bytes, size_t size, Hash hash) {
  const auto [row, isNew] = data_.try_emplace(hash, data_.size() + 1);
  if (!isNew || !settings().records()) {
    return row->second;
  }
  if (binFile_ < 0 && !failed_) {
    open();
  }
  static constexpr char kZeros[kBinAlignment] = {};
  write(kZeros, (kBinAlignment - binSize_ % kBinAlignment) % kBinAlignment);
  append(fmt::format("{{\"data\":{},\"offset\":{},\"bytes\":{},\"xxh3\":\"{:016x}{:016x}\"}}", row->second, binSize_,
                     size, hash.first, hash.second));
  write(bytes, size);
  return row->second;
}

std::string Recorder::definition(uint64_t id, uint32_t network, const nvinfer1::Weights& weights, Hash hash) {
  const size_t bytes = bytesOf(weights.type, weights.count);
  std::string line = fmt::format("{{\"weights\":{},\"network\":{},\"type\":", id, network);
  text::appendEnum(line, kEnum_DataType, static_cast<int64_t>(weights.type));
  line += fmt::format(",\"count\":{}", weights.count);
  if (weights.count <= settings().inlineWeights) {
    line += ",\"inline\":\"";
    text::appendHex(line, weights.values, bytes);
    line += '"';
  } else if (weights.count >= settings().randomWeights) {
    line += ",\"random\":true";
  } else {
    line += fmt::format(",\"data\":{}", data(weights.values, bytes, hash));
  }
  return line + '}';
}

uint64_t Recorder::weights(uint32_t network, const nvinfer1::Weights& weights) {
  const size_t bytes = bytesOf(weights.type, weights.count);
  const bool keepsBytes = weights.count < settings().randomWeights;
  const XXH128_hash_t hash = keepsBytes ? XXH3_128bits(weights.values, bytes) : XXH128_hash_t{};
  const WeightsKey key{network, weights.values, weights.count, hash.low64 ^ static_cast<uint64_t>(weights.type),
                       hash.high64};
  const auto [row, isNew] = weights_.try_emplace(key, lastWeights_ + 1);
  if (isNew) {
    ++lastWeights_;
    append(definition(row->second, network, weights, {hash.high64, hash.low64}));
  }
  latest_[{network, weights.values}] = row->second;
  return row->second;
}

uint64_t Recorder::knownWeights(uint32_t network, const nvinfer1::Weights& weights) const {
  const auto found = latest_.find({network, weights.values});
  return found == latest_.end() ? 0 : found->second;
}

std::string engineText(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return fmt::format("{{\"bytes\":{},\"xxh3\":\"{:016x}{:016x}\"}}", size, hash.high64, hash.low64);
}

void Recorder::flush() {
  if (!settings().records() || failed_ || ::getpid() != process_) {
    return;  // a child after fork() leaves the files to its parent
  }
  if (binFile_ < 0) {
    open();
  }
  const std::string name = fileName(std::to_string(builds_ > 0 ? builds_ - 1 : 0));
  const std::string part = name + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::string bin;
  text::appendString(bin, baseName(binName(fileName("all"))).c_str());
  std::string text =
      fmt::format("{{\"format\":\"{}\",\"version\":{},\"api\":\"{}.{}\",\"library\":{},\"bin\":{},\"calls\":[\n",
                  kFormatName, kFormatVersion, NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, libraryVersion(), bin);
  bool good = file >= 0;
  size_t count = 0;
  for (const std::string& line : lines_) {
    if (!line.empty()) {
      ++count;
      text += line;
      text += ",\n";
    }
    if (text.size() > (size_t{1} << 20)) {
      good = good && writeAll(file, text.data(), text.size());
      text.clear();
    }
  }
  text += fmt::format("{{\"end\":{}}}]}}\n", count);
  good = good && writeAll(file, text.data(), text.size());
  if (file >= 0) {
    good = ::close(file) == 0 && good;
  }
  if (!good || ::rename(part.c_str(), name.c_str()) != 0) {
    fail(fmt::format("cannot write '{}'", name));
    ::unlink(part.c_str());
  }
}

void Recorder::flushAtExit() {
  std::lock_guard lock(order_);
  if (!lines_.empty()) {
    flush();
  }
}

}  // namespace tenon::capture
