// Instances that start other kernels, as loops and conditionals do, and those whose work calls the host.
#pragma once

#include <cstddef>

namespace tenon::runtime {

// The other face of such an instance; asked for by dynamic_cast, after configure().
class Control {
 public:
  virtual ~Control() = default;
  // Whether values that the device computes decide what launch() runs.
  virtual bool isDecidedByDevice() const = 0;
  // Whether launch() has to wait for them even where its stream is being captured: no graph can hold it then.
  virtual bool waits() const = 0;
  // Whether something of what it starts calls the host.
  virtual bool callsHost() const = 0;
  // About how many kernels and copies a launch() puts on the stream; where it waits, in one iteration.
  virtual size_t launches() const = 0;
  // Throws, once, what an execution of captured work found wrong, which nobody could be told then.
  virtual void rethrow() const = 0;
};

// The other face of an instance whose launch() puts functions of the host on the stream, or may do so: what the device
// decides about cannot hold it.
class CallsHost {
 public:
  virtual ~CallsHost() = default;
};

}  // namespace tenon::runtime
