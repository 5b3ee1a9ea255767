// Libraries of hundreds of megabytes write tens of megabytes of variables while they are opened, a page at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tenon::backends::cuda {

// While it lives, the variables without initial values of each library that the process opens, where they are many, are
// put on huge pages: a thread looks for them. The loader has mapped and announced a library before it runs its
// constructors, which write them.
class LargeVariables {
 public:
  LargeVariables();
  ~LargeVariables();
  LargeVariables(const LargeVariables&) = delete;
  LargeVariables& operator=(const LargeVariables&) = delete;

 private:
  void look();

  std::vector<uintptr_t> known_;  // where libraries lie that were looked at
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace tenon::backends::cuda
