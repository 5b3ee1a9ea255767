// oneDNN on the calling thread alone.
#pragma once

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

}  // namespace tenon::backends::cpu
