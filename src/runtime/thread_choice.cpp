// Four executions with each number of threads in a row, since the caches of a core are cold that has been left out; the
// medians of three are compared.
#include "runtime/thread_choice.h"

#include <algorithm>

namespace tenon::runtime {

void ThreadChoice::note(int64_t nanoseconds) noexcept {
  if (!tries_) {
    if (--left_ > 0) return;
    left_ = pause_;
    if (!alone_ && nanoseconds > kLong) return;
    tries_ = true;
    tryAlone_ = alone_;
    at_ = 0;
    return;
  }
  times_[tryAlone_ ? 1 : 0][static_cast<size_t>(at_)] = nanoseconds;
  constexpr int64_t kHopeless = 4;  // one thread instead of many may be so many times as slow: not tried to the end
  const auto& kept = times_[alone_ ? 1 : 0];
  if (tryAlone_ != alone_ && nanoseconds > kHopeless * *std::max_element(kept.begin() + 1, kept.end())) {
    tries_ = false;
    left_ = pause_ = std::min(2 * pause_, kMostPause);
    return;
  }
  if (++at_ < kEach) return;
  at_ = 0;
  if (tryAlone_ == alone_) {
    tryAlone_ = !alone_;
    return;
  }
  tries_ = false;
  decide();
}

void ThreadChoice::decide() noexcept {
  const auto median = [](std::array<int64_t, kEach>& times) {
    std::sort(times.begin() + 1, times.end());
    return static_cast<double>(times[1 + (kEach - 1) / 2]);
  };
  const double kept = median(times_[alone_ ? 1 : 0]);
  const double other = median(times_[alone_ ? 0 : 1]);
  constexpr double kGain = 0.95, kFar = 1.25;
  if (other < kGain * kept) {
    alone_ = !alone_;
    pause_ = kPause;
  } else {
    pause_ = other > kFar * kept ? std::min(2 * pause_, kMostPause) : kPause;
  }
  left_ = pause_;
}

}  // namespace tenon::runtime
