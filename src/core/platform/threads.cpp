// Teams of threads: who runs, how many cores there are for it, and loops cut by that.
#include "core/platform/threads.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <new>

#include "core/environment.h"
#include "core/platform/alone_scope.h"
#include "core/platform/cores.h"

namespace tenon::platform {
namespace {

// Pieces for each thread: where one is held up, the others take what it has not begun.
constexpr int64_t kPiecesPerThread = 4;
constexpr int64_t kNanosecondsBetweenLooks = 1'000'000'000;

std::atomic<int> running{0};
thread_local int depth = 0;
thread_local int scopes = 0;  // SerialScope
thread_local int alones = 0;  // AloneScope

// Cores as the system grants them now.
struct Grant {
  Grant() noexcept
      : quota(findQuota()),
        isFixed(numberSetting("TENON_THREADS").has_value()),
        most(std::max(1, static_cast<int>(numberSetting("TENON_THREADS").value_or(coresOfMask())))) {
    look();
  }

  static CoreQuota findQuota() noexcept {
    try {
      return CoreQuota("");
    } catch (...) {  // no memory for the names of its files
      return {};
    }
  }

  void look() noexcept {
    const int mask = coresOfMask();
    const double share = quota.read();
    const int byQuota = share > 0 ? static_cast<int>(std::min(std::ceil(share), 1e6)) : most;
    const int all = isFixed ? most : std::max(1, std::min({most, mask, byQuota}));
    // Waiting in a loop takes time of a quota, and of threads that share a core.
    isRoomy = all <= mask && (share == 0 || share >= all);
    now.store(all, std::memory_order_relaxed);
  }

  // At most once a second; a coarse clock is read in nanoseconds.
  void lookAgain() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    const int64_t stamp = time.tv_sec * 1'000'000'000LL + time.tv_nsec;
    int64_t due = next.load(std::memory_order_relaxed);
    if (stamp < due) return;
    const bool isMine = next.compare_exchange_strong(due, stamp + kNanosecondsBetweenLooks, std::memory_order_relaxed);
    if (isMine && due != 0) look();
  }

  const CoreQuota quota;
  const bool isFixed;
  const int most;
  std::atomic<int> now{1};
  std::atomic<bool> isRoomy{true};
  std::atomic<int64_t> next{0};
};

// Never destroyed: static objects of the program may run engines until its end.
Grant& grant() noexcept {
  alignas(Grant) static std::byte memory[sizeof(Grant)];
  static auto* const kGrant = new (memory) Grant;
  return *kGrant;
}

void tellPool() noexcept {
  const int threads = running.load(std::memory_order_relaxed);
  const auto& cores = grant();
  noteExecutions(threads,
                 cores.isRoomy.load(std::memory_order_relaxed) && threads < cores.now.load(std::memory_order_relaxed));
}

// Threads of the parent that ran kernels are not there.
void afterForkInChild() noexcept { running = depth > 0 ? 1 : 0; }

__attribute__((constructor)) void watchForks() { pthread_atfork(nullptr, nullptr, &afterForkInChild); }

}  // namespace

int coreCount() noexcept { return scopes > 0 ? 1 : grant().most; }

RunningThread::RunningThread() noexcept {
  if (depth++ > 0) return;
  running.fetch_add(1, std::memory_order_relaxed);
  grant().lookAgain();
  tellPool();
}

RunningThread::~RunningThread() {
  if (--depth > 0) return;
  running.fetch_sub(1, std::memory_order_relaxed);
  tellPool();
}

int teamSize() noexcept {
  if (isInLoop() || scopes > 0 || alones > 0) return 1;
  return std::max(1,
                  grant().now.load(std::memory_order_relaxed) / std::max(1, running.load(std::memory_order_relaxed)));
}

SerialScope::SerialScope(bool alone) noexcept : alone_(alone) { scopes += alone ? 1 : 0; }

SerialScope::~SerialScope() { scopes -= alone_ ? 1 : 0; }

AloneScope::AloneScope(bool alone) noexcept : alone_(alone) { alones += alone ? 1 : 0; }

AloneScope::~AloneScope() { alones -= alone_ ? 1 : 0; }

void parallelRanges(int64_t count, int64_t grain, LoopBody body, void* argument) {
  if (count <= 0) return;
  const int threads = teamSize();
  const int64_t most = threads == 1 ? 1 : threads * kPiecesPerThread;
  const int64_t pieces = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, most);
  if (pieces == 1) {
    body(argument, 0, count, 0);
    return;
  }
  runLoop(count, pieces, threads, body, argument);
}

}  // namespace tenon::platform
