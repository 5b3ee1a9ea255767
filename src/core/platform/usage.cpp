// By clock_gettime and getrusage.
#include "core/platform/usage.h"

#include <sys/resource.h>
#include <time.h>

namespace tenon::platform {

int64_t processorTimeOfThread() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

Switches switchesOfThread() noexcept {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  return {usage.ru_nivcsw, usage.ru_nvcsw};
}

}  // namespace tenon::platform
