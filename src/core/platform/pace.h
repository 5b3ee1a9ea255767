// How much of a core a worker takes where other programs want that core too.
//
// The system takes a core from a thread at the ticks of its own clock, for one to ten milliseconds, and so in the
// middle of a piece, for which the caller then waits with its own core idle. A worker that rests of its own accord
// between pieces, so that it uses less than its share, is hardly ever taken off within one.
#pragma once

#include <cstdint>

namespace tenon::platform {

// Of one worker. Times are nanoseconds: of a steady clock, and of the processor time that the thread has used.
class Pace {
 public:
  // Whether enough time has passed since it last heard the times.
  bool isDue(int64_t wall) const noexcept { return wall - wall_ >= kBetweenLooks; }

  // The worker begins, or has slept.
  void wakes(int64_t wall, int64_t used) noexcept;

  // The worker is between two pieces; `isStalled`: other threads have taken its core, and a caller slept until it was
  // done with the last one. How long it shall rest before the next one, in nanoseconds, mostly 0.
  int64_t pieceDone(int64_t wall, int64_t used, bool isStalled) noexcept;

 private:
  static constexpr int64_t kBetweenLooks = 100'000;

  void pass(int64_t wall, int64_t used) noexcept;
  void slowDown(int64_t wall) noexcept;
  void speedUp(int64_t wall) noexcept;

  int64_t wall_ = 0;
  int64_t used_ = 0;
  double stalled_ = 0;  // time off the core while a caller waited; a quarter of the time that passes is taken off
  double share_ = 1;    // of a core
  double budget_ = 0;   // of its share, what it has not used; negative: more than it had
  int64_t until_ = 0;   // when to try a larger share
  int64_t period_ = 0;
};

}  // namespace tenon::platform
