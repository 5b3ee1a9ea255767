// SPDX-License-Identifier: Apache-2.0
// What the compiler calls around the making of a function's static object, in place of the C++ library's functions of
// the same names, for this library alone (they are hidden).
//
// A process may fork while another of its threads is making such an object. That thread is not in the child, so that
// with the C++ library's functions whoever wants the object there waits for ever. Here the child forgets what others
// were making, and makes it anew over what they had begun. (Itanium C++ ABI 3.3.3: the first byte of a guard says that
// the object is there.)
//
// Such an object is also noted for the end of the process, under a lock of the C library's that forks leave as it is:
// they wait for threads of this library that are there.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// More than threads times depth of what makes objects to make objects. Who finds no place waits for one.
constexpr size_t kPlaces = 1024;

struct Making {
  std::atomic<uint64_t*> guard{nullptr};
  pthread_t thread{};  // valid where there is a guard
};

constinit std::array<Making, kPlaces> places;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
pthread_mutex_t atExit = PTHREAD_MUTEX_INITIALIZER;

Making* placeOf(const uint64_t* guard) {
  const auto found = std::ranges::find_if(places, [&](const Making& place) { return place.guard.load() == guard; });
  return found == places.end() ? nullptr : &*found;
}

bool isMade(const uint64_t* guard) {
  return __atomic_load_n(reinterpret_cast<const uint8_t*>(guard), __ATOMIC_ACQUIRE) != 0;
}

void leave(uint64_t* guard, bool made) {
  pthread_mutex_lock(&lock);
  if (made) __atomic_store_n(reinterpret_cast<uint8_t*>(guard), 1, __ATOMIC_RELEASE);
  if (Making* const place = placeOf(guard)) place->guard = nullptr;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

// Another thread may have held the lock: there is none any more.
void forgetOthers() {
  lock = PTHREAD_MUTEX_INITIALIZER;
  changed = PTHREAD_COND_INITIALIZER;
  for (Making& place : places) {
    if (place.guard.load() != nullptr && pthread_equal(place.thread, pthread_self()) == 0) place.guard = nullptr;
  }
}

// Before the other handlers of the library, which may want such objects.
__attribute__((constructor(101))) void watchForks() {
  pthread_atfork([] { pthread_mutex_lock(&atExit); }, [] { pthread_mutex_unlock(&atExit); },
                 [] {
                   pthread_mutex_unlock(&atExit);
                   forgetOthers();
                 });
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"))) int __cxa_guard_acquire(uint64_t* guard) {
  if (isMade(guard)) return 0;
  pthread_mutex_lock(&lock);
  while (!isMade(guard)) {
    const Making* const maker = placeOf(guard);
    Making* const free = maker ? nullptr : placeOf(nullptr);
    if (free) {
      free->thread = pthread_self();
      free->guard = guard;
      pthread_mutex_unlock(&lock);
      return 1;
    }
    if (maker && pthread_equal(maker->thread, pthread_self()) != 0) {
      std::fputs("a static object is wanted while it is being made\n", stderr);
      std::abort();
    }
    pthread_cond_wait(&changed, &lock);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}

__attribute__((visibility("hidden"))) int __cxa_atexit(void (*destroy)(void*), void* object, void* library) noexcept {
  using Function = int (*)(void (*)(void*), void*, void*);
  static constinit std::atomic<Function> found{nullptr};
  Function next = found.load(std::memory_order_relaxed);
  if (next == nullptr) found = next = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "__cxa_atexit"));
  pthread_mutex_lock(&atExit);
  const int status = next(destroy, object, library);
  pthread_mutex_unlock(&atExit);
  return status;
}

__attribute__((visibility("hidden"))) void __cxa_guard_release(uint64_t* guard) { leave(guard, true); }

__attribute__((visibility("hidden"))) void __cxa_guard_abort(uint64_t* guard) { leave(guard, false); }

}  // extern "C"
