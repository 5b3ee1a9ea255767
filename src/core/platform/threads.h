// The threads of CPU kernels: one process-wide count of running threads sizes every team, so that contexts that run
// side by side do not oversubscribe the cores.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/platform/pool.h"

namespace tenon::platform {

// The most threads that a loop may ever have: TENON_THREADS, or the cores that the scheduler's mask granted when this
// was first asked. At least 1, and the same until the process ends, so that memory can be sized by it.
int coreCount() noexcept;

// Announces that the calling thread is about to run kernels, for the lifetime of the object; teamSize() is its share.
class RunningThread {
 public:
  RunningThread() noexcept;
  ~RunningThread();
  RunningThread(const RunningThread&) = delete;
  RunningThread& operator=(const RunningThread&) = delete;
};

// Threads that a parallel loop started now on this thread may use: the cores, of which a quota of the process's control
// groups may grant fewer by now, divided by the threads that run kernels. 1 within a parallel loop.
int teamSize() noexcept;

// While it lives, the calling thread is as on a machine of one core, so that what it asks kernels does not depend on
// the number of threads. Does nothing when `alone` is false.
class SerialScope {
 public:
  explicit SerialScope(bool alone) noexcept;
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool alone_;
};

// Calls body(argument, begin, end, place) on disjoint ranges that cover [0, count), each of at least `grain` where
// there are several; on the calling thread alone when one range is enough. How many there are depends on the number of
// threads. `place`: see LoopBody; it is less than teamSize() and than count.
void parallelRanges(int64_t count, int64_t grain, LoopBody body, void* argument);

namespace detail {
template <typename Callable>
void callBody(void* argument, int64_t begin, int64_t end, int place) {
  if constexpr (std::is_invocable_v<Callable&, int64_t, int64_t, int>) {
    (*static_cast<Callable*>(argument))(begin, end, place);
  } else {
    static_cast<void>(place);
    (*static_cast<Callable*>(argument))(begin, end);
  }
}
}  // namespace detail

// The same with any callable: body(begin, end) or body(begin, end, place).
template <typename Body>
void parallelFor(int64_t count, int64_t grain, Body&& body) {
  parallelRanges(count, grain, &detail::callBody<std::remove_reference_t<Body>>,
                 const_cast<void*>(static_cast<const void*>(&body)));
}

// In so many pieces on any number of threads: at most `threads`, and teamSize() of them.
template <typename Body>
void parallelPieces(int64_t count, int64_t pieces, int64_t threads, Body&& body) {
  runLoop(count, pieces, static_cast<int>(threads < teamSize() ? threads : teamSize()),
          &detail::callBody<std::remove_reference_t<Body>>, const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace tenon::platform
