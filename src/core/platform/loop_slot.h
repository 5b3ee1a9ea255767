// The slot of a loop: its pieces and places, taken by compare-and-swap.
//
// A slot belongs to one caller for the time of a loop. Its word `range` holds the loop's generation and the pieces that
// nobody took; a worker that was held up in the middle of taking one finds another generation and takes nothing. What
// the loop computes stands in the caller's frame and is read only by who took a piece, for whom the caller waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "core/platform/pool.h"

namespace tenon::platform {

struct Call {
  int64_t count;
  int64_t pieces;
  LoopBody body;
  void* argument;
  std::atomic<bool> hasFailed{false};
  std::exception_ptr error;  // of who set hasFailed
};

struct alignas(64) Slot {
  std::atomic<uint64_t> range{0};  // generation, first piece, end of the pieces
  std::atomic<uint64_t> seats{0};  // generation, places in all, places that are taken
  std::atomic<Call*> call{nullptr};
  std::atomic<int> core{-1};                      // the caller's
  alignas(64) std::atomic<uint32_t> finished{0};  // pieces that workers have computed
  std::atomic<uint32_t> isAwaited{0};             // the caller sleeps on `finished`
};

inline uint64_t pack(uint64_t generation, uint64_t a, uint64_t b) { return generation << 32 | a << 16 | b; }
inline uint64_t generationOf(uint64_t word) { return word >> 32; }
inline uint64_t upperOf(uint64_t word) { return word >> 16 & 0xffff; }
inline uint64_t lowerOf(uint64_t word) { return word & 0xffff; }

// The next piece from the front, or from the back; -1 when there is none or the loop is another one by now.
inline int64_t takePiece(Slot& slot, uint64_t generation, bool isFront) {
  uint64_t word = slot.range.load(std::memory_order_acquire);
  while (true) {
    const uint64_t first = upperOf(word);
    const uint64_t end = lowerOf(word);
    if (generationOf(word) != generation || first >= end) return -1;
    const uint64_t rest = isFront ? pack(generation, first + 1, end) : pack(generation, first, end - 1);
    if (slot.range.compare_exchange_weak(word, rest, std::memory_order_acq_rel, std::memory_order_acquire))
      return static_cast<int64_t>(isFront ? first : end - 1);
  }
}

// Place 0 is the caller's; -1 where the loop has threads enough, or is over.
inline int takePlace(Slot& slot, uint64_t generation) {
  uint64_t word = slot.seats.load(std::memory_order_relaxed);
  while (true) {
    const uint64_t all = upperOf(word);
    const uint64_t taken = lowerOf(word);
    if (generationOf(word) != generation || taken >= all) return -1;
    if (slot.seats.compare_exchange_weak(word, pack(generation, all, taken + 1), std::memory_order_relaxed))
      return static_cast<int>(taken);
  }
}

inline void compute(Call& call, int64_t piece, int place) noexcept {
  if (call.hasFailed.load(std::memory_order_relaxed)) return;
  const int64_t each = call.count / call.pieces;
  const int64_t longer = call.count % call.pieces;
  const int64_t begin = piece * each + std::min(piece, longer);
  try {
    call.body(call.argument, begin, begin + each + (piece < longer ? 1 : 0), place);
  } catch (...) {
    if (!call.hasFailed.exchange(true)) call.error = std::current_exception();
  }
}

}  // namespace tenon::platform
