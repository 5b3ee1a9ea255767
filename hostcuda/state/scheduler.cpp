// Streams and events as handles, and the way of an item from submission to completion.
#include "scheduler.h"

#include <algorithm>

#include "capture.h"

namespace tenon::hostcuda {
namespace {

// What this thread is running now, innermost first: work may itself submit work or call the API.
struct Frame {
  const Stream* stream;
  bool isUser;
  Frame* outer;
};
thread_local Frame* innermost = nullptr;

struct FrameScope {
  FrameScope(const Stream* stream, bool isUser) : frame{stream, isUser, innermost} { innermost = &frame; }
  ~FrameScope() { innermost = frame.outer; }
  Frame frame;
};

bool insideWorkOf(const Stream& stream) {
  for (const Frame* frame = innermost; frame != nullptr; frame = frame->outer) {
    if (frame->stream == &stream) return true;
  }
  return false;
}

constexpr unsigned kStreamFlags = cudaStreamNonBlocking;
constexpr unsigned kEventFlags = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

}  // namespace

Scheduler& Scheduler::instance() {
  static auto* const scheduler = new Scheduler;
  return *scheduler;
}

Scheduler::Scheduler() {
  maxWorkers_ = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  legacy_ = addStream(cudaStreamDefault, 0, true);
}

bool& PerThreadDefault::active() noexcept {
  thread_local bool isActive = false;
  return isActive;
}

void Scheduler::refuseInsideUserCode() { require(innermost == nullptr || !innermost->isUser, cudaErrorNotPermitted); }

StreamPtr Scheduler::addStream(unsigned flags, int priority, bool isLegacy) {
  auto stream = std::make_shared<Stream>();
  stream->id = nextStreamId_++;
  stream->flags = flags;
  stream->priority = priority;
  stream->isLegacy = isLegacy;
  stream->isBlocking = (flags & cudaStreamNonBlocking) == 0;
  streams_.push_back(stream);
  return stream;
}

StreamPtr Scheduler::createStream(unsigned flags, int priority) {
  require((flags & ~kStreamFlags) == 0);
  StreamPtr stream = addStream(flags, priority, false);
  handles_.emplace(stream->handle(), stream);
  return stream;
}

void Scheduler::destroyStream(cudaStream_t handle) {
  const auto found = handles_.find(handle);
  require(found != handles_.end(), cudaErrorInvalidResourceHandle);
  const StreamPtr stream = found->second;
  handles_.erase(found);
  stream->isDestroyed = true;
  if (stream->idle()) streams_.erase(std::find(streams_.begin(), streams_.end(), stream));
}

StreamPtr Scheduler::perThreadStream() {
  struct Holder {
    StreamPtr stream;
    ~Holder() {
      if (stream == nullptr) return;
      Scheduler& scheduler = Scheduler::instance();
      std::shared_ptr<Graph> dropped;  // after the lock
      const Lock lock = scheduler.lock();
      dropped = abandonCapture(stream);
      stream->isDestroyed = true;
      auto& all = scheduler.streams_;
      if (stream->idle()) all.erase(std::remove(all.begin(), all.end(), stream), all.end());
    }
  };
  thread_local Holder holder;
  if (holder.stream == nullptr) holder.stream = addStream(cudaStreamDefault, 0, false);
  return holder.stream;
}

StreamPtr Scheduler::stream(cudaStream_t handle) {
  if (handle == nullptr) return PerThreadDefault::active() ? perThreadStream() : legacy_;
  if (handle == cudaStreamLegacy) return legacy_;
  if (handle == cudaStreamPerThread) return perThreadStream();
  const auto found = handles_.find(handle);
  require(found != handles_.end(), cudaErrorInvalidResourceHandle);
  return found->second;
}

std::shared_ptr<Event> Scheduler::createEvent(unsigned flags) {
  require((flags & ~kEventFlags) == 0);
  require((flags & cudaEventInterprocess) == 0 || (flags & cudaEventDisableTiming) != 0);
  auto event = std::make_shared<Event>();
  event->flags = flags;
  events_.emplace(event->handle(), event);
  return event;
}

void Scheduler::destroyEvent(cudaEvent_t handle) {
  require(events_.erase(handle) == 1, cudaErrorInvalidResourceHandle);
}

std::shared_ptr<Event> Scheduler::event(cudaEvent_t handle) {
  const auto found = events_.find(handle);
  require(found != events_.end(), cudaErrorInvalidResourceHandle);
  return found->second;
}

// The legacy default stream waits for all blocking streams, and they for it. A stream whose work this thread is
// running counts as having come exactly this far.
std::vector<Point> Scheduler::implicitWaits(const Stream& stream) const {
  std::vector<Point> waits;
  if (stream.isLegacy) {
    if (pendingBlocking_ == 0) return waits;
    for (const StreamPtr& other : streams_) {
      if (!other->isLegacy && other->isBlocking && !other->idle() && !insideWorkOf(*other)) {
        waits.push_back({other, other->submitted});
      }
    }
  } else if (stream.isBlocking && !legacy_->idle() && !insideWorkOf(*legacy_)) {
    waits.push_back({legacy_, legacy_->submitted});
  }
  return waits;
}

Point Scheduler::submit(Lock& lock, const StreamPtr& stream, WorkItem item, std::vector<Point> waits,
                        std::shared_ptr<Recording> recording) {
  refuseInsideUserCode();
  // Code that Tenon's own work calls (a plugin) uses the default stream for plain copies. It would wait for what other
  // threads run, which may wait for this thread by the same stream.
  if (insideWorkOf(*stream) || (stream->isLegacy && innermost != nullptr)) {
    lock.unlock();
    execute(item);
    item = Nothing{};
    lock.lock();
    if (recording != nullptr) {
      recording->done = true;
      recording->time = Clock::now();
    }
    return {};
  }
  for (Point& point : implicitWaits(*stream)) waits.push_back(std::move(point));
  waits.erase(std::remove_if(waits.begin(), waits.end(), &Scheduler::reached), waits.end());

  const bool isFirst = stream->idle();
  const Point place{stream, ++stream->submitted};
  if (stream->isBlocking && !stream->isLegacy) ++pendingBlocking_;
  if (recording != nullptr) recording->point = place;

  if (isFirst && waits.empty() && !callsUser(item)) {
    runItem(lock, stream, item);
    finish(stream, place.sequence, recording.get());
    return place;
  }
  stream->queue.push_back({std::move(item), std::move(waits), std::move(recording), place.sequence, Clock::now()});
  ++queuedItems_;
  wakeWorker();
  return place;
}

std::shared_ptr<Recording> Scheduler::record(Lock& lock, const StreamPtr& stream) {
  auto recording = std::make_shared<Recording>();
  submit(lock, stream, Nothing{}, {}, recording);
  return recording;
}

// Leaves the item empty: giving back what it holds may call the user's release function, never under the lock.
void Scheduler::runItem(Lock& lock, const StreamPtr& stream, WorkItem& item) {
  if (std::holds_alternative<Nothing>(item)) return;
  stream->running = true;
  stream->runner = std::this_thread::get_id();
  lock.unlock();
  {
    const FrameScope scope(stream.get(), callsUser(item));
    execute(item);
  }
  {
    const FrameScope scope(stream.get(), false);
    item = Nothing{};
  }
  lock.lock();
  stream->running = false;
}

void Scheduler::runFront(Lock& lock, const StreamPtr& stream) {
  const StreamPtr keep = stream;
  QueuedItem front = std::move(keep->queue.front());
  keep->queue.pop_front();
  --queuedItems_;
  runItem(lock, keep, front.work);
  finish(keep, front.sequence, front.recording.get());
}

void Scheduler::finish(const StreamPtr& stream, uint64_t sequence, Recording* recording) {
  stream->completed = sequence;
  if (stream->isBlocking && !stream->isLegacy) --pendingBlocking_;
  if (recording != nullptr) {
    recording->done = true;
    recording->time = Clock::now();
  }
  if (waiters_ > 0) progress_.notify_all();
  if (queuedItems_ > 0 && idleWorkers_ > 0) work_.notify_one();
  if (stream->isDestroyed && stream->idle()) {
    const StreamPtr keep = stream;
    streams_.erase(std::remove(streams_.begin(), streams_.end(), keep), streams_.end());
  }
}

// Runs one item that the point depends on, in this thread. Points only ever depend on earlier submissions, so the
// recursion ends.
Scheduler::Progress Scheduler::advance(Lock& lock, const Point& point) {
  if (reached(point)) return Progress::kReached;
  const StreamPtr& stream = point.stream;
  if (stream->running) {
    return stream->runner == std::this_thread::get_id() ? Progress::kOwnThread : Progress::kBusy;
  }
  if (stream->queue.empty()) return Progress::kBusy;  // its only item is between running and finishing
  Progress worst = Progress::kReached;
  const std::vector<Point> waits = stream->queue.front().waits;
  for (const Point& wait : waits) {
    const Progress progress = advance(lock, wait);
    if (progress == Progress::kRan) return progress;
    worst = std::max(worst, progress);
  }
  if (worst != Progress::kReached) return worst;
  runFront(lock, stream);
  return Progress::kRan;
}

void Scheduler::drain(Lock& lock, const Point& point) { require(tryDrain(lock, point), cudaErrorNotPermitted); }

// False where the point waits for the work that this thread is running.
bool Scheduler::tryDrain(Lock& lock, const Point& point) {
  refuseInsideUserCode();
  while (true) {
    switch (advance(lock, point)) {
      case Progress::kReached: return true;
      case Progress::kRan: break;
      case Progress::kOwnThread: return false;
      case Progress::kBusy:
        ++waiters_;
        progress_.wait(lock);
        --waiters_;
        break;
    }
  }
}

void Scheduler::synchronize(Lock& lock, const StreamPtr& stream) {
  refuseInsideUserCode();
  if (insideWorkOf(*stream)) return;                     // all that stands before the running work is done
  if (stream->isLegacy && innermost != nullptr) return;  // what this work put there is done; see submit()
  if (stream->isLegacy) {
    for (const Point& point : implicitWaits(*stream)) drain(lock, point);
  }
  drain(lock, {stream, stream->submitted});
}

void Scheduler::synchronizeAll(Lock& lock) {
  refuseInsideUserCode();
  std::vector<Point> points;
  for (const StreamPtr& stream : streams_) {
    if (!stream->idle() && !insideWorkOf(*stream)) points.push_back({stream, stream->submitted});
  }
  // What waits for this thread's own work cannot have started.
  for (const Point& point : points) tryDrain(lock, point);
}

bool Scheduler::isComplete(const StreamPtr& stream) const {
  if (insideWorkOf(*stream)) return true;
  return stream->idle() && (!stream->isLegacy || implicitWaits(*stream).empty());
}

}  // namespace tenon::hostcuda
