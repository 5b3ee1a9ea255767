// Measured times of candidates, kept across builds: what makes a second build quick and a build repeatable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::compile {

// What stands for one node of one network on one device, and for the candidate it takes (Candidate::hash).
using SelectionKey = std::array<uint8_t, 16>;
SelectionKey selectionKey(std::string_view text);
std::string text(const SelectionKey& key);  // 0x and 32 digits
struct Selection {
  uint64_t candidate = 0;
  double seconds = 0;
};

// Times by key: the problem's text, the device, the candidate and its tactic's version, in one line of text. An
// editable cache also has the choices of nodes. Thread-safe.
class TimingCache {
 public:
  TimingCache() = default;
  TimingCache(const TimingCache& other);
  TimingCache& operator=(const TimingCache&) = delete;

  std::optional<double> find(std::string_view key) const;  // seconds
  void insert(std::string_view key, double seconds);
  bool erase(std::string_view key);
  size_t size() const;
  void clear();
  std::vector<std::string> keys() const;

  std::optional<Selection> selection(const SelectionKey& key) const;
  void select(const SelectionKey& key, const Selection& selection);
  bool deselect(const SelectionKey& key);
  std::vector<SelectionKey> selectionKeys() const;

  // Takes over the entries of the other cache; own ones stay.
  void combine(const TimingCache& other);

  // Bytes: one header line with the number of entries and a hash, then a line per entry, sorted. The times round to
  // the text's precision on insertion, so that a stored cache gives the same decisions as the one in memory.
  std::vector<std::byte> serialize() const;
  // Adds the entries of a serialized cache. UserError when it is damaged; the cache is then unchanged.
  void deserialize(std::span<const std::byte> bytes);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double, std::less<>> entries_;
  std::map<SelectionKey, Selection> selections_;
};

}  // namespace tenon::compile
