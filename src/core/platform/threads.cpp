// Teams of threads: OpenMP, shared with oneDNN, or the calling thread alone in builds for the thread sanitizer.
#include "core/platform/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/environment.h"

namespace tenon::platform {
namespace {

std::atomic<int> running{0};
thread_local int depth = 0;
std::atomic<bool> inForkedChild{false};

int countCores() noexcept {
  if (const auto wanted = numberSetting("TENON_THREADS")) return static_cast<int>(*wanted);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

// A forked child has none of the threads of its parent's teams. OpenMP believes that it has, and would wait for them
// for ever, so the child computes with the calling thread alone.
void afterForkInChild() noexcept {
  inForkedChild = true;
  running = depth > 0 ? 1 : 0;
#ifdef _OPENMP
  omp_set_num_threads(1);        // for oneDNN outside of a RunningThread
  omp_set_max_active_levels(0);  // for primitives of oneDNN that were made for the parent's team
#endif
}

__attribute__((constructor)) void watchForks() { pthread_atfork(nullptr, nullptr, &afterForkInChild); }

}  // namespace

int coreCount() noexcept {
  static const int kCount = countCores();
  return kCount;
}

RunningThread::RunningThread() noexcept {
  if (depth++ == 0) running.fetch_add(1, std::memory_order_relaxed);
#ifdef _OPENMP
  omp_set_num_threads(teamSize());  // what oneDNN's loops on this thread will use
#endif
}

RunningThread::~RunningThread() {
  if (--depth == 0) running.fetch_sub(1, std::memory_order_relaxed);
}

int teamSize() noexcept {
  if (inForkedChild.load(std::memory_order_relaxed)) return 1;
  return std::max(1, coreCount() / std::max(1, running.load(std::memory_order_relaxed)));
}

SerialScope::SerialScope(bool alone) noexcept {
#ifdef _OPENMP
  if (!alone) return;
  before_ = omp_get_max_threads();
  if (before_ > 1) omp_set_num_threads(1);
#else
  static_cast<void>(alone);
#endif
}

SerialScope::~SerialScope() {
#ifdef _OPENMP
  if (before_ > 1) omp_set_num_threads(before_);
#endif
}

void parallelRanges(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* argument) {
  if (count <= 0) return;
  const int64_t pieces = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, teamSize());
  if (pieces == 1) {
    body(argument, 0, count);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads(static_cast <int>(pieces)) schedule(static, 1)
#endif
  for (int64_t i = 0; i < pieces; ++i) body(argument, count * i / pieces, count * (i + 1) / pieces);
}

}  // namespace tenon::platform
