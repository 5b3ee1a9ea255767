// A budget of processor time that grows with the clock, where stalls have shown that the core is contested.
//
// The figures are measured beside one loop that keeps one of two cores busy (docs/performance_cpu.md): half a core is
// what the system would grant, and a worker at 0.4 of it is seldom behind in its turns. Stints of 0.1 to 0.4 ms do
// alike.
#include "core/platform/pace.h"

#include <algorithm>

namespace tenon::platform {
namespace {

constexpr double kMilli = 1e6;
constexpr double kShare = 0.4;         // the first one below 1; further ones are halves of it
constexpr double kLeastShare = 0.025;  // next to a worker less
constexpr double kStint = 0.2 * kMilli;
constexpr double kMostBudget = 1 * kMilli;  // shorter than a turn that the system grants
constexpr double kMostRest = 20 * kMilli;
// Shorter absences are those of interrupts and daemons.
constexpr int64_t kStall = 300'000;
constexpr double kMostStall = 10 * kMilli;
// Stalls that one program beside brings within some 50 ms; a turn lost now and then stays below.
constexpr double kTooMuch = 12 * kMilli;
constexpr double kForgotten = 0.25;
// How long a share holds before a larger one is tried: longer each time that this proves too early.
constexpr int64_t kLeastPeriod = 300'000'000;
constexpr int64_t kMostPeriod = 2'400'000'000;

}  // namespace

// Credits and forgets for the time since it last heard.
void Pace::pass(int64_t wall, int64_t used) noexcept {
  const auto elapsed = static_cast<double>(wall - wall_);
  stalled_ = std::max(0.0, stalled_ - kForgotten * elapsed);
  budget_ = std::min(kMostBudget, budget_ + share_ * elapsed - static_cast<double>(used - used_));
  wall_ = wall;
  used_ = used;
}

void Pace::wakes(int64_t wall, int64_t used) noexcept { pass(wall, used); }

void Pace::slowDown(int64_t wall) noexcept {
  stalled_ = 0;
  budget_ = share_ == 1 ? kMostBudget : budget_;
  share_ = share_ == 1 ? kShare : std::max(share_ / 2, kLeastShare);
  const bool isSoon = period_ > 0 && wall - until_ < 4 * period_;
  period_ = isSoon ? std::min(2 * period_, kMostPeriod) : kLeastPeriod;
  until_ = wall + period_;
}

void Pace::speedUp(int64_t wall) noexcept {
  share_ = share_ >= kShare ? 1 : 2 * share_;
  until_ = wall + period_;
}

int64_t Pace::pieceDone(int64_t wall, int64_t used, bool isStalled) noexcept {
  const int64_t off = (wall - wall_) - (used - used_);
  pass(wall, used);
  if (isStalled && off >= kStall) stalled_ += std::min(static_cast<double>(off), kMostStall);
  if (stalled_ >= kTooMuch) {
    slowDown(wall);
  } else if (share_ < 1 && wall >= until_) {
    speedUp(wall);
  }
  if (share_ == 1 || budget_ > 0) return 0;
  return static_cast<int64_t>(std::min(kMostRest, (kStint * (1 - share_) - budget_) / share_));
}

}  // namespace tenon::platform
