// Futexes of Linux, private to the process.
#include "core/platform/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace tenon::platform {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);

void sleepOn(std::atomic<uint32_t>& word, uint32_t seen) noexcept {
  const int before = errno;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  errno = before;
}

void wake(std::atomic<uint32_t>& word, int count) noexcept {
  const int before = errno;
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
  errno = before;
}

}  // namespace tenon::platform
