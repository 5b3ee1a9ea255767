// The worker threads of the scheduler: they run what nobody synchronized for, and stop at exit and after a fork.
#include <pthread.h>
#include <signal.h>

#include <system_error>

#include "memory.h"
#include "pool.h"
#include "scheduler.h"

namespace tenon::hostcuda {
namespace {

// A thread that enqueues mostly synchronizes at once, and then runs the work itself without a thread switch.
constexpr std::chrono::microseconds kPatience{50};

// Signals are the business of the user's threads.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_;
};

}  // namespace

void Scheduler::beforeFork() {
  mutex_.lock();
  MemoryRegistry::instance().beforeFork();
  MemoryPools::instance().beforeFork();
}

void Scheduler::afterForkInParent() {
  MemoryPools::instance().afterFork();
  MemoryRegistry::instance().afterFork();
  mutex_.unlock();
}

void Scheduler::wakeWorker() {
  if (stopped_) return;
  if (idleWorkers_ > 0) {
    work_.notify_one();
    return;
  }
  if (workers_ - workersInUserCode_ >= maxWorkers_) return;
  const BlockedSignals blocked;
  try {
    std::thread([this] { workerLoop(); }).detach();
    ++workers_;
  } catch (const std::system_error&) {
    // No thread to be had: whoever synchronizes runs the work.
  }
}

StreamPtr Scheduler::nextForWorker(Clock::time_point now, Clock::time_point& earliest) const {
  StreamPtr best;
  for (const StreamPtr& stream : streams_) {
    if (stream->running || stream->queue.empty()) continue;
    const QueuedItem& front = stream->queue.front();
    bool isReady = true;
    for (const Point& wait : front.waits) isReady = isReady && reached(wait);
    if (!isReady) continue;
    const Clock::time_point due = front.enqueued + kPatience;
    if (due > now) {
      earliest = std::min(earliest, due);
    } else if (best == nullptr || stream->priority < best->priority) {
      best = stream;
    }
  }
  return best;
}

void Scheduler::workerLoop() {
  Lock lock(mutex_);
  while (!stopped_) {
    Clock::time_point earliest = Clock::time_point::max();
    const StreamPtr next = nextForWorker(Clock::now(), earliest);
    if (next != nullptr) {
      const bool isUser = callsUser(next->queue.front().work);
      if (isUser) {
        // The user's function may sleep; it must not keep the other streams waiting.
        ++workersInUserCode_;
        if (queuedItems_ > 1) wakeWorker();
      }
      runFront(lock, next);
      if (isUser) --workersInUserCode_;
      continue;
    }
    ++idleWorkers_;
    if (earliest == Clock::time_point::max()) {
      work_.wait(lock);
    } else {
      work_.wait_until(lock, earliest);
    }
    --idleWorkers_;
  }
  --workers_;
}

void Scheduler::stopWorkers() {
  const Lock held = lock();
  stopped_ = true;
  work_.notify_all();
}

// The child has only the forking thread, which held the mutex. Work of the parent is lost to it: kept, never run, so
// that nothing of the user is called or released twice.
void Scheduler::afterForkInChild() {
  MemoryPools::instance().afterFork();
  MemoryRegistry::instance().afterFork();
  new (&mutex_) std::mutex;
  new (&progress_) std::condition_variable;
  new (&work_) std::condition_variable;
  waiters_ = workers_ = idleWorkers_ = workersInUserCode_ = 0;
  queuedItems_ = pendingBlocking_ = 0;
  for (const StreamPtr& stream : streams_) {
    new std::deque<QueuedItem>(std::move(stream->queue));
    stream->queue.clear();
    stream->completed = stream->submitted;
    stream->running = false;
  }
}

namespace {

// Not when the runtime is first used: a fork that has begun by then would leave these out, and find the mutexes locked.
__attribute__((constructor)) void watchForks() {
  pthread_atfork([] { Scheduler::instance().beforeFork(); }, [] { Scheduler::instance().afterForkInParent(); },
                 [] { Scheduler::instance().afterForkInChild(); });
}

// At exit queued work stays undone: the objects that it refers to are being destroyed.
__attribute__((destructor)) void stopAtExit() { Scheduler::instance().stopWorkers(); }

}  // namespace

}  // namespace tenon::hostcuda
