// oneDNN on the calling thread alone.
#pragma once

#include "core/platform/forks.h"

namespace tenon::backends::cpu {

// While it lives, what oneDNN describes, makes and runs on this thread uses no other: its OpenMP is told that there is
// one thread, and is never entered then. Threads are the pool's business (core/platform/pool.h). What the calling
// thread had set comes back.
class OneThread {
 public:
  OneThread() noexcept;
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// What asks oneDNN for descriptions and primitives, which it keeps in a cache of the process: a child that wants one
// which another thread of its parent was making would wait for ever. Before any lock that is wanted within such scopes.
struct DnnlScope {
  platform::WithoutFork noFork;
  OneThread alone;
};

}  // namespace tenon::backends::cpu
