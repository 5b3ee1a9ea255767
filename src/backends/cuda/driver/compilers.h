// Several copies of NVRTC in one process. It reads source under a lock of its own, an eighth of the time that a kernel
// takes, so that one copy keeps no more than eight threads busy.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

#include "backends/cuda/driver/libraries.h"

namespace tenon::backends::cuda {

// Thread-safe. A copy is made when all that are there have their users, and stays until the process ends; where none
// can be made, there are fewer. All are the same file, so that it does not matter which of them compiles.
class Compilers {
 private:
  struct Copy {
    Copy(const Nvrtc* from, bool mayBeTrusted) : functions(from), isTrusted(mayBeTrusted) {}
    const Nvrtc* functions;
    size_t users = 0;
    std::atomic<bool> isTrusted;  // it is the library itself, or has compiled something
  };

 public:
  Compilers(size_t most, size_t usersOfEach) : most_(most), usersOfEach_(usersOfEach) {}

  // One of them, for one compilation.
  class Lease {
   public:
    explicit Lease(Compilers& from) : from_(from), copy_(from.take()) {}
    ~Lease() { from_.giveBack(copy_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    const Nvrtc& operator*() const { return *copy_.functions; }
    // Whether a kernel that it refuses is one that the library itself would refuse, too: a copy may lack files beside
    // the library, and compiles nothing then.
    bool isTrusted() const { return copy_.isTrusted; }
    void trust() { copy_.isTrusted = true; }

   private:
    Compilers& from_;
    Copy& copy_;
  };

 private:
  Copy& take();
  void giveBack(Copy& copy);

  const size_t most_;
  const size_t usersOfEach_;
  std::mutex mutex_;
  std::deque<Copy> copies_;  // whose addresses stay
  size_t beingMade_ = 0;
  bool refused_ = false;
};

// Those of the process: as many as its processors need (TENON_CUDA_COMPILERS at most).
Compilers& compilers();

}  // namespace tenon::backends::cuda
