// Best fit in several orders of placement, then hill climbing from the best; offline dynamic storage allocation is
// NP-hard, and this stays within a few per cent of the lower bound at a cost that builds do not notice.
#include "memory/layout.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.h"

namespace tenon::memory {
namespace {

using Order = std::vector<uint32_t>;

constexpr uint64_t kMaxBytes = 1ull << 62;
constexpr uint64_t kClimbWork = 100'000'000;  // block pairs looked at in one climb: some tenths of a second
constexpr uint64_t kMaxRounds = 5'000;
constexpr int kClimbs = 4;  // each begins with larger steps again

uint64_t alignUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

void check(std::span<const Block> blocks) {
  uint64_t sum = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto& block = blocks[i];
    checkUser(block.firstStep <= block.lastStep,
              "memory block {}: lives from step {} to step {}, expected an end after the start", i, block.firstStep,
              block.lastStep);
    const uint64_t a = block.alignment;
    checkUser(a != 0 && (a & (a - 1)) == 0 && a <= (1u << 30),
              "memory block {}: alignment {}, expected a power of two up to 2^30", i, a);
    checkUser(block.bytes <= kMaxBytes && sum + block.bytes + a <= kMaxBytes,
              "memory block {}: {} bytes make more than 2^62 in sum", i, block.bytes);
    sum += block.bytes + a;
  }
}

enum class Fit : uint8_t { kBest, kFirst };

// Places blocks in the given order, each in the gap that it fills best or in the first one, or at the end of what it
// meets.
class Placer {
 public:
  explicit Placer(std::span<const Block> blocks) : blocks_(blocks) { result_.offsets.resize(blocks.size()); }

  // Gives up, with more bytes than `limit`, as soon as the result would be larger than that.
  const Layout& place(const Order& order, Fit fit, uint64_t limit = UINT64_MAX) {
    placed_.clear();
    result_.bytes = 0;
    for (const uint32_t id : order) {
      const uint64_t offset = blocks_[id].bytes == 0 ? 0 : find(blocks_[id], fit);
      result_.offsets[id] = offset;
      result_.bytes = std::max(result_.bytes, offset + blocks_[id].bytes);
      if (result_.bytes > limit) break;
      if (blocks_[id].bytes != 0) insert(id, offset);
    }
    return result_;
  }

 private:
  struct Placed {
    uint64_t begin;
    uint64_t end;
    int32_t firstStep;
    int32_t lastStep;
  };

  uint64_t find(const Block& block, Fit fit) const {
    uint64_t free = 0;  // end of what was met so far
    uint64_t bestOffset = 0;
    uint64_t bestWaste = UINT64_MAX;
    for (const auto& other : placed_) {  // sorted by begin
      if (other.firstStep > block.lastStep || other.lastStep < block.firstStep) continue;
      const uint64_t offset = alignUp(free, block.alignment);
      if (offset + block.bytes <= other.begin && other.begin - free - block.bytes < bestWaste) {
        bestWaste = other.begin - free - block.bytes;
        bestOffset = offset;
        if (fit == Fit::kFirst) break;
      }
      free = std::max(free, other.end);
    }
    return bestWaste != UINT64_MAX ? bestOffset : alignUp(free, block.alignment);
  }

  void insert(uint32_t id, uint64_t offset) {
    const Placed placed{offset, offset + blocks_[id].bytes, blocks_[id].firstStep, blocks_[id].lastStep};
    const auto at = std::upper_bound(placed_.begin(), placed_.end(), offset,
                                     [](uint64_t value, const Placed& p) { return value < p.begin; });
    placed_.insert(at, placed);
  }

  std::span<const Block> blocks_;
  std::vector<Placed> placed_;
  Layout result_;
};

template <typename Key>
Order orderBy(std::span<const Block> blocks, Key key) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(blocks[a]) > key(blocks[b]); });
  return order;
}

double lifetime(const Block& block) { return static_cast<double>(block.lastStep) - block.firstStep + 1; }

std::vector<Order> startingOrders(std::span<const Block> blocks) {
  const auto size = [](const Block& b) { return static_cast<double>(b.bytes); };
  return {orderBy(blocks, size), orderBy(blocks, [&](const Block& b) { return size(b) * lifetime(b); }),
          orderBy(blocks, [&](const Block& b) { return std::pair(lifetime(b), size(b)); }),
          orderBy(blocks, [&](const Block& b) { return std::pair(-static_cast<double>(b.firstStep), size(b)); })};
}

// Hill climbing: a block that reaches the top of the arena was placed too late, so it changes places in the order with
// an earlier block that lives at the same time, or with one that lives with that block. Changes that make the arena no
// larger, or at first only a little larger, stay. The pseudo-random choices depend on nothing but the blocks.
class Climber {
 public:
  Climber(std::span<const Block> blocks, Placer& placer, Fit fit, Order order, Layout start)
      : blocks_(blocks),
        placer_(placer),
        fit_(fit),
        order_(std::move(order)),
        current_(start),
        best_(std::move(start)) {}

  const Layout& best() const { return best_; }

  void climb(uint64_t bound, uint64_t rounds) {
    Order trial;
    for (uint64_t i = 0; i < rounds && best_.bytes > bound; ++i) {
      trial = order_;
      const size_t top = positionOfTop();
      const size_t below = companion(top);
      change(trial, top, next() % 2 == 0 ? below : companion(below));
      const uint64_t slack = best_.bytes / 64 * (rounds - i) / rounds;
      const auto& candidate = placer_.place(trial, fit_, best_.bytes + slack);
      if (candidate.bytes > best_.bytes + slack) continue;
      current_ = candidate;
      order_.swap(trial);
      if (current_.bytes < best_.bytes) best_ = current_;
    }
  }

 private:
  uint64_t next() { return random_ = random_ * 6364136223846793005ull + 1442695040888963407ull, random_ >> 33; }

  // The block at `from` moves before the one at `to`, or they change places.
  void change(Order& order, size_t from, size_t to) {
    if (from < to || next() % 2 == 0) {
      std::swap(order[from], order[to]);
    } else {
      const auto at = [&](size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
      std::rotate(at(to), at(from), at(from) + 1);
    }
  }

  size_t positionOfTop() const {
    const auto reachesTop = [&](uint32_t id) { return current_.offsets[id] + blocks_[id].bytes == current_.bytes; };
    return static_cast<size_t>(std::find_if(order_.begin(), order_.end(), reachesTop) - order_.begin());
  }

  // Position of some block that lives at the same time as the one at `position` (itself, if there is none).
  size_t companion(size_t position) {
    const auto& block = blocks_[order_[position]];
    const size_t start = next() % order_.size();
    for (size_t i = 0; i < order_.size(); ++i) {
      const size_t at = (start + i) % order_.size();
      const auto& other = blocks_[order_[at]];
      const bool meets = other.firstStep <= block.lastStep && block.firstStep <= other.lastStep;
      if (at != position && meets && other.bytes != 0) return at;
    }
    return position;
  }

  std::span<const Block> blocks_;
  Placer& placer_;
  Fit fit_;
  Order order_;
  Layout current_;
  Layout best_;
  uint64_t random_ = 1;
};

}  // namespace

uint64_t lowerBound(std::span<const Block> blocks) {
  std::map<int64_t, std::pair<uint64_t, uint64_t>> changes;  // step: bytes that begin to live, bytes that ended before
  for (const auto& block : blocks) {
    changes[block.firstStep].first += block.bytes;
    changes[static_cast<int64_t>(block.lastStep) + 1].second += block.bytes;
  }
  uint64_t live = 0;
  uint64_t most = 0;
  for (const auto& [step, change] : changes) {
    live = live + change.first - change.second;
    most = std::max(most, live);
  }
  return most;
}

Layout layout(std::span<const Block> blocks, Effort effort) {
  check(blocks);
  const uint64_t bound = lowerBound(blocks);
  Placer placer(blocks);
  Layout best;
  Order bestOrder;
  Fit bestFit = Fit::kBest;
  for (const auto& order : startingOrders(blocks)) {
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      const auto& candidate = placer.place(order, fit);
      if (!bestOrder.empty() && candidate.bytes >= best.bytes) continue;
      best = candidate;
      bestOrder = order;
      bestFit = fit;
      if (best.bytes == bound) return best;
    }
  }
  const uint64_t pairs = std::max<uint64_t>(1, static_cast<uint64_t>(blocks.size()) * blocks.size() / 2);
  const uint64_t rounds = effort == Effort::kQuick ? 0 : std::min(kMaxRounds, kClimbWork / pairs);
  Climber climber(blocks, placer, bestFit, std::move(bestOrder), std::move(best));
  for (int i = 0; i < kClimbs && climber.best().bytes > bound + bound / 25; ++i)
    climber.climb(bound + bound / 100, rounds);
  return climber.best();
}

}  // namespace tenon::memory
