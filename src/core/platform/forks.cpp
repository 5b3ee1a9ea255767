// How forks wait: they announce themselves, whereupon no thread enters a scope anew, and sleep until all have left.
#include "core/platform/forks.h"

#include <pthread.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "core/platform/futex.h"

namespace tenon::platform {
namespace {

constinit std::atomic<uint32_t> inside{0};   // threads within scopes
constinit std::atomic<uint32_t> forking{0};  // threads that fork, or wait for it
constinit thread_local uint32_t depth = 0;

void leave() noexcept {
  inside.fetch_sub(1, std::memory_order_seq_cst);
  if (forking.load(std::memory_order_seq_cst) != 0) wake(inside, INT_MAX);
}

// A thread does not wait for itself: it may fork within a scope where a signal's handler does that.
void beforeFork() {
  forking.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t own = depth > 0 ? 1 : 0;
  for (uint32_t now = inside.load(std::memory_order_seq_cst); now > own; now = inside.load(std::memory_order_seq_cst))
    sleepOn(inside, now);
}

void afterForkInParent() {
  if (forking.fetch_sub(1, std::memory_order_seq_cst) == 1) wake(forking, INT_MAX);
}

void afterForkInChild() {
  inside = depth > 0 ? 1 : 0;
  forking = 0;
}

__attribute__((constructor)) void watchForks() { pthread_atfork(&beforeFork, &afterForkInParent, &afterForkInChild); }

}  // namespace

WithoutFork::WithoutFork() noexcept {
  if (depth++ > 0) return;
  while (true) {
    inside.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t forks = forking.load(std::memory_order_seq_cst);
    if (forks == 0) return;
    leave();
    depth = 0;  // a signal's handler that forks while this thread sleeps is not within the scope
    sleepOn(forking, forks);
    depth = 1;
  }
}

WithoutFork::~WithoutFork() {
  if (--depth == 0) leave();
}

}  // namespace tenon::platform
