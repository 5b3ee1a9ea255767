// Whether short executions on a host are faster with one thread than with their share of the cores.
#pragma once

#include <array>
#include <cstdint>

namespace tenon::runtime {

// Where cores have no cache in common, what one core reads of what another one wrote takes so long that a small network
// is slower on two than on one; beside other programs a second core may be there or not. So executions try both, keep
// the faster, and try the other one again now and then. Results are the same to the bit: no kernel's depend on the
// number of threads. For the executions of one thread at a time.
class ThreadChoice {
 public:
  bool isAlone() const noexcept { return tries_ ? tryAlone_ : alone_; }  // the execution that begins now
  void note(int64_t nanoseconds) noexcept;                               // how long it took

 private:
  static constexpr int kEach = 4;         // executions of each kind in a trial, of which the first is left out
  static constexpr int64_t kFirst = 32;   // executions before the first trial: shapes may change sooner
  static constexpr int64_t kPause = 500;  // executions between two trials, at least
  static constexpr int64_t kMostPause = 8000;
  static constexpr int64_t kLong = 4'000'000;  // ns: executions of which a second thread is always worth it

  void decide() noexcept;

  bool alone_ = false;  // what was found
  bool tries_ = false, tryAlone_ = false;
  int at_ = 0;             // of a trial's executions of one kind
  int64_t left_ = kFirst;  // until the next trial
  int64_t pause_ = kPause;
  std::array<std::array<int64_t, kEach>, 2> times_{};  // with the share of the cores, with one thread
};

}  // namespace tenon::runtime
