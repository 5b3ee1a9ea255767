// What the system says of the calling thread's use of a core.
#pragma once

#include <cstdint>

namespace tenon::platform {

// In nanoseconds. Where a thread asks, Linux (6.6 and later) notices that the thread's turn is over.
int64_t processorTimeOfThread() noexcept;

// How often the thread was taken off its core: because others wanted it, or because it waited. 0 where nobody says.
struct Switches {
  int64_t byOthers = 0;
  int64_t byWaiting = 0;
};
Switches switchesOfThread() noexcept;

}  // namespace tenon::platform
