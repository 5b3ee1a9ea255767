// Where random operators stand in the sequence of their numbers. Each draw takes the next place, so that no two draws
// have the same numbers; an execution context has a sequence of its own, from which a seed makes the same numbers in
// every context.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::ops {

class Draws {
 public:
  Draws();  // of a key that nobody knows
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;

  struct Draw {
    uint64_t key;    // for operators without a seed
    uint64_t place;  // 0, 1, 2, ...
  };
  Draw next() noexcept { return {key_, place_.fetch_add(1, std::memory_order_relaxed)}; }

  // The sequence in use on this thread, or else the one of the process.
  static Draws& ofThread();
  // The sequence is in use on this thread while this lives.
  class Use {
   public:
    explicit Use(Draws& draws) noexcept;
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Draws* before_;
  };

 private:
  uint64_t key_;
  std::atomic<uint64_t> place_{0};
};

}  // namespace tenon::ops
