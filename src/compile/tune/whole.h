// A plan as a whole on the device, in which the kernels of some steps are exchanged: what a kernel takes among its
// neighbours, with their caches and their overlap, no measurement of it alone says.
#pragma once

#include <memory>
#include <span>

#include "core/log.h"
#include "plan/program.h"

namespace tenon::compile {

// Used by the building thread only. Errors of the device and of kernels are thrown as Error.
class Whole {
 public:
  // `plan` has one program and no tensors on the host of a device that is not one; `symbols` are the extents to run it
  // at. Its inputs are random data, integers 0 and 1.
  Whole(plan::Plan plan, const SymbolValues& symbols, Log& log);
  ~Whole();
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;

  // Makes a kernel ready for these steps, as what is offered in the place of those that stand there.
  void offer(std::span<const int32_t> steps, const plan::KernelRecord& record, std::span<const std::byte> nativeCode);
  // Seconds of one execution, medians of many that are queued, the two in turns; few where the offered one is behind.
  struct Race {
    double present = 0;
    double offered = 0;
  };
  Race race();
  // What was offered stands there from now on.
  void accept();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon::compile
