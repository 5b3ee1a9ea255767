// Clocks and counters before and after.
#include "core/platform/measured_call.h"

#include <algorithm>
#include <chrono>

#include "core/platform/pool.h"
#include "core/platform/usage.h"

namespace tenon::platform {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPresent = 0.9;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

struct Measuring {
  Measuring() noexcept { noteMeasuring(true); }
  ~Measuring() { noteMeasuring(false); }
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;
};

}  // namespace

CallTime measureCall(void (*work)(void* argument), void* argument) {
  const Measuring measuring;
  static_cast<void>(takeMostThreads());
  const auto asked = Clock::now();
  const int64_t workersBefore = processorTimeOfWorkers();
  const Switches before = switchesOfThread();
  const int64_t usedBefore = processorTimeOfThread();
  const auto start = Clock::now();
  work(argument);
  const auto end = Clock::now();
  const int64_t workers = processorTimeOfWorkers() - workersBefore;
  const int64_t used = processorTimeOfThread() - usedBefore;
  const Switches after = switchesOfThread();
  const int threads = takeMostThreads();

  CallTime result{seconds(end - start), after.byOthers != before.byOthers};
  if (threads == 1) {
    if (result.isDisturbed && after.byWaiting == before.byWaiting)
      result.seconds = std::min(result.seconds, static_cast<double>(used) * 1e-9);
    return result;
  }
  // The workers' clocks are read in one order both times, so that as much time lies between as between the beginnings.
  const double present = seconds(end - asked) * (threads - 1);
  result.isDisturbed =
      result.isDisturbed || (mayWorkersWait() && static_cast<double>(workers) * 1e-9 < kPresent * present);
  return result;
}

}  // namespace tenon::platform
