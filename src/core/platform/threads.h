// The threads of CPU kernels: one process-wide count of running threads sizes every team, so that contexts that run
// side by side do not oversubscribe the cores.
#pragma once

#include <cstdint>

namespace tenon::platform {

// Cores that kernels may use: TENON_THREADS, or what the scheduler grants the process. At least 1.
int coreCount() noexcept;

// Announces that the calling thread is about to run kernels, for the lifetime of the object; teamSize() is its share.
class RunningThread {
 public:
  RunningThread() noexcept;
  ~RunningThread();
  RunningThread(const RunningThread&) = delete;
  RunningThread& operator=(const RunningThread&) = delete;
};

// Threads that a parallel loop started now on this thread may use: the cores divided by the threads that run kernels.
int teamSize() noexcept;

// While it lives, libraries that use OpenMP run alone on this thread: what is over in microseconds is not worth waking
// others. Does nothing when `alone` is false.
class SerialScope {
 public:
  explicit SerialScope(bool alone) noexcept;
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  int before_ = 0;
};

// Calls body(argument, begin, end) on disjoint ranges that cover [0, count), each of at least `grain` where there are
// several; on the calling thread alone when one range is enough. The body throws nothing.
void parallelRanges(int64_t count, int64_t grain, void (*body)(void* argument, int64_t begin, int64_t end),
                    void* argument);

template <typename Body>
void parallelFor(int64_t count, int64_t grain, Body&& body) {
  parallelRanges(
      count, grain, [](void* argument, int64_t begin, int64_t end) { (*static_cast<Body*>(argument))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace tenon::platform
