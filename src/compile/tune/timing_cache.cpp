// The cache's text form.
#include "compile/tune/timing_cache.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/fields.h"

namespace tenon::compile {
namespace {

constexpr std::string_view kMagic = "tenon timing cache 1";

constexpr std::string_view kSelected = "selected 0x";  // where lines of times have a device

double rounded(double seconds) { return std::stod(fmt::format("{:.4e}", seconds)); }

std::string line(const SelectionKey& key, const Selection& selection) {
  return fmt::format("selected {} {:#018x}", text(key), selection.candidate);
}

// What stands behind the time in a line that line() wrote; false for other lines.
bool readSelection(std::string_view line, SelectionKey& key, uint64_t& candidate) {
  constexpr size_t kCandidate = kSelected.size() + 2 * sizeof(SelectionKey) + std::string_view(" 0x").size();
  if (!line.starts_with(kSelected) || line.size() != kCandidate + 2 * sizeof(candidate)) return false;
  const auto hex = [&](size_t at, size_t digits, auto& value) {
    const char* end = line.data() + at + digits;
    return std::from_chars(line.data() + at, end, value, 16).ptr == end;
  };
  bool good = line.substr(kCandidate - 3, 3) == " 0x" && hex(kCandidate, 2 * sizeof(candidate), candidate);
  for (size_t i = 0; i < key.size(); ++i) good = good && hex(kSelected.size() + 2 * i, 2, key[i]);
  return good;
}

}  // namespace

SelectionKey selectionKey(std::string_view text) {
  const std::array<uint64_t, 2> halves{hashBytes(text), hashBytes(text, 1)};
  SelectionKey key;
  static_assert(sizeof(key) == sizeof(halves));
  std::memcpy(key.data(), halves.data(), sizeof(key));
  return key;
}

std::string text(const SelectionKey& key) { return fmt::format("0x{:02x}", fmt::join(key, "")); }

TimingCache::TimingCache(const TimingCache& other) {
  const std::lock_guard lock(other.mutex_);
  entries_ = other.entries_;
  selections_ = other.selections_;
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
  return entries_.size() + selections_.size();
}

void TimingCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  selections_.clear();
}

std::optional<Selection> TimingCache::selection(const SelectionKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = selections_.find(key);
  return found == selections_.end() ? std::nullopt : std::optional(found->second);
}

void TimingCache::select(const SelectionKey& key, const Selection& selection) {
  const std::lock_guard lock(mutex_);
  selections_.insert_or_assign(key, Selection{selection.candidate, rounded(selection.seconds)});
}

bool TimingCache::deselect(const SelectionKey& key) {
  const std::lock_guard lock(mutex_);
  return selections_.erase(key) > 0;
}

std::vector<SelectionKey> TimingCache::selectionKeys() const {
  const std::lock_guard lock(mutex_);
  std::vector<SelectionKey> result;
  for (const auto& [key, selection] : selections_) result.push_back(key);
  return result;
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
  selections_.insert(copy.selections_.begin(), copy.selections_.end());
}

std::vector<std::byte> TimingCache::serialize() const {
  std::string body;
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, seconds] : entries_) body += fmt::format("{:.4e} {}\n", seconds, key);
    for (const auto& [key, selection] : selections_)
      body += fmt::format("{:.4e} {}\n", selection.seconds, line(key, selection));
    count = entries_.size() + selections_.size();
  }
  const auto text = fmt::format("{} entries={} hash={:016x}\n{}", kMagic, count, hashBytes(body), body);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

void TimingCache::deserialize(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr size_t kLongestHeader = 200;
  const auto lineEnd = text.substr(0, kLongestHeader).find('\n');  // whatever else may be large
  const auto header = text.substr(0, lineEnd);
  checkUser(lineEnd != std::string_view::npos && header.substr(0, kMagic.size()) == kMagic,
            "timing cache: the first line must begin with '{}'; another program or version wrote it", kMagic);
  const auto body = text.substr(lineEnd + 1);
  const auto expected = fmt::format("hash={:016x}", hashBytes(body));
  checkUser(header.find(expected) != std::string_view::npos,
            "timing cache: its hash does not match, the file is damaged; delete it");
  std::map<std::string, double, std::less<>> read;
  std::map<SelectionKey, Selection> selected;
  size_t position = 0;
  while (position < body.size()) {
    const auto end = body.find('\n', position);
    const auto line = body.substr(position, end == std::string_view::npos ? end : end - position);
    const auto space = line.find(' ');
    char* stop = nullptr;
    const std::string number(line.substr(0, space));
    const double seconds = std::strtod(number.c_str(), &stop);
    checkUser(space != std::string_view::npos && stop == number.c_str() + number.size() && std::isfinite(seconds) &&
                  seconds >= 0,
              "timing cache: line '{}' does not begin with a time", line.substr(0, 60));
    const auto what = line.substr(space + 1);
    SelectionKey key;
    uint64_t candidate = 0;
    if (readSelection(what, key, candidate)) {
      selected.emplace(key, Selection{candidate, seconds});
    } else {
      read.emplace(std::string(what), seconds);
    }
    position = end == std::string_view::npos ? body.size() : end + 1;
  }
  const std::lock_guard lock(mutex_);
  entries_.merge(read);
  selections_.merge(selected);
}

}  // namespace tenon::compile
