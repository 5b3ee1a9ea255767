// Streams as first-in-first-out queues: who may run the front of a queue, and how threads wait for it.
//
// One mutex guards streams, events, captures and graphs; work always runs outside it. Work that has nothing before it
// runs in the enqueuing call, unless it calls the user's code. All other work waits in its stream's queue until a
// thread that synchronizes runs it, or until a worker thread finds it 50 us old.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "failure.h"
#include "work.h"

namespace tenon::hostcuda {

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::mutex>;

struct Stream;
struct Capture;
struct Node;
using StreamPtr = std::shared_ptr<Stream>;

// A position in a stream, reached when the stream has completed that many items.
struct Point {
  StreamPtr stream;
  uint64_t sequence = 0;
};

// One cudaEventRecord: where it stands, and the time at which the stream came there.
struct Recording {
  Point point;
  bool done = false;
  Clock::time_point time;
};

struct QueuedItem {
  WorkItem work;
  std::vector<Point> waits;
  std::shared_ptr<Recording> recording;
  uint64_t sequence = 0;
  Clock::time_point enqueued;
};

struct Stream {
  uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool isLegacy = false;
  bool isBlocking = true;    // takes part in the legacy default stream's synchronization
  bool isDestroyed = false;  // no handle any more, remaining work still to run

  std::deque<QueuedItem> queue;
  uint64_t submitted = 0;
  uint64_t completed = 0;
  bool running = false;
  bool runningUser = false;
  std::thread::id runner;

  std::shared_ptr<Capture> capture;
  std::vector<Node*> captureTails;  // what the next captured node depends on

  bool idle() const { return completed == submitted; }
  cudaStream_t handle() { return reinterpret_cast<cudaStream_t>(this); }
};

struct Event {
  unsigned flags = 0;
  std::shared_ptr<Recording> recording;  // null: never recorded
  std::shared_ptr<Capture> capture;      // set when the last record was captured
  std::vector<Node*> captureTails;

  cudaEvent_t handle() { return reinterpret_cast<cudaEvent_t>(this); }
};

class Scheduler {
 public:
  static Scheduler& instance();  // never destroyed: threads and exit handlers may still call

  Lock lock() { return Lock(mutex_); }

  // Streams. All take the lock held.
  StreamPtr createStream(unsigned flags, int priority);
  void destroyStream(cudaStream_t handle);
  StreamPtr stream(cudaStream_t handle);  // resolves the default streams; throws InvalidResourceHandle

  // Puts the item at the end of the stream and, where allowed, runs it. The lock is released while work runs.
  // `waits` are further points that must be reached first; `recording` is fulfilled after the item.
  Point submit(Lock& lock, const StreamPtr& stream, WorkItem item, std::vector<Point> waits = {},
               std::shared_ptr<Recording> recording = nullptr);
  std::shared_ptr<Recording> record(Lock& lock, const StreamPtr& stream);

  void drain(Lock& lock, const Point& point);
  void synchronize(Lock& lock, const StreamPtr& stream);
  void synchronizeAll(Lock& lock);
  bool isComplete(const StreamPtr& stream) const;
  static bool reached(const Point& point) {
    return point.stream == nullptr || point.stream->completed >= point.sequence;
  }

  // Events. All take the lock held.
  std::shared_ptr<Event> createEvent(unsigned flags);
  void destroyEvent(cudaEvent_t handle);
  std::shared_ptr<Event> event(cudaEvent_t handle);

  // Throws NotPermitted when the calling thread is inside a function of the user that a stream runs.
  static void refuseInsideUserCode();

  void stopWorkers();

  // The forking thread holds what a child may want: the locks of streams, memory and pools.
  void beforeFork();
  void afterForkInParent();
  void afterForkInChild();

 private:
  enum class Progress { kReached, kRan, kBusy, kOwnThread };

  Scheduler();
  std::vector<Point> implicitWaits(const Stream& stream) const;
  void runFront(Lock& lock, const StreamPtr& stream);
  void runItem(Lock& lock, const StreamPtr& stream, WorkItem& item);
  void finish(const StreamPtr& stream, uint64_t sequence, Recording* recording);
  bool tryDrain(Lock& lock, const Point& point);
  Progress advance(Lock& lock, const Point& point);
  void wakeWorker();
  void workerLoop();
  StreamPtr nextForWorker(Clock::time_point now, Clock::time_point& earliest) const;
  StreamPtr addStream(unsigned flags, int priority, bool isLegacy);
  StreamPtr perThreadStream();

  std::mutex mutex_;
  std::condition_variable progress_;  // some item finished
  std::condition_variable work_;      // some item may be run
  int waiters_ = 0;
  int workers_ = 0;
  int idleWorkers_ = 0;
  int workersInUserCode_ = 0;
  int maxWorkers_ = 2;
  bool stopped_ = false;
  uint64_t queuedItems_ = 0;      // in the queues of all streams
  uint64_t pendingBlocking_ = 0;  // submitted and not completed in blocking streams, the legacy one excepted
  uint64_t nextStreamId_ = 1;
  StreamPtr legacy_;
  std::vector<StreamPtr> streams_;  // every stream that is alive or has work left
  std::unordered_map<const void*, StreamPtr> handles_;
  std::unordered_map<const void*, std::shared_ptr<Event>> events_;
};

// Makes stream 0 mean the calling thread's own default stream while it lives (the _ptsz and _ptds functions).
class PerThreadDefault {
 public:
  PerThreadDefault() : previous_(active()) { active() = true; }
  ~PerThreadDefault() { active() = previous_; }
  static bool& active() noexcept;

 private:
  bool previous_;
};

}  // namespace tenon::hostcuda
