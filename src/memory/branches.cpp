// One pass in program order; for each step, the last step of every stream that it depends on.
#include "memory/branches.h"

#include <algorithm>
#include <map>

namespace tenon::memory {
namespace {

constexpr size_t kMostSteps = 8192;  // beyond, questions about pairs of steps would be many

using Clock = std::vector<int32_t>;  // by stream: the last step there that has ended for certain; -1: none

// Who wrote and read which bytes last.
class Hazards {
 public:
  // Earlier steps that `access` of step `at` must come behind.
  void find(const Access& access, std::vector<int32_t>& behind) const {
    if (access.begin == access.end) return;
    const auto space = spaces_.find(access.space);
    if (space == spaces_.end()) return;
    for (const auto& known : space->second) {
      if (known.access.begin >= access.end || access.begin >= known.access.end) continue;
      if (known.access.writes || access.writes) behind.push_back(known.step);
    }
  }
  // What this step writes whole hides what others did there: who comes behind it comes behind them.
  void add(const Access& access, int32_t step) {
    if (access.begin == access.end) return;
    auto& list = spaces_[access.space];
    if (access.writes) {
      std::erase_if(list, [&](const Known& known) {
        return access.begin <= known.access.begin && known.access.end <= access.end;
      });
    }
    list.push_back({access, step});
  }

 private:
  struct Known {
    Access access;
    int32_t step;
  };
  std::map<int32_t, std::vector<Known>> spaces_;
};

class Placing {
 public:
  Placing(std::span<const BranchStep> steps, int32_t streams)
      : steps_(steps), tails_(static_cast<size_t>(streams), -1) {
    result_.steps.resize(steps.size());
    clocks_.resize(steps.size());
  }

  Branches run() {
    for (size_t i = 0; i < steps_.size(); ++i) place(static_cast<int32_t>(i));
    join();
    findLastBeside();
    for (const auto& step : result_.steps) result_.streams = std::max(result_.streams, step.stream + 1);
    return std::move(result_);
  }

 private:
  bool isBehind(const Clock& clock, int32_t step) const {
    return clock[static_cast<size_t>(result_.steps[static_cast<size_t>(step)].stream)] >= step;
  }

  // Joins what is known of a step that has ended.
  void merge(Clock& clock, int32_t step) const {
    const auto& other = clocks_[static_cast<size_t>(step)];
    for (size_t s = 0; s < clock.size(); ++s) clock[s] = std::max(clock[s], other[s]);
  }

  int32_t chooseStream(int32_t at, const std::vector<int32_t>& behind) const {
    int32_t best = -1;  // the last step among those needed that ends its stream
    for (const int32_t need : steps_[static_cast<size_t>(at)].needs) {
      const auto stream = static_cast<size_t>(result_.steps[static_cast<size_t>(need)].stream);
      if (tails_[stream] == need) best = std::max(best, need);
    }
    if (best >= 0) return result_.steps[static_cast<size_t>(best)].stream;
    Clock known(tails_.size(), -1);
    for (const int32_t step : behind) merge(known, step);
    for (size_t s = 0; s < tails_.size(); ++s) {
      if (tails_[s] <= known[s]) return static_cast<int32_t>(s);  // nothing on it that this step would not wait for
    }
    return static_cast<int32_t>(std::min_element(tails_.begin(), tails_.end()) - tails_.begin());
  }

  void place(int32_t at) {
    const auto& step = steps_[static_cast<size_t>(at)];
    std::vector<int32_t> behind = step.needs;
    for (const auto& access : step.accesses) hazards_.find(access, behind);
    std::sort(behind.begin(), behind.end(), std::greater<>());
    behind.erase(std::unique(behind.begin(), behind.end()), behind.end());

    auto& placed = result_.steps[static_cast<size_t>(at)];
    placed.stream = chooseStream(at, behind);
    const auto own = static_cast<size_t>(placed.stream);
    Clock clock(tails_.size(), -1);
    if (tails_[own] >= 0) merge(clock, tails_[own]);
    for (const int32_t other : behind) {
      if (isBehind(clock, other)) continue;
      placed.waits.push_back(other);
      result_.steps[static_cast<size_t>(other)].isWaitedFor = true;
      merge(clock, other);
    }
    placed.waitsForStart = own != 0 && tails_[own] < 0 && placed.waits.empty();
    clock[own] = at;
    tails_[own] = at;
    clocks_[static_cast<size_t>(at)] = std::move(clock);
    for (const auto& access : step.accesses) hazards_.add(access, at);
  }

  void join() {
    Clock clock(tails_.size(), -1);
    if (tails_[0] >= 0) merge(clock, tails_[0]);
    auto tails = tails_;
    std::sort(tails.begin(), tails.end(), std::greater<>());
    for (const int32_t tail : tails) {
      if (tail < 0 || isBehind(clock, tail)) continue;
      result_.joins.push_back(tail);
      result_.steps[static_cast<size_t>(tail)].isWaitedFor = true;
      merge(clock, tail);
    }
  }

  void findLastBeside() {
    const auto count = static_cast<int32_t>(steps_.size());
    for (int32_t s = 0; s < count; ++s) {
      int32_t last = count - 1;
      while (last > s && isBehind(clocks_[static_cast<size_t>(last)], s)) --last;
      result_.lastBeside.push_back(last);
    }
  }

  std::span<const BranchStep> steps_;
  Clock tails_;
  std::vector<Clock> clocks_;
  Hazards hazards_;
  Branches result_;
};

Branches inOrder(size_t steps) {
  Branches result;
  result.steps.resize(steps);
  for (size_t i = 0; i < steps; ++i) result.lastBeside.push_back(static_cast<int32_t>(i));
  return result;
}

}  // namespace

Branches branch(std::span<const BranchStep> steps, int32_t streams) {
  if (streams <= 1 || steps.size() > kMostSteps) return inOrder(steps.size());
  return Placing(steps, streams).run();
}

}  // namespace tenon::memory
