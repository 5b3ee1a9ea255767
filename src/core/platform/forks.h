// Forks of the process, and what other threads hold at that moment.
//
// A child has the forking thread alone. What another thread had locked stays locked in it, and who waits there for what
// another thread was making waits for ever. Locks of our own that every part of a process shares can be looked after;
// those within a foreign library cannot: then the fork waits until nobody is inside.
#pragma once

namespace tenon::platform {

// While one lives, forks by other threads wait. No longer than a kernel takes to be made and its weights to be packed,
// and never around a wait for another thread: not for the interpreter's lock, and a mutex that is wanted within others'
// scopes is taken after this. A thread may have several.
class WithoutFork {
 public:
  WithoutFork() noexcept;
  ~WithoutFork();
  WithoutFork(const WithoutFork&) = delete;
  WithoutFork& operator=(const WithoutFork&) = delete;
};

}  // namespace tenon::platform
