// Sleeping on a word of memory until another thread changes it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::platform {

// Sleeps while the word holds `seen`; may return without a reason, so callers look again.
void sleepOn(std::atomic<uint32_t>& word, uint32_t seen) noexcept;

// Wakes at most `count` of the threads that sleep on the word.
void wake(std::atomic<uint32_t>& word, int count) noexcept;

// Tells the processor that this thread waits in a loop.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace tenon::platform
