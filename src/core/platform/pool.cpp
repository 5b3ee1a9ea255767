// The pool: slots for loops (loop_slot.h), from which workers take pieces. They are never freed, so that a late look at
// one is harmless.
#include "core/platform/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <utility>

#include "core/platform/cores.h"
#include "core/platform/futex.h"
#include "core/platform/loop_slot.h"
#include "core/platform/pace.h"
#include "core/platform/usage.h"

namespace tenon::platform {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kSlots = 64;
constexpr int kMostWorkers = 511;

// How long threads look for work before they sleep: between the loops of an execution, after it, and where other
// programs take the cores.
constexpr microseconds kSpinWithin{1000};
constexpr microseconds kSpinAfter{100};
constexpr microseconds kSpinBusy{10};
// At most for a piece that a worker computes: the worker may wait for this core.
constexpr microseconds kSpinForPiece{200};
// A clock that jumps so far between two looks says that the thread was not on a core. Interrupts and other guests of
// the machine take less.
constexpr microseconds kGap{300};
// How long that counts.
constexpr microseconds kLeastBusy{10'000};
constexpr microseconds kMostBusy{100'000};
constexpr int kLooksPerClock = 16;

constinit std::array<Slot, kSlots> slots{};
alignas(64) constinit std::atomic<uint64_t> ownedSlots{0};
alignas(64) constinit std::atomic<uint64_t> openSlots{0};
alignas(64) constinit std::atomic<uint32_t> news{0};  // grows with each loop; sleepers sleep on it
constinit std::atomic<int> sleepers{0};
constinit std::atomic<int> spinners{0};
alignas(64) constinit std::atomic<int> workers{0};
constinit std::atomic<bool> isMaking{false};
constinit std::atomic<int64_t> noMoreUntil{0};  // the system had no thread for us; nanoseconds
constinit std::atomic<int> executions{0};
constinit std::atomic<bool> maySpin{true};
constinit std::atomic<int64_t> measuredUntil{0};  // nanoseconds
constinit std::atomic<int64_t> busyUntil{0};      // nanoseconds
constinit std::atomic<int64_t> busyFor{kLeastBusy.count() * 1000};

constinit std::array<std::atomic<clockid_t>, kMostWorkers> workerClocks{};

thread_local bool inLoop = false;
thread_local int mostThreads = 1;

int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

// The cores are wanted by others: for a while nobody spins, longer each time that this is seen again soon.
void noteGap(Clock::time_point now) {
  const int64_t time = nanoseconds(now);
  const int64_t last = busyUntil.load(std::memory_order_relaxed);
  int64_t length = busyFor.load(std::memory_order_relaxed);
  length =
      time - last < 4 * length ? std::min<int64_t>(2 * length, kMostBusy.count() * 1000) : kLeastBusy.count() * 1000;
  busyFor.store(length, std::memory_order_relaxed);
  busyUntil.store(time + length, std::memory_order_relaxed);
}

bool isMeasured(int64_t now) { return now < measuredUntil.load(std::memory_order_relaxed); }

microseconds patience(Clock::time_point now) {
  const int64_t time = nanoseconds(now);
  const bool isBusy = time < busyUntil.load(std::memory_order_relaxed) && !isMeasured(time);
  if (!maySpin.load(std::memory_order_relaxed) || isBusy) return kSpinBusy;
  return executions.load(std::memory_order_relaxed) > 0 ? kSpinWithin : kSpinAfter;
}

// Looks until done() holds, or for as long as is worth it and at most `limit`; whether it holds.
template <typename Done>
bool spin(Done done, microseconds limit) {
  const auto start = Clock::now();
  auto last = start;
  while (true) {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (done()) return true;
      relax();
    }
    const auto now = Clock::now();
    if (now - last >= kGap) noteGap(now);
    last = now;
    if (now - start >= std::min(limit, patience(now))) return done();
  }
}

// Whether other threads of this system have taken the core from this one since it last asked: a virtual machine that
// its host does not run knows nothing of that.
bool isTakenOff() {
  thread_local int64_t before = 0;
  const int64_t times = switchesOfThread().byOthers;
  return times != std::exchange(before, times);
}

// Where a thread asks for its processor time, Linux (6.6 and later) notices that the thread's turn is over and gives
// the core to another program at once, not at its next tick: between pieces, where no caller waits. Beyond that the
// worker rests as its pace says.
void betweenPieces(Pace& pace, bool isAwaited) {
  const auto now = nanoseconds(Clock::now());
  if (!pace.isDue(now)) return;
  const int64_t rest = pace.pieceDone(now, processorTimeOfThread(), isAwaited && isTakenOff());
  if (rest == 0 || !maySpin.load(std::memory_order_relaxed) || isMeasured(now)) return;
  const timespec time{rest / 1'000'000'000, rest % 1'000'000'000};
  nanosleep(&time, nullptr);
  pace.wakes(nanoseconds(Clock::now()), processorTimeOfThread());
}

// The system wakes a worker where it last ran, and with other programs on all other cores that stays the caller's core:
// both then take turns on it.
void leaveCaller(const Slot& slot) {
  const int core = slot.core.load(std::memory_order_relaxed);
  if (core >= 0 && sched_getcpu() == core && maySpin.load(std::memory_order_relaxed)) leaveCore(core);
}

// Takes pieces of the slot's loop until there are none; whether there was one.
bool help(Slot& slot, Pace& pace) {
  const uint64_t word = slot.range.load(std::memory_order_acquire);
  if (upperOf(word) >= lowerOf(word)) return false;
  const uint64_t generation = generationOf(word);
  const int place = takePlace(slot, generation);
  if (place < 0) return false;
  leaveCaller(slot);
  bool hasHelped = false;
  bool isAwaited = false;
  while (true) {
    betweenPieces(pace, isAwaited);
    const int64_t piece = takePiece(slot, generation, false);
    if (piece < 0) return hasHelped;
    hasHelped = true;
    compute(*slot.call.load(std::memory_order_relaxed), piece, place);
    slot.finished.fetch_add(1, std::memory_order_seq_cst);
    isAwaited = slot.isAwaited.load(std::memory_order_seq_cst) != 0;
    if (isAwaited) wake(slot.finished, 1);
  }
}

bool helpAny(int start, Pace& pace) {
  bool hasHelped = false;
  const uint64_t open = std::rotr(openSlots.load(std::memory_order_acquire), start);
  for (uint64_t rest = open; rest != 0; rest &= rest - 1) {
    hasHelped = help(slots[static_cast<size_t>((std::countr_zero(rest) + start) % kSlots)], pace) || hasHelped;
  }
  return hasHelped;
}

void* work(void* argument) {
  inLoop = true;  // a loop within a piece runs here
  const auto start = static_cast<int>(reinterpret_cast<uintptr_t>(argument) % kSlots);
  Pace pace;
  pace.wakes(nanoseconds(Clock::now()), processorTimeOfThread());
  while (true) {
    const uint32_t seen = news.load(std::memory_order_seq_cst);
    if (helpAny(start, pace)) continue;
    spinners.fetch_add(1, std::memory_order_relaxed);
    const bool isNew = spin([seen] { return news.load(std::memory_order_relaxed) != seen; }, kSpinWithin);
    spinners.fetch_sub(1, std::memory_order_relaxed);
    if (isNew) continue;
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    sleepOn(news, seen);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    pace.wakes(nanoseconds(Clock::now()), processorTimeOfThread());
  }
}

// Without signals, which are the business of the user's threads. The threads stay until the process ends.
bool makeWorker(int index) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool isMade =
      pthread_create(&thread, &attributes, &work, reinterpret_cast<void*>(static_cast<uintptr_t>(index))) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (isMade) pthread_setname_np(thread, "tenon-worker");
  clockid_t clock{};
  if (isMade && pthread_getcpuclockid(thread, &clock) == 0) workerClocks[static_cast<size_t>(index)] = clock;
  return isMade;
}

// Where the system gives no more threads there are fewer workers; it is asked again a second later.
void wantWorkers(int wanted) {
  wanted = std::min(wanted, kMostWorkers);
  if (workers.load(std::memory_order_relaxed) >= wanted) return;
  if (isMaking.exchange(true, std::memory_order_acquire)) return;  // another thread makes them
  const int64_t now = nanoseconds(Clock::now());
  if (now >= noMoreUntil.load(std::memory_order_relaxed)) {
    while (workers.load(std::memory_order_relaxed) < wanted) {
      if (!makeWorker(workers.load(std::memory_order_relaxed))) {
        noMoreUntil.store(now + 1'000'000'000, std::memory_order_relaxed);
        break;
      }
      workers.fetch_add(1, std::memory_order_relaxed);
    }
  }
  isMaking.store(false, std::memory_order_release);
}

// The index of a slot that is the caller's until it gives it back; -1 where all are taken.
int takeSlot() {
  thread_local int preferred = 0;
  uint64_t owned = ownedSlots.load(std::memory_order_relaxed);
  while (~owned != 0) {
    int index = preferred;
    if ((owned >> index & 1) != 0) index = std::countr_one(owned);
    if (ownedSlots.compare_exchange_weak(owned, owned | uint64_t{1} << index, std::memory_order_acquire)) {
      preferred = index;
      return index;
    }
  }
  return -1;
}

void awaitWorkers(Slot& slot, uint32_t pieces) {
  const auto isDone = [&] { return slot.finished.load(std::memory_order_acquire) == pieces; };
  if (isDone() || spin(isDone, kSpinForPiece)) return;
  slot.isAwaited.store(1, std::memory_order_seq_cst);
  for (uint32_t seen = slot.finished.load(std::memory_order_seq_cst); seen != pieces;
       seen = slot.finished.load(std::memory_order_seq_cst)) {
    sleepOn(slot.finished, seen);
  }
  slot.isAwaited.store(0, std::memory_order_relaxed);
}

// A child has none of the threads of its parent; it makes its own when it wants them.
void afterForkInChild() {
  workers = 0;
  sleepers = 0;
  spinners = 0;
  ownedSlots = 0;
  openSlots = 0;
  isMaking = false;
  noMoreUntil = 0;
  measuredUntil = 0;
  for (auto& slot : slots) slot.isAwaited = 0;
}

__attribute__((constructor)) void watchForks() { pthread_atfork(nullptr, nullptr, &afterForkInChild); }

void runAlone(Call& call) {
  const bool before = std::exchange(inLoop, true);
  compute(call, 0, 0);
  inLoop = before;
}

void runShared(Call& call, int threads, int index) {
  Slot& slot = slots[static_cast<size_t>(index)];
  const uint64_t bit = uint64_t{1} << index;
  const uint64_t generation = (generationOf(slot.range.load(std::memory_order_relaxed)) + 1) & 0xffffffff;
  slot.call.store(&call, std::memory_order_relaxed);
  slot.core.store(sched_getcpu(), std::memory_order_relaxed);
  slot.finished.store(0, std::memory_order_relaxed);
  slot.seats.store(pack(generation, static_cast<uint64_t>(threads), 1), std::memory_order_relaxed);
  slot.range.store(pack(generation, 0, static_cast<uint64_t>(call.pieces)), std::memory_order_release);
  openSlots.fetch_or(bit, std::memory_order_release);
  news.fetch_add(1, std::memory_order_seq_cst);
  const int wanted = threads - 1 - spinners.load(std::memory_order_relaxed);
  if (wanted > 0 && sleepers.load(std::memory_order_seq_cst) > 0) wake(news, wanted);

  inLoop = true;
  int64_t own = 0;
  for (int64_t piece = takePiece(slot, generation, true); piece >= 0; piece = takePiece(slot, generation, true)) {
    compute(call, piece, 0);
    ++own;
  }
  inLoop = false;
  openSlots.fetch_and(~bit, std::memory_order_relaxed);
  awaitWorkers(slot, static_cast<uint32_t>(call.pieces - own));
  ownedSlots.fetch_and(~bit, std::memory_order_release);
}

}  // namespace

void runLoop(int64_t count, int64_t pieces, int threads, LoopBody body, void* argument) {
  if (count <= 0) return;
  Call call{.count = count,
            .pieces = std::clamp<int64_t>(std::min(pieces, count), 1, kMostPieces),
            .body = body,
            .argument = argument,
            .error = nullptr};
  threads = static_cast<int>(std::min<int64_t>({threads, call.pieces, kMostWorkers + 1}));
  int index = -1;
  if (threads > 1 && !inLoop) {
    wantWorkers(threads - 1);
    index = takeSlot();
    mostThreads = std::max(mostThreads, threads);
  }
  if (index < 0) {
    call.pieces = 1;
    runAlone(call);
  } else {
    runShared(call, threads, index);
  }
  if (call.error != nullptr) std::rethrow_exception(call.error);
}

bool isInLoop() noexcept { return inLoop; }

void noteExecutions(int running, bool mayWait) noexcept {
  executions.store(running, std::memory_order_relaxed);
  maySpin.store(mayWait, std::memory_order_relaxed);
}

int workerCount() noexcept { return workers.load(std::memory_order_relaxed); }

void noteMeasuring(bool isOn) noexcept {
  constexpr int64_t kBetweenMeasurements = 500'000;
  measuredUntil.store(isOn ? INT64_MAX : nanoseconds(Clock::now()) + kBetweenMeasurements, std::memory_order_relaxed);
}

int takeMostThreads() noexcept { return std::exchange(mostThreads, 1); }

bool mayWorkersWait() noexcept { return maySpin.load(std::memory_order_relaxed); }

int64_t processorTimeOfWorkers() noexcept {
  int64_t sum = 0;
  const auto count = static_cast<size_t>(workers.load(std::memory_order_acquire));
  for (size_t i = 0; i < count; ++i) {
    timespec time{};
    if (clock_gettime(workerClocks[i].load(std::memory_order_relaxed), &time) == 0) sum += nanoseconds(time);
  }
  return sum;
}

}  // namespace tenon::platform
