// Instances that start other kernels, as loops and conditionals do.
#pragma once

#include <cstddef>

namespace tenon::runtime {

// The other face of such an instance; asked for by dynamic_cast, after configure().
class Control {
 public:
  virtual ~Control() = default;
  // Whether launch() waits for the stream, because the device computes what is to be done next. Such work cannot be
  // recorded.
  virtual bool waits() const = 0;
  // About how many kernels and copies a launch() puts on the stream; where it waits, in one iteration.
  virtual size_t launches() const = 0;
};

}  // namespace tenon::runtime
