// Dynamic scheduling: threads take the jobs of a loop from a counter, so that one delayed thread does not delay the
// others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/platform/threads.h"

namespace tenon::backends::cpu {

// Calls body(job) for each job in [0, jobs), on as many threads as `work` (in multiply-adds or the like) is worth.
template <typename Body>
void runJobs(int64_t jobs, int64_t work, Body&& body) {
  constexpr int64_t kWorkPerThread = 200'000;  // about five microseconds
  const int64_t threads = std::clamp<int64_t>(std::min(work / kWorkPerThread, jobs), 1, platform::teamSize());
  if (threads == 1) {
    for (int64_t job = 0; job < jobs; ++job) body(job);
    return;
  }
  std::atomic<int64_t> next{0};
  platform::parallelFor(threads, 1, [&](int64_t, int64_t) {
    for (int64_t job = next.fetch_add(1, std::memory_order_relaxed); job < jobs;
         job = next.fetch_add(1, std::memory_order_relaxed))
      body(job);
  });
}

}  // namespace tenon::backends::cpu
