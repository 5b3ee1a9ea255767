// The cache's text form.
#include "build/tune/timing_cache.h"

#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/fields.h"

namespace tenon::build {
namespace {

constexpr std::string_view kMagic = "tenon timing cache 1";

double rounded(double seconds) { return std::stod(fmt::format("{:.4e}", seconds)); }

}  // namespace

TimingCache::TimingCache(const TimingCache& other) {
  const std::lock_guard lock(other.mutex_);
  entries_ = other.entries_;
}

std::optional<double> TimingCache::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void TimingCache::insert(std::string_view key, double seconds) {
  const std::lock_guard lock(mutex_);
  entries_.insert_or_assign(std::string(key), rounded(seconds));
}

bool TimingCache::erase(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  entries_.erase(found);
  return true;
}

size_t TimingCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void TimingCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::vector<std::string> TimingCache::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result;
  for (const auto& [key, seconds] : entries_) result.push_back(key);
  return result;
}

void TimingCache::combine(const TimingCache& other) {
  const TimingCache copy(other);
  const std::lock_guard lock(mutex_);
  for (const auto& [key, seconds] : copy.entries_) entries_.emplace(key, seconds);
}

std::vector<std::byte> TimingCache::serialize() const {
  std::string body;
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, seconds] : entries_) body += fmt::format("{:.4e} {}\n", seconds, key);
    count = entries_.size();
  }
  const auto text = fmt::format("{} entries={} hash={:016x}\n{}", kMagic, count, hashBytes(body), body);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

void TimingCache::deserialize(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto lineEnd = text.find('\n');
  const auto header = text.substr(0, lineEnd);
  checkUser(lineEnd != std::string_view::npos && header.substr(0, kMagic.size()) == kMagic,
            "timing cache: the first line must begin with '{}'; it was made by something else or another version", kMagic);
  const auto body = text.substr(lineEnd + 1);
  const auto expected = fmt::format("hash={:016x}", hashBytes(body));
  checkUser(header.find(expected) != std::string_view::npos, "timing cache: its hash does not match, the file is damaged; delete it");
  std::map<std::string, double, std::less<>> read;
  size_t position = 0;
  while (position < body.size()) {
    const auto end = body.find('\n', position);
    const auto line = body.substr(position, end == std::string_view::npos ? end : end - position);
    const auto space = line.find(' ');
    char* stop = nullptr;
    const std::string number(line.substr(0, space));
    const double seconds = std::strtod(number.c_str(), &stop);
    checkUser(space != std::string_view::npos && stop == number.c_str() + number.size() && std::isfinite(seconds) && seconds >= 0,
              "timing cache: line '{}' does not begin with a time", line.substr(0, 60));
    read.emplace(std::string(line.substr(space + 1)), seconds);
    position = end == std::string_view::npos ? body.size() : end + 1;
  }
  const std::lock_guard lock(mutex_);
  entries_.merge(read);
}

}  // namespace tenon::build
