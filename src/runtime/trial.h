// What devices and kernels let a build do while it measures a kernel, so that the kernel finds what it would find in a
// network. Optional capability interfaces, asked for by dynamic_cast.
#pragma once

#include <cstddef>

namespace tenon::runtime {

// Of a device on which a launch may be set up while the one in front of it runs. A kernel that is measured behind
// itself would gain from that what it does not gain behind most others. Thread-safe.
class LaunchOrder {
 public:
  virtual ~LaunchOrder() = default;
  // The next launch of this thread begins when all work in front of it on its stream has ended.
  virtual void launchNextInOrder() noexcept = 0;
};

// Of a kernel instance that reads a constant operand from a copy of its own, laid out as it wants. Asked after
// configure().
class LaidOutWeights {
 public:
  virtual ~LaidOutWeights() = default;
  virtual const void* laidOut() const = 0;  // on the device, as many bytes as the operand has; null where there is none
  virtual size_t laidOutInput() const = 0;  // the operand
  virtual void readLaidOut(void* copy) noexcept = 0;  // from there from now on
};

}  // namespace tenon::runtime
