// Batches in the order in which they were begun; a batch ends early where one of its parts throws.
#include "compile/preparation.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/platform/cores.h"

namespace tenon::compile {

struct Preparation::Batch {
  std::function<void(size_t)> work;
  size_t next = 0;
  size_t end = 0;
  size_t running = 0;
  std::exception_ptr thrown;
};

Preparation::~Preparation() {
  abandon();
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  begun_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Preparation::Ticket Preparation::begin(size_t count, std::function<void(size_t)> work) {
  constexpr size_t kMostThreads = 31;
  auto batch = std::make_shared<Batch>();
  batch->work = std::move(work);
  batch->end = count;
  if (count == 0) return batch;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(batch);
  }
  const auto cores = static_cast<size_t>(platform::coresOfMask());
  const size_t most = std::min(cores - 1, kMostThreads);
  try {
    for (size_t i = 0; i < count && threads_.size() < most; ++i) threads_.emplace_back([this] { this->work(); });
  } catch (const std::exception&) {
    // Without memory or threads for more, those that run do the work, or who waits for it.
  }
  begun_.notify_all();
  return batch;
}

void Preparation::wait(const Ticket& ticket) {
  if (ticket == nullptr) return;
  std::unique_lock lock(mutex_);
  while (runOne(*ticket, lock)) {
  }
  ended_.wait(lock, [&] { return ticket->running == 0; });
  if (ticket->thrown != nullptr) std::rethrow_exception(std::exchange(ticket->thrown, nullptr));
}

void Preparation::abandon() noexcept {
  std::unique_lock lock(mutex_);
  for (const auto& batch : queue_) batch->next = batch->end;
  queue_.clear();
  makers_.clear();
  ended_.wait(lock, [&] { return running_ == 0; });
}

Preparation::Ticket Preparation::makerOf(uint64_t hash) const {
  const auto found = makers_.find(hash);
  return found == makers_.end() ? nullptr : found->second;
}

// The next part of a batch, without the lock meanwhile; false where all have begun.
bool Preparation::runOne(Batch& batch, std::unique_lock<std::mutex>& lock) {
  if (batch.next == batch.end) return false;
  const size_t part = batch.next++;
  ++batch.running;
  ++running_;
  lock.unlock();
  std::exception_ptr thrown;
  try {
    batch.work(part);
  } catch (...) {
    thrown = std::current_exception();
  }
  lock.lock();
  --batch.running;
  --running_;
  if (thrown != nullptr) {
    batch.next = batch.end;
    if (batch.thrown == nullptr) batch.thrown = thrown;
  }
  if (batch.running == 0 || running_ == 0) ended_.notify_all();
  return true;
}

void Preparation::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!queue_.empty() && queue_.front()->next == queue_.front()->end) queue_.pop_front();
    if (!queue_.empty()) {
      const Ticket batch = queue_.front();
      runOne(*batch, lock);
      continue;
    }
    if (stops_) return;
    begun_.wait(lock);
  }
}

}  // namespace tenon::compile
