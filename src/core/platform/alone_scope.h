// Loops that keep to the thread that runs them.
#pragma once

namespace tenon::platform {

// While it lives, teamSize() is 1 on the calling thread. Unlike SerialScope, coreCount() stays: what was sized by it
// stays as it is. Does nothing when `alone` is false.
class AloneScope {
 public:
  explicit AloneScope(bool alone) noexcept;
  ~AloneScope();
  AloneScope(const AloneScope&) = delete;
  AloneScope& operator=(const AloneScope&) = delete;

 private:
  bool alone_;
};

}  // namespace tenon::platform
