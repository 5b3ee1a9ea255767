// Work that other threads do while the building thread goes on: machine code of candidates that are measured later.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tenon::compile {

// Used by the building thread only; its threads are the machine's but one, and end with it.
class Preparation {
 public:
  struct Batch;
  using Ticket = std::shared_ptr<Batch>;

  Preparation() = default;
  ~Preparation();
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // Runs work(0) .. work(count - 1) behind what was begun before, on threads of its own.
  Ticket begin(size_t count, std::function<void(size_t)> work);
  // Returns when that is done, and takes part in it; rethrows what was thrown first.
  void wait(const Ticket& ticket);
  // Nothing that has not begun will begin; returns when nothing runs.
  void abandon() noexcept;

  // The work that makes what goes by a hash, where somebody has noted it; else null.
  Ticket makerOf(uint64_t hash) const;
  void noteMaker(uint64_t hash, Ticket ticket) { makers_.emplace(hash, std::move(ticket)); }

 private:
  void work();
  bool runOne(Batch& batch, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  std::deque<Ticket> queue_;  // with work that has not begun
  std::vector<std::thread> threads_;
  size_t running_ = 0;
  bool stops_ = false;
  std::map<uint64_t, Ticket> makers_;  // of the building thread
};

}  // namespace tenon::compile
